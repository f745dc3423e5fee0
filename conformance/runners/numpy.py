"""numpy, which the text of ONNX cites. Where Python's rule for slices differs, the case says so."""

import numpy

from formats import build

from . import NotOffered
from .onnx_models import answer, feeds

DIALECT = "numpy"


def version():
    return numpy.__version__


def run(case):
    model = build(case)
    if model.dialect != "onnx":
        raise NotOffered("operations of OpenVINO")
    if model.layers[0].kind != "Slice":
        raise NotOffered("operators other than Slice")
    return answer(select(case, feeds(model)["data"]))


def select(case, data):
    lists = [case[name] for name in ("start", "stop")]
    lists.append(case.get("step", [1] * len(lists[0])))
    axes = case.get("axes", range(len(lists[0])))
    index = [slice(None)] * data.ndim
    for axis, *numbers in zip(axes, *lists, strict=True):
        index[axis] = slice(*numbers)
    return data[tuple(index)]

