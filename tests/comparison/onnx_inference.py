#!/usr/bin/env python3
"""Shape inference on ONNX models: snick, onnx.shape_inference and ONNX Runtime's symbolic_shape_infer.

    python onnx_inference.py path/to/snick MODEL.onnx...

Needs onnx, onnxruntime, sympy and numpy; snick itself needs none of them. Produces the tables of
docs/src/comparison.md, from the models of ONNX's own tests (`onnx.backend.test`) and of packages.

Each dim of each value is known as a number, known as an expression over input sizes, or unknown. Omits values of
subgraphs, values that snick does not keep (constants that become attributes), and the declared shapes of outputs.
`--known` omits models with operators that snick does not know. With `--check`, models also run in ONNX Runtime on
random inputs, and every number is compared with the actual size.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

UNKNOWN, EXPRESSION, NUMBER = range(3)


def of_value_infos(model, symbols):
    """The shapes in an annotated model: by name, a list of dims, each a number or a string; None for an unknown rank."""
    graph, shapes = model.graph, {}
    for info in [*graph.value_info, *graph.output, *graph.input]:
        if not info.type.HasField("tensor_type"):
            continue
        kind = info.type.tensor_type
        if not kind.HasField("shape"):
            shapes[info.name] = None
            continue
        dims = []
        for dim in kind.shape.dim:
            if dim.HasField("dim_value"):
                dims.append(dim.dim_value if dim.dim_value >= 0 else None)
            else:
                dims.append(dim.dim_param if is_expression(dim.dim_param, symbols) else None)
        shapes[info.name] = dims
    return shapes


def is_expression(text, symbols):
    words = re.findall(r"[A-Za-z_][\w.]*", text)
    return bool(words) and "?" not in text and all(word in symbols or word in ("floor", "ceiling", "Max", "Min") for word in words)


def without_claims(graph):
    """Removes the declared shapes of values: they are claims, not inference."""
    del graph.value_info[:]
    for output in graph.output:
        if output.type.HasField("tensor_type"):
            output.type.tensor_type.ClearField("shape")
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                without_claims(attribute.g)


def symbols_of(model):
    return {
        dim.dim_param
        for value in model.graph.input
        for dim in value.type.tensor_type.shape.dim
        if dim.HasField("dim_param")
    }


def by_onnx(model, symbols):
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    return of_value_infos(inferred, symbols)


def by_runtime(model, symbols):
    inferred = SymbolicShapeInference.infer_shapes(model, auto_merge=True)
    return of_value_infos(inferred, symbols)


def by_snick(snick, model, only_known):
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        file.write(model.SerializeToString())
        file.flush()
        run = subprocess.run([snick, "infer", file.name, "--format", "json"], capture_output=True, text=True)
    if not run.stdout:
        raise ValueError(run.stderr)
    shapes = {}
    nodes = json.loads(run.stdout)["nodes"]
    if only_known and any(node.get("opaque") for node in nodes):
        return None
    for node in nodes:
        for out in node["outputs"]:
            text = out.get("symbolic", out["shape"])
            dims = None if text == "[...]" else [dim_of(d) for d in split(text)]
            for name in out.get("tensor_names", []):
                shapes[name] = dims
    return shapes


def split(text):
    """Splits `[N,max(W-1,0),3]` into dims."""
    dims, depth, word = [], 0, ""
    for c in text[1:-1]:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            dims.append(word)
            word = ""
        else:
            word += c
    return dims + [word] if word else dims


def dim_of(text):
    if re.fullmatch(r"\d+", text):
        return int(text)
    # Intervals and symbols that do not come from an input count as unknown.
    return None if "?" in text or ".." in text or re.search(r"\bs\d+\b", text) else text


def run_shapes(model, rng):
    """The sizes of all values for random inputs."""
    full = onnx.ModelProto()
    full.CopyFrom(model)
    known = {value.name for value in full.graph.output}
    for node in full.graph.node:
        full.graph.output.extend(onnx.ValueInfoProto(name=n) for n in node.output if n and n not in known)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(full.SerializeToString(), options, providers=["CPUExecutionProvider"])
    # Each name gets one size, all different; sizes without a name are chosen independently.
    sizes, feed = {}, {}
    types = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32}
    for value in session.get_inputs():
        dims = []
        for axis, dim in enumerate(value.shape):
            name = dim if dim and dim != "?" else f"{value.name} {axis}"
            dims.append(dim if isinstance(dim, int) and dim >= 0 else sizes.setdefault(name, 2 + 94 * len(sizes)))
        feed[value.name] = rng.integers(0, 3, dims).astype(types[value.type])
    names = [value.name for value in session.get_outputs()]
    outputs = session.run(names, feed)
    return {name: list(x.shape) for name, x in zip(names, outputs) if isinstance(x, np.ndarray)}


def level(dims, axis):
    if dims is None or axis >= len(dims) or dims[axis] is None:
        return UNKNOWN
    return NUMBER if isinstance(dims[axis], int) else EXPRESSION


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("snick")
    parser.add_argument("paths", metavar="MODEL.onnx", nargs="+")
    for option in ("--known", "--check", "--verbose"):
        parser.add_argument(option, action="store_true")
    given = parser.parse_intermixed_args()
    tools = {
        "snick": lambda model, symbols: by_snick(given.snick, model, given.known),
        "onnx.shape_inference": by_onnx,
        "symbolic_shape_infer": by_runtime,
    }
    totals = {tool: dict(fails=0, ranks=0, numbers=0, expressions=0, more=0, wrong=0) for tool in tools}
    models = values = dims_in_all = 0
    for path in given.paths:
        model = onnx.load(path)
        without_claims(model.graph)
        symbols = symbols_of(model)
        found = {}
        for tool, infer in tools.items():
            try:
                found[tool] = infer(model, symbols)
            except Exception:  # Whatever a tool rejects counts as unknown.
                totals[tool]["fails"] += 1
                found[tool] = {}
        if found["snick"] is None:
            continue
        models += 1
        try:
            real = run_shapes(model, np.random.default_rng(1)) if given.check else {}
        except Exception:
            real = {}
        produced = {name for node in model.graph.node for name in node.output if name}
        kept = found["snick"] or produced
        for name in sorted(name for name in produced if name in kept):
            shapes = {tool: found[tool].get(name) for tool in tools}
            ranks = [len(shape) for shape in shapes.values() if shape is not None]
            if not ranks and name not in real:
                continue
            values += 1
            rank = len(real.get(name, [])) if name in real else max(ranks)
            dims_in_all += rank
            for tool, shape in shapes.items():
                own = totals[tool]
                own["ranks"] += shape is not None
                wrong = name in real and shape is not None and (
                    len(shape) != rank or any(isinstance(d, int) and d != r for d, r in zip(shape, real[name]))
                )
                own["wrong"] += wrong
                if wrong and given.verbose:
                    print("wrong", tool, path, name, shape, real[name], file=sys.stderr)
                for axis in range(rank):
                    own["numbers"] += level(shape, axis) == NUMBER
                    own["expressions"] += level(shape, axis) == EXPRESSION
                    if not wrong and level(shape, axis) > level(shapes["snick"], axis):
                        own["more"] += 1
                        if given.verbose:
                            print("more", tool, path, name, shape, shapes["snick"], file=sys.stderr)
    print(f"{models} models, {values} values, {dims_in_all} dims")
    print("| | models refused | ranks known | dims as numbers | dims as expressions | more than snick | wrong |")
    print("|---|---|---|---|---|---|---|")
    for tool, own in totals.items():
        print(f"| {tool} | " + " | ".join(str(count) for count in own.values()) + " |")


main()
