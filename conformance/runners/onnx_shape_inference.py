"""`onnx.shape_inference`, with propagation of data."""

import onnx

from .onnx_models import declared_dims, onnx_model, without_declared_shape

PACKAGES = ["onnx"]


def version():
    return onnx.__version__


def infer(case):
    _, file = onnx_model(case)
    model = without_declared_shape(onnx.load_from_string(file))
    model = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    return declared_dims(model.graph.output[0])
