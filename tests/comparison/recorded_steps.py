#!/usr/bin/env python3
"""Compares models that snick converted, run by another runtime, with recorded outputs, step by step if they have state.

    python recorded_steps.py --with onnx|stablehlo path/to/snick FOLDER [GLOB...]

FOLDER contains `models/NAME/model.xml`, and in `io/` a `NAME.npz` with arrays and a `NAME.json` that maps arrays to
inputs and outputs (`key`, `name`, `tensor_names`) and states the number of `steps`; arrays of step k > 0 have the
prefix `s{k}_`. Models are converted with `--stateless`. Initial states come from the notes of the conversion, and
the outputs of one step are inputs of the next. StableHLO is converted again for the shapes of each step. ONNX needs
onnxruntime, StableHLO jax and jaxlib; both need numpy. snick needs none of them. Exits 1 if the outputs of a
converted model differ or are missing.
"""

import argparse
import fnmatch
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

TOLERANCE = 1e-3
NUMPY = {"f32": np.float32, "f16": np.float16, "f64": np.float64, "i64": np.int64, "i32": np.int32, "u8": np.uint8}
NUMPY |= {"boolean": np.bool_, "i8": np.int8}
STATE = re.compile(r"note: (.*): input (.*), output (.*?)(?:; first (\S+?)\[(.*?)\](?: of (\S+))?)?$")


class Refused(Exception):
    """snick's message for a model that it cannot convert."""


class Snick:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def convert(self, model, ending, *options):
        """The file, and the states: variable, input, output, element type, dims, first element."""
        out = self.folder / f"model.{ending}"
        out.unlink(missing_ok=True)
        call = [self.program, "convert", model, "-o", out, "--stateless", *options]
        done = subprocess.run([str(part) for part in call], capture_output=True, text=True)
        if done.returncode or not out.exists():
            said = [line for line in done.stderr.splitlines() if line and not line.startswith("note:")]
            raise Refused(re.sub(r"^.*?layer ", "layer ", said[0] if said else f"exit code {done.returncode}"))
        matches = (STATE.match(line) for line in done.stderr.splitlines())
        return out, [match.groups() for match in matches if match]

    def signature(self, model):
        done = subprocess.run([self.program, "infer", str(model), "--format", "json"], capture_output=True, text=True)
        known = json.loads(done.stdout)
        return known["inputs"], known["outputs"]


class Onnx:
    def __init__(self, snick, model):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        path, self.states = snick.convert(model, "onnx")
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.inputs = [value.name for value in self.session.get_inputs()]
        self.outputs = [value.name for value in self.session.get_outputs()]

    def run(self, feed):
        return dict(zip(self.outputs, self.session.run(None, feed)))


class StableHlo:
    def __init__(self, snick, model):
        self.snick, self.model = snick, model
        plain, self.states = snick.convert(model, "xml")
        inputs, outputs = snick.signature(plain)
        self.inputs, self.outputs = [value["name"] for value in inputs], [value["name"] for value in outputs]

    def run(self, feed):
        import jax
        import jax.extend
        from jax._src.interpreters import mlir
        from jax._src.lib import xla_client
        from jax._src.lib.mlir import ir

        jax.config.update("jax_enable_x64", True)
        backend = jax.extend.backend.get_backend("cpu")
        devices = xla_client.DeviceList(tuple(backend.local_devices()[:1]))
        shapes = ",".join(f"{name}{json.dumps(list(feed[name].shape))}" for name in self.inputs).replace(" ", "")
        # The model file without states keeps the order of inputs.
        plain, _ = self.snick.convert(self.model, "xml")
        path, _ = self.snick.convert(plain, "mlir", *(["--shape", shapes] if shapes else []))
        with mlir.make_ir_context() as context, ir.Location.unknown(context):
            program = backend.compile_and_load(ir.Module.parse(path.read_text()), devices, xla_client.CompileOptions())
        arguments = [jax.device_put(feed[name]) for name in self.inputs]
        results = program.execute_sharded(arguments).disassemble_into_single_device_arrays()
        return dict(zip(self.outputs, (np.asarray(result[0]) for result in results)))


def differs(want, got):
    """Why values differ, if they do, and the error relative to the largest number."""
    if want.shape != got.shape:
        return f"{got.shape}, not {want.shape}", 0.0
    if want.dtype.kind != "f":
        return (None if np.array_equal(want, got) else f"{(want != got).sum()} of {want.size} elements"), 0.0
    want, got = want.astype(np.float64), got.astype(np.float64)
    finite = np.isfinite(want)
    if not np.array_equal(np.isnan(want), np.isnan(got)):
        return "other places without a number", 0.0
    error = np.abs(want[finite] - got[finite]).max(initial=0) / max(np.abs(want[finite]).max(initial=0), 1e-9)
    return (None if error <= TOLERANCE else f"by {error:.2g} of the greatest"), error


def first_states(states, feed):
    batch = next((value.shape[0] for value in feed.values() if value.ndim), 1)
    for _, name, _, element, dims, value in states:
        sizes = [int(dim) if dim.isdigit() else batch for dim in dims.split(",")] if dims else []
        yield name, np.full(sizes, float(value or 0), NUMPY[element])


def compared(runtime, io, arrays):
    """Why a model differs, if it does, and the largest error."""
    state, greatest = {}, 0.0
    for step in range(io.get("steps", 1)):
        prefix = f"s{step}_" if step else ""
        feed = {}
        for value in io["inputs"]:
            names = [name for name in [*value["tensor_names"], value["name"]] if name in runtime.inputs]
            key = prefix + value["key"] if prefix + value["key"] in arrays else value["key"]
            if names:
                feed[names[0]] = arrays[key]
        state = state or dict(first_states(runtime.states, feed))
        results = runtime.run(feed | state)
        state = {name: results[output] for _, name, output, *_ in runtime.states}
        for value in io["outputs"]:
            if prefix + value["key"] not in arrays:
                continue
            names = [name for name in [*value["tensor_names"], value["name"]] if name in results]
            why, error = differs(arrays[prefix + value["key"]], results[names[0]]) if names else ("is missing", 0.0)
            greatest = max(greatest, error)
            if why:
                return f"step {step}, {value['name']}: {why}", greatest
    return None, greatest


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--with", dest="kind", choices=["onnx", "stablehlo"], required=True)
    parser.add_argument("snick")
    parser.add_argument("folder", type=Path)
    parser.add_argument("globs", nargs="*", default=["*"])
    given = parser.parse_args()
    runtime = {"onnx": Onnx, "stablehlo": StableHlo}[given.kind]
    counts = Counter()
    with tempfile.TemporaryDirectory() as folder:
        snick = Snick(given.snick, Path(folder))
        for path in sorted((given.folder / "models").glob("*/model.xml")):
            name = path.parent.name
            recorded = given.folder / "io" / f"{name}.npz"
            if not recorded.exists() or not any(fnmatch.fnmatch(name, glob) for glob in given.globs):
                continue
            io = json.loads(recorded.with_suffix(".json").read_text())
            try:
                why, error = compared(runtime(snick, path), io, dict(np.load(recorded)))
                word = "differs" if why else "equal"
                why = why or f"{error:.1e}"
            except Refused as refused:
                word, why = "refused", str(refused)
            except Exception as failed:  # Any error of the runtime.
                word, why = "fails", str(failed).split("\n")[0][:300]
            counts[word] += 1
            print(f"{word}: {name}: {why}", flush=True)
    print(", ".join(f"{count} {word}" for word, count in sorted(counts.items())))
    sys.exit(1 if counts["differs"] or counts["fails"] else 0)


main()
