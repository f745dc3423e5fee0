"""onnxsim: what it folds a model to whose inputs are constants."""

import onnx
import onnxsim
from onnx import numpy_helper

from formats import build, onnx_bytes

from . import NotOffered
from .onnx_models import answer

PACKAGES = ["onnx", "onnxsim"]


def version():
    return onnxsim.__version__.lstrip("v")


def run(case):
    model = build(case)
    if model.dialect != "onnx":
        raise NotOffered("operations of OpenVINO")
    if "sizes" in case:
        raise NotOffered("values and sizes known only at run time")
    model.inputs = {}
    model.constants |= model.feeds
    simple, _ = onnxsim.simplify(onnx.load_from_string(onnx_bytes(model)))
    found = folded(simple.graph, simple.graph.output[0].name)
    if found is None:
        raise NotOffered("it is not folded")
    return answer(found)


def folded(graph, name):
    """The constant value of an output, if it has one."""
    for tensor in graph.initializer:
        if tensor.name == name:
            return numpy_helper.to_array(tensor)
    for node in graph.node:
        if name in node.output:
            if node.op_type == "Constant":
                return numpy_helper.to_array(node.attribute[0].t)
            if node.op_type == "Identity":
                return folded(graph, node.input[0])
    return None
