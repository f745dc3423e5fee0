"""MNN: its converter of ONNX files, and its runtime for modules on the CPU."""

import tempfile
from pathlib import Path

# `MNN.tools` starts pip when it is imported; the converter itself is here.
import _tools
import MNN
import MNN.expr
import MNN.nn
import numpy

from . import NotOffered
from .onnx_models import answer, feeds, onnx_model

PACKAGES = ["MNN"]


def version():
    return MNN.version()


def run(case):
    model, file = onnx_model(case)
    with tempfile.TemporaryDirectory() as folder:
        source, path = Path(folder, "case.onnx"), Path(folder, "case.mnn")
        source.write_bytes(file)
        arguments = ["--framework", "ONNX", "--modelFile", source, "--MNNModel", path, "--bizCode", "case"]
        if not _tools.mnnconvert(["mnnconvert", *map(str, arguments)]):
            raise RuntimeError("the converter fails")
        arrays = feeds(model)
        network = MNN.nn.load_module_from_file(str(path), list(arrays), list(model.outputs))
    outputs = network.forward([variable(array) for array in arrays.values()])
    if not outputs:
        raise RuntimeError("the run fails")
    dims = list(outputs[0].shape)
    if 0 in dims:
        # An output without elements cannot be read.
        return [dims, []]
    return answer(MNN.expr.convert(outputs[0], MNN.expr.NCHW).read())


def variable(array):
    """An input; MNN has no 64-bit integers."""
    is_index = array.dtype != numpy.float32
    if is_index and (array.astype("int32") != array).any():
        raise NotOffered("64-bit indices")
    dtype = MNN.expr.int if is_index else MNN.expr.float
    return MNN.expr.const(array.flatten().tolist(), list(array.shape), MNN.expr.NCHW, dtype)
