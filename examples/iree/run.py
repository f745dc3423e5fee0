#!/usr/bin/env python3
"""Compiles linalg that snick wrote with IREE and runs it on the CPU.

    snick convert model.xml -o model.mlir --to linalg
    python run.py model.mlir image.npy
    python run.py folder/ image.npy             (a folder written with -o folder/ --to linalg)

The arrays are the inputs in the order of the model, of any size that the model allows: a module is compiled once for all
sizes. Needs iree-base-compiler, iree-base-runtime and numpy. Tested with IREE 3.13.
"""
import json
import pathlib
import sys

import iree.compiler
import iree.runtime
import numpy as np

TYPES = {"boolean": "?", "bf16": "i2"}


def signless(array):
    """IREE takes unsigned arrays as signed ones, because MLIR's integers have no sign, and f64 as f32 by default."""
    if array.dtype == np.float64:
        return array.astype(np.float32)
    return array.view(f"i{array.dtype.itemsize}") if array.dtype.kind == "u" else array


path, inputs = pathlib.Path(sys.argv[1]), [signless(np.load(name)) for name in sys.argv[2:]]
if path.is_dir():  # Weights are arguments after the inputs.
    for weight in json.loads((path / "manifest.json").read_text())["arguments"][len(inputs):]:
        kind = weight["element_type"]
        kind = TYPES.get(kind) or f"{kind[0]}{int(kind[1:]) // 8}".replace("u", "i")
        raw = np.memmap(path / weight["file"], np.uint8, "r", weight["offset"], (weight["bytes"],))
        inputs.append(raw.view(kind).reshape(weight["dims"]))
    path = path / "model.mlir"
flags = ["--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu"]
flags += ["--iree-llvmcpu-target-cpu=host"]
program = iree.compiler.compile_file(str(path), extra_args=flags)
module = iree.runtime.load_vm_flatbuffer(program, driver="local-task")
results = module.main(*inputs)
for result in results if isinstance(results, (list, tuple)) else [results]:
    print(np.asarray(result))
