#!/usr/bin/env python3
"""Compares `snick plan` for a mesh of devices with XLA's compiler.

    python stablehlo_plan.py path/to/snick MODEL['#SHAPES'].. [--devices 1,2,4,8] [--memory SIZE] [--mesh AXES --shard RULES]
    python stablehlo_plan.py path/to/snick gpt#LAYERS,WIDTH,HEADS,WORDS#SHAPES ..

Needs jax and jaxlib, and openvino to make a `gpt`; snick itself needs none of them. Each model is planned for each
number of devices (or for the given mesh), converted with the mesh and the rules of the plan, and compiled by
jaxlib's XLA for as many devices on one processor. Compares the bytes that a device sends, by the kind of collective
in the compiled program, and the bytes of its arguments. Exits 1 if any differ by more than 2 %, or if the plan
lists operations with unknown traffic.
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


def by_xla(folder):
    """The bytes of arguments, of temporary values and of transfers, per device."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    count = int(np.prod(list((manifest["mesh"] or {"": 1}).values())))
    program = launcher.compiled((folder / "model.mlir").read_text(encoding="utf-8"), jax.devices()[:count])
    memory = program.get_compiled_memory_stats()
    sent = launcher.sent(program.hlo_modules()[0].to_string(), count)
    return memory.argument_size_in_bytes, memory.temp_size_in_bytes + memory.output_size_in_bytes, sum(sent.values())


def differ(a, b):
    return abs(a - b) > TOLERANCE * max(a, b)


def compared(snick, model, shapes, plan_options, folder):
    """Prints both results and returns whether plan and XLA agree."""

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
                from random_models import gpt

                model, sizes = f"{folder}/gpt.xml", rest.pop(0)
                gpt(model, *map(int, sizes.split(",")))
            for trial in trials:
                failed += not compared(snick, model, rest[0] if rest else "", trial, Path(folder))
    print(f"{failed} different" if failed else "all equal")
    sys.exit(1 if failed else 0)


main()
