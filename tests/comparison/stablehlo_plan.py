#!/usr/bin/env python3
"""What `snick plan` says of a mesh of devices, beside what XLA's compiler says.

    python stablehlo_plan.py path/to/snick MODEL['#SHAPES'].. [--devices 1,2,4,8] [--memory SIZE] [--mesh AXES --shard RULES]
    python stablehlo_plan.py path/to/snick gpt#LAYERS,WIDTH,HEADS,WORDS#SHAPES ..

Needs jax and jaxlib, and openvino to make a `gpt`; snick itself needs none of them. Each model is planned for each
number of devices (or for the given mesh), converted with the mesh and the rules of the plan, and compiled by jaxlib's
XLA for as many devices of one processor. Compared are the bytes that a device sends, by the kinds of its collectives in
the compiled program, and the bytes of its arguments. Exits 1 if one differs by more than 2 %, or if the plan names
operations that it does not know.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

MOST = 8
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={MOST} " + os.environ.get("XLA_FLAGS", "")
LAUNCHER = Path(__file__).parents[2] / "examples" / "xla" / "run.py"
spec = importlib.util.spec_from_file_location("launcher", LAUNCHER)
launcher = importlib.util.module_from_spec(spec)
spec.loader.exec_module(launcher)

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)
TOLERANCE = 0.02


def make_gpt(layers, width, heads, words, path, positions=1024):
    """A decoder of so many layers, with one table for the words and for the logits."""
    import openvino
    from openvino import opset13 as op

    rng = np.random.default_rng(0)

    def constant(name, *dims):
        node = op.constant(rng.standard_normal(dims, dtype=np.float32) * np.float32(0.02))
        node.friendly_name = name
        return node

    def integers(*numbers):
        return op.constant(np.array(numbers, np.int64))

    def scalar(number):
        return op.constant(np.int64(number))

    def norm(x, name):
        y = op.mvn(x, integers(-1), True, 1e-5, "inside_sqrt")
        return op.add(op.multiply(y, constant(f"{name}.weight", width)), constant(f"{name}.bias", width))

    def linear(x, name, rows, columns):
        y = op.matmul(x, constant(f"{name}.weight", rows, columns), False, False)
        return op.add(y, constant(f"{name}.bias", columns))

    def by_head(x):
        x = op.reshape(x, integers(0, 0, heads, width // heads), True)
        return op.transpose(x, integers(0, 2, 1, 3))

    ids = op.parameter([-1, -1], np.int64, "ids")
    ids.friendly_name = "ids"
    table, places = constant("wte", words, width), constant("wpe", positions, width)
    length = op.gather(op.shape_of(ids), scalar(1), scalar(0))
    place = op.gather(places, op.range(scalar(0), length, scalar(1), "i64"), scalar(0))
    x = op.add(op.gather(table, ids, scalar(0)), place)
    for layer in range(layers):
        name = f"h.{layer}"
        y = norm(x, f"{name}.ln1")
        q, k, v = (by_head(linear(y, f"{name}.attn.{part}", width, width)) for part in "qkv")
        y = op.scaled_dot_product_attention(q, k, v, causal=True)
        y = op.reshape(op.transpose(y, integers(0, 2, 1, 3)), integers(0, 0, width), True)
        x = op.add(x, linear(y, f"{name}.attn.proj", width, width))
        y = op.gelu(linear(norm(x, f"{name}.ln2"), f"{name}.mlp.up", width, 4 * width), "erf")
        x = op.add(x, linear(y, f"{name}.mlp.down", 4 * width, width))
    logits = op.result(op.matmul(norm(x, "ln"), table, False, True))
    logits.friendly_name = "logits"
    openvino.save_model(openvino.Model([logits], [ids], "gpt"), path, compress_to_fp16=False)


def by_xla(folder):
    """The bytes of arguments, of temporary values and of what is sent, on each device."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    count = int(np.prod(list((manifest["mesh"] or {"": 1}).values())))
    program = launcher.compiled((folder / "model.mlir").read_text(encoding="utf-8"), jax.devices()[:count])
    memory = program.get_compiled_memory_stats()
    sent = launcher.sent(program.hlo_modules()[0].to_string(), count)
    return memory.argument_size_in_bytes, memory.temp_size_in_bytes + memory.output_size_in_bytes, sum(sent.values())


def differ(a, b):
    return abs(a - b) > TOLERANCE * max(a, b)


def compared(snick, model, shapes, plan_options, folder):
    """Whether plan and XLA agree; prints both."""

    def called(*arguments):
        done = subprocess.run([snick, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode not in (0, 1) or not done.stdout and arguments[0] == "plan":
            raise SystemExit(f"{' '.join(map(str, arguments))}: {done.stderr}")
        return done.stdout

    shapes = ["--shape", shapes] if shapes else []
    plan = json.loads(called("plan", model, *shapes, "--format", "json", *plan_options))
    rules = ["--shard", plan["shard"]] if plan["shard"] else []
    called("convert", model, *shapes, "-o", f"{folder}/", "--to", "stablehlo", "--mesh", plan["mesh"], *rules)
    arguments, others, sent = by_xla(folder)
    own = plan["weight_bytes"] + plan["input_bytes"]
    wrong = [word for word, is_so in [("sent", differ(plan["sent_bytes"], sent)), ("arguments", differ(own, arguments)),
                                      (f"{len(plan['unplanned'])} unplanned", plan["unplanned"])] if is_so]
    print(f"{Path(model).parent.name}/{Path(model).name} --mesh {plan['mesh']} {' '.join(rules)}\n"
          f"    sent {plan['sent_bytes']} xla {sent}  arguments {own} xla {arguments}  "
          f"activations {plan['peak_bytes']} xla {others}  {'DIFFERENT: ' + ', '.join(wrong) if wrong else 'equal'}", flush=True)
    return not wrong


def main():
    snick, *words = sys.argv[1:]
    options = {}
    while any(word.startswith("--") for word in words):
        at = next(i for i, word in enumerate(words) if word.startswith("--"))
        options[words[at]] = words[at + 1]
        del words[at : at + 2]
    counts = options.pop("--devices", "1,2,4,8").split(",")
    given = [word for pair in options.items() for word in pair]
    trials = [given] if "--mesh" in options else [["--devices", count, *given] for count in counts]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for word in words:
            model, *rest = word.split("#")
            if model == "gpt":
                model, sizes = f"{folder}/gpt.xml", rest.pop(0)
                make_gpt(*map(int, sizes.split(",")), model)
            for trial in trials:
                failed += not compared(snick, model, rest[0] if rest else "", trial, Path(folder))
    print(f"{failed} different" if failed else "all equal")
    sys.exit(1 if failed else 0)


main()
