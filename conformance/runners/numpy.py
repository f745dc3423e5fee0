"""numpy, which the text of ONNX cites. Where Python's rule for slices differs, the case says so."""

import numpy

from formats import build

from . import NotOffered
from .onnx_models import answer, feeds

PACKAGES = ["numpy"]
DIALECT = "numpy"


def version():
    return numpy.__version__


def run(case):
    model = build(case)
    if model.dialect != "onnx" or [layer.kind for layer in model.layers] != ["Slice"]:
        raise NotOffered("models other than one Slice of ONNX")
    data = feeds(model)["data"]
    return answer(data[index_of(case, data.ndim)])


def index_of(case, rank):
    """The index of a Slice, as in `data[index]`."""
    lists = [case[name] for name in ("start", "stop")]
    lists.append(case.get("step", [1] * len(lists[0])))
    axes = case.get("axes", range(len(lists[0])))
    index = [slice(None)] * rank
    for axis, *numbers in zip(axes, *lists, strict=True):
        index[axis] = slice(*numbers)
    return tuple(index)
