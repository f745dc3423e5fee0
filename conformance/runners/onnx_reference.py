"""The reference evaluator of the package `onnx`."""

import onnx
from onnx.reference import ReferenceEvaluator

from .onnx_models import answer, feeds, onnx_model

PACKAGES = ["onnx"]


def version():
    return onnx.__version__


def run(case):
    model, file = onnx_model(case)
    return answer(ReferenceEvaluator(onnx.load_from_string(file)).run(None, feeds(model))[0])
