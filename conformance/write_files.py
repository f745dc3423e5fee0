#!/usr/bin/env python3
"""Writes the model files of the cases into a folder: `ID.onnx` and `ID.mlir`, or `ID.xml` and `ID.bin`."""

import argparse
from pathlib import Path

from formats import build, mlir_text, onnx_bytes, openvino_texts
from run import cases


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cases", default="", metavar="TEXT", help="only cases whose id or file contains this")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for case in cases(options.cases):
        path, model = options.folder / case["id"], build(case)
        if model.dialect == "onnx":
            path.with_name(f"{case['id']}.onnx").write_bytes(onnx_bytes(model))
            path.with_name(f"{case['id']}.mlir").write_text(mlir_text(model))
        else:
            text, weights = openvino_texts(model)
            path.with_name(f"{case['id']}.xml").write_text(text)
            path.with_name(f"{case['id']}.bin").write_bytes(weights)
        count += 1
    print(f"{count} models in {options.folder}")


if __name__ == "__main__":
    main()
