"""`onnxruntime.tools.symbolic_shape_infer`."""

import onnx
import onnxruntime
from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

from .onnx_models import declared_dims, onnx_model, without_declared_shape

PACKAGES = ["onnx", "onnxruntime", "sympy"]


def version():
    return onnxruntime.__version__


def infer(case):
    _, file = onnx_model(case)
    model = without_declared_shape(onnx.load_from_string(file))
    model = SymbolicShapeInference.infer_shapes(model, auto_merge=False, guess_output_rank=False)
    return declared_dims(model.graph.output[0])
