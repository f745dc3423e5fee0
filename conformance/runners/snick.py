"""snick as a program: `run.py --snick PATH`, or the environment variable `SNICK`, or `snick` on the path."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import numpy

from formats import build, onnx_bytes, openvino_texts

from .onnx_models import answer, feeds, split_dims

PACKAGES = ["numpy"]
PROGRAM = os.environ.get("SNICK", "snick")


def call(*arguments):
    """What the program prints. A signal is a crash of the engine, and everything else that fails is a refusal."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode < 0 or done.returncode == 101:
        os.abort()
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or done.stdout.strip())
    return done.stdout


def version():
    return call("--version").split(maxsplit=1)[1].strip()


def write(model, folder):
    """Writes the model file into a folder."""
    if model.dialect == "onnx":
        path = Path(folder, "case.onnx")
        path.write_bytes(onnx_bytes(model))
        return path
    path = Path(folder, "case.xml")
    xml, weights = openvino_texts(model)
    path.write_text(xml)
    path.with_suffix(".bin").write_bytes(weights)
    return path


def infer(case):
    with tempfile.TemporaryDirectory() as folder:
        output = json.loads(call("infer", write(build(case), folder), "--format", "json"))["outputs"][0]
    has_symbols = "at" in case["expect"]
    shape = output.get("symbolic", output["shape"]) if has_symbols else output["shape"]
    if not shape.startswith("["):
        return None
    return [dimension(dim) for dim in split_dims(shape[1:-1])]


def dimension(text):
    # A division of integers rounds down.
    return int(text) if text.isdecimal() else text.replace("/", "//")


def run(case):
    model = build(case)
    with tempfile.TemporaryDirectory() as folder:
        path = write(model, folder)
        arguments = []
        for name, array in feeds(model).items():
            numpy.save(Path(folder, f"{name}.npy"), array)
            arguments += ["--input", f"{name}={Path(folder, name)}.npy"]
        call("run", path, *arguments, "-o", Path(folder, "output.npy"), "--quiet")
        return answer(numpy.load(Path(folder, "output.npy")))
