"""XLA, through JAX's arrays: they follow the rule of Python and numpy for slices, and infer sizes as formulas."""

import jax
import numpy
from jax import export

from . import NotOffered
from .numpy import index_of
from .onnx_models import answer, feeds, onnx_model

PACKAGES = ["jax"]
DIALECT = "numpy"
# JAX demands that a dimension variable is at least 1.
LEAST = 1


def version():
    return jax.__version__


def sliced(case):
    """A function from the data to the slice."""
    if not case["op"].startswith("onnx.Slice"):
        raise NotOffered("other operators")
    if case.get("at_run_time") or not all(isinstance(bound, int) for bound in case["start"] + case["stop"]):
        raise NotOffered("bounds that are no constants")
    return jax.jit(lambda data: data[index_of(case, data.ndim)])


def infer(case):
    function = sliced(case)
    if "?" in case["shape"]:
        raise NotOffered("sizes without a name")
    shape = export.symbolic_shape(",".join(str(size) for size in case["shape"]))
    found = jax.eval_shape(function, jax.ShapeDtypeStruct(shape, numpy.float32))
    return [int(dim) if isinstance(dim, int) else str(dim) for dim in found.shape]


def run(case):
    function = sliced(case)
    model, _ = onnx_model(case)
    return answer(function(feeds(model)["data"]))
