#!/usr/bin/env python3
"""Runs the models written by `cargo run -p snick-example-custom-op --example write_models -- FOLDER` in OpenVINO and ONNX
Runtime and compares the values with snick's: `check_runtimes.py FOLDER`. Needs openvino, onnx, onnxruntime and numpy."""

import json
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
import openvino


onnxruntime.set_default_logger_severity(3)  # errors only


def run_openvino(path, x):
    model = openvino.Core().read_model(path)
    return openvino.compile_model(model, "CPU")([x])[0]


def run_onnx(path, x):
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: x})[0]


def main():
    folder = pathlib.Path(sys.argv[1])
    failures = 0
    for values in sorted(folder.glob("*.json")):
        given = json.loads(values.read_text())
        x, expected = (np.array(given[name], dtype=np.float32) for name in ("x", "y"))
        for extension, run in ((".xml", run_openvino), (".onnx", run_onnx)):
            path = values.with_suffix(extension)
            y = run(str(path), x)
            equal = y.shape == expected.shape and np.array_equal(y, expected)
            print(f"{path.name}: {'equal' if equal else f'snick gives {expected}, the runtime {y}'}")
            failures += not equal
    if failures or not list(folder.glob("*.json")):
        sys.exit(f"{failures} models differ in {folder}, or there are none")


if __name__ == "__main__":
    main()
