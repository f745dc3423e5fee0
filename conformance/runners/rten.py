"""RTen, through the small program in `rten/`, which cargo builds at the first start."""

import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

import numpy

from . import NotOffered
from .onnx_models import feeds, onnx_model

PACKAGES = ["numpy"]
MANIFEST = Path(__file__).parent / "rten" / "Cargo.toml"


def version():
    return re.search(r'^rten = "=(.*)"$', MANIFEST.read_text(), re.MULTILINE)[1]


def built():
    """The path of the program."""
    command = ["cargo", "build", "--release", "--locked", "--manifest-path", MANIFEST, "--message-format", "json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    messages = map(json.loads, done.stdout.splitlines())
    return next(message["executable"] for message in messages if message.get("executable"))


PROGRAM = built()


def call(command, file, text=""):
    """The program's answer. A panic or a signal is a crash, and everything else that fails is a refusal."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "case.onnx")
        path.write_bytes(file)
        done = subprocess.run([PROGRAM, command, path], input=text, capture_output=True, text=True)
    if done.returncode < 0 or done.returncode == 101:
        os.abort()
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout)


def infer(case):
    _, file = onnx_model(case, declares_rank=False)
    dims = call("infer", file)
    return None if dims is None else [dimension(dim) for dim in dims]


def dimension(text):
    if text.isdecimal():
        return int(text)
    # A division of integers rounds down. RTen writes `a / (b / c)` without the parentheses.
    return "?" if text.count("/") > 1 else text.replace("/", "//")


def run(case):
    model, file = onnx_model(case)
    dims, elements = call("run", file, "".join(line(*feed) for feed in feeds(model).items()))
    return [dims, [int(value) for value in elements]]


def line(name, array):
    """An input of a run; integers have 32 bits in RTen."""
    is_index = array.dtype != numpy.float32
    if is_index and (array.astype("int32") != array).any():
        raise NotOffered("64-bit indices given at run time")
    lists = [",".join(map(str, values)) for values in (array.shape, array.flatten().tolist())]
    return " ".join([name, "i32" if is_index else "f32", *lists]) + "\n"
