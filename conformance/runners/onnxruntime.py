"""ONNX Runtime on the CPU, with its default optimisations."""

import onnxruntime

from .onnx_models import answer, feeds, onnx_model

PACKAGES = ["onnxruntime"]


def version():
    return onnxruntime.__version__


def run(case):
    model, file = onnx_model(case)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    return answer(session.run(None, feeds(model))[0])
