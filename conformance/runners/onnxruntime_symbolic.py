"""`onnxruntime.tools.symbolic_shape_infer`."""

import os
import tempfile

import onnx
import onnxruntime
from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

from .onnx_models import declared_dims, onnx_model, without_declared_shape

PACKAGES = ["onnx", "onnxruntime", "sympy"]
# When it cannot infer everything, it writes the model into the current folder.
os.chdir(tempfile.gettempdir())


def version():
    return onnxruntime.__version__


def infer(case):
    _, file = onnx_model(case)
    model = without_declared_shape(onnx.load_from_string(file))
    model = SymbolicShapeInference.infer_shapes(model, auto_merge=False, guess_output_rank=False)
    return declared_dims(model.graph.output[0])
