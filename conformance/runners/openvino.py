"""OpenVINO on the CPU: its own IR, and ONNX files through its front end."""

import tempfile
from pathlib import Path

import numpy
import openvino

from formats import build, openvino_texts

from . import NotOffered
from .onnx_models import answer, feeds, onnx_model

PACKAGES = ["openvino"]
CORE = openvino.Core()


def version():
    return openvino.__version__.split("-")[0]


def read(case):
    model = build(case)
    if model.dialect == "onnx":
        model, file = onnx_model(case)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "case.onnx")
            path.write_bytes(file)
            return model, CORE.read_model(path)
    sizes = [size for _, shape in model.inputs.values() for size in shape]
    if any(isinstance(size, str) and size.isidentifier() for size in sizes):
        raise NotOffered("names of sizes")
    xml, weights = openvino_texts(model)
    tensors = [openvino.Tensor(numpy.frombuffer(weights, numpy.uint8))] if weights else []
    return model, CORE.read_model(xml.encode(), *tensors)


def infer(case):
    _, network = read(case)
    shape = network.output(0).partial_shape
    return [dimension(dim) for dim in shape] if shape.rank.is_static else None


def dimension(dim):
    if dim.is_static:
        return dim.get_length()
    least, most = dim.min_length, dim.max_length
    return "?" if (least, most) == (0, -1) else f"{least}..{'' if most == -1 else most}"


def run(case):
    model, network = read(case)
    compiled = CORE.compile_model(network, "CPU", {"INFERENCE_NUM_THREADS": 1})
    return answer(compiled(list(feeds_in_order(model, network)))[0])


def feeds_in_order(model, network):
    arrays = feeds(model)
    return [arrays[port.node.friendly_name] for port in network.inputs]
