#!/usr/bin/env python3
"""Compiles and runs snick's StableHLO with XLA and compares it with `snick run`.

    python stablehlo_run.py path/to/snick MODEL...

Needs jax, jaxlib and numpy; snick itself needs none of them. Each model is converted for the sizes of random inputs
(dynamic sizes are 2, or the smallest allowed), compiled for the CPU by jaxlib's XLA, and run; the outputs are compared
with those of `snick run` for the same inputs. `--inputs FILE.npz` takes inputs from a file. Models that snick cannot
convert are counted by reason. Exits 1 if a converted model differs or fails.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import jax
import jax.extend
import ml_dtypes
import numpy as np
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jax._src.lib.mlir import ir

jax.config.update("jax_enable_x64", True)
BACKEND = jax.extend.backend.get_backend("cpu")
DEVICES = xla_client.DeviceList(tuple(BACKEND.local_devices()[:1]))
NAMES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "boolean": np.bool_}
NAMES |= {f"{kind}{bits}": np.dtype(f"{word}{bits}") for kind, word in [("i", "int"), ("u", "uint")] for bits in (8, 16, 32, 64)}
TOLERANCE = {"f16": 4e-3, "bf16": 2e-2}


def least(dim):
    """The size for a dim `?`, `2..4`, `..7` or `3`."""
    low, dots, high = dim.replace("?", "..").partition("..")
    if not dots:
        return int(low)
    size = max(int(low or 0), 2)
    return min(size, int(high)) if high else size


def drawn(value, rng):
    text = value["shape"][1:-1]
    dims = [least(dim) for dim in text.split(",")] if text else []
    kind = NAMES[value["element_type"]]
    if value["element_type"] in TOLERANCE or np.issubdtype(kind, np.floating):
        return rng.standard_normal(dims).astype(kind)
    return rng.integers(0, 2, dims).astype(kind)


def by_xla(text, inputs):
    with mlir.make_ir_context() as context, ir.Location.unknown(context):
        program = BACKEND.compile_and_load(ir.Module.parse(text), DEVICES, xla_client.CompileOptions())
    outputs = program.execute_sharded([jax.device_put(x) for x in inputs]).disassemble_into_single_device_arrays()
    return [np.asarray(x[0]) for x in outputs]


def as_stored(array):
    """Converts to snick's file representation: bf16 as bits."""
    return array.view(np.uint16) if array.dtype == ml_dtypes.bfloat16 else array


def differs(want, got, kind):
    if want.shape != got.shape:
        return f"{got.shape}, not {want.shape}"
    if kind not in TOLERANCE and not np.issubdtype(want.dtype, np.floating):
        return None if np.array_equal(want, got) else f"{(want != got).sum()} of {want.size} elements"
    want = want.view(ml_dtypes.bfloat16) if kind == "bf16" else want
    want, got = want.astype(np.float64), got.astype(np.float64)
    finite = np.isfinite(want)
    if not np.array_equal(np.where(finite, 0, want), np.where(np.isfinite(got), 0, got), equal_nan=True):
        return "other infinities, or none"
    error = np.abs(np.where(finite, want - np.where(finite, got, 0), 0)).max(initial=0)
    error /= max(np.abs(want[finite]).max(initial=0), 1e-9)
    return None if error < TOLERANCE.get(kind, 1e-3) else f"by {error:.2g} of the largest"


def compared(snick, model, given, folder):
    """The outcome for a model: a word and the reason."""

    def called(*arguments):
        return subprocess.run([snick, *map(str, arguments)], capture_output=True, text=True)

    known = json.loads(called("infer", model, "--format", "json").stdout)
    rng = np.random.default_rng(1)
    try:
        inputs = [given[i["name"]] if i["name"] in given else drawn(i, rng) for i in known["inputs"]]
    except (KeyError, ValueError) as error:
        return "skipped", f"inputs like {error}"
    shapes = ",".join(f"{i['name']}{json.dumps(list(x.shape))}" for i, x in zip(known["inputs"], inputs))
    shapes = ["--shape", shapes.replace(" ", "")] if inputs else []
    module = folder / "model.mlir"
    module.unlink(missing_ok=True)
    done = called("convert", model, "-o", module, *shapes)
    if not module.exists():
        return "refused", re.sub(r"^.*\): ", "", done.stderr.strip().split("\n")[-1])
    np.savez(folder / "in.npz", **{i["name"]: as_stored(x) for i, x in zip(known["inputs"], inputs)})
    done = called("run", model, *(["--inputs", folder / "in.npz"] if inputs else []), "-o", folder / "out.npz")
    if done.returncode:
        return "skipped", done.stderr.strip()
    try:
        outputs = by_xla(module.read_text(), inputs)
    except Exception as error:  # Any error of XLA.
        return "fails", str(error).split("\n")[0]
    want = np.load(folder / "out.npz")
    for value, got in zip(known["outputs"], outputs):
        difference = differs(want[value["name"]], got, value["element_type"])
        if difference:
            return "differs", f"{value['name']}: {difference}"
    return "equal", ""


def main():
    arguments = sys.argv[1:]
    given = {}
    if "--inputs" in arguments:
        at = arguments.index("--inputs")
        given = dict(np.load(arguments[at + 1]))
        del arguments[at : at + 2]
    snick, *models = arguments
    counts, reasons = Counter(), Counter()
    with tempfile.TemporaryDirectory() as folder:
        for model in models:
            word, why = compared(snick, model, given, Path(folder))
            counts[word] += 1
            if word == "refused":
                reasons[why] += 1
            elif why:
                print(f"{word}: {model}: {why}")
    print(", ".join(f"{count} {word}" for word, count in sorted(counts.items())))
    for why, count in reasons.most_common():
        print(f"  {count} {why}")
    sys.exit(1 if counts["differs"] or counts["fails"] else 0)


main()
