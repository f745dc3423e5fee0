"""tract, which reads ONNX files and infers sizes as formulas."""

import re
import tempfile
from importlib.metadata import version as package_version
from pathlib import Path

import tract

from . import NotOffered
from .onnx_models import answer, feeds, onnx_model, split_dims

PACKAGES = ["numpy", "tract"]


def version():
    return package_version("tract")


def load(case):
    model, file = onnx_model(case)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "case.onnx")
        path.write_bytes(file)
        return model, tract.onnx().load(path)


def infer(case):
    _, graph = load(case)
    graph.analyse()
    # As in `2,N+-2,f32`; the element type comes last.
    dims = split_dims(str(graph.output_fact(0)))[:-1]
    return None if ".." in dims else [dimension(dim) for dim in dims]


def dimension(text):
    if text.isdecimal():
        return int(text)
    # A factor applies to the whole quotient after it, and a division of integers rounds down.
    grouped = re.sub(r"(-?\d+)\*((?:\([^()]*\)|\w+)/\d+)", r"\1*(\2)", text)
    return grouped.replace("/", "//")


def run(case):
    model, graph = load(case)
    if "?" in str(model.inputs):
        raise NotOffered("sizes without a name")
    runnable = graph.into_model().into_runnable()
    return answer(runnable.run(list(feeds(model).values()))[0].to_numpy())
