#!/usr/bin/env python3
"""The time of a run: snick beside OpenVINO on the processor, in f32 and one stream.

    python run_speed.py path/to/snick MODEL.xml... [--threads 1,2] [--rounds 5]

Both run a model on the same drawn inputs, each round in a process of its own, one after the other; the least time of all
rounds counts, for other programs only add to it. First: the time to the first output of a process on one thread, snick's
whole process beside reading, compiling and running in a Python that has imported openvino. Memory: the peak of these
two. Maximum difference: the largest difference of an output in parts of its largest element. The models of `random_models.py` are
made for this. Needs openvino and numpy; snick itself needs neither.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

OPENVINO = """
import json, sys, time, numpy as np, openvino
model, inputs, threads, repeats, outputs = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
arrays = np.load(inputs)
start = time.perf_counter()
options = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": "1", "INFERENCE_PRECISION_HINT": "f32"}
compiled = openvino.Core().compile_model(model, "CPU", options)
request = compiled.create_infer_request()
for input in compiled.inputs:
    request.set_tensor(input, openvino.Tensor(arrays[input.node.friendly_name]))
request.infer()
first = time.perf_counter() - start
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
names = [output.node.friendly_name for output in compiled.outputs]
np.savez(outputs, **{name: np.array(tensor.data) for name, tensor in zip(names, request.output_tensors)})
times = []
for _ in range(repeats):
    start = time.perf_counter()
    request.infer()
    times.append(time.perf_counter() - start)
print(json.dumps({"first": first, "peak": peak * 1024, "run": min(times)}))
"""


def said(*command):
    return json.loads(subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout)


def drawn(snick, model, path):
    """Random arrays for the declared inputs."""
    random, arrays = np.random.default_rng(0), {}
    for value in said(snick, "infer", model, "--format", "json")["inputs"]:
        dims = [int(dim) for dim in value["shape"].strip("[]").split(",") if dim]
        if value["element_type"] == "f32":
            arrays[value["name"]] = random.standard_normal(dims, dtype=np.float32)
        else:
            arrays[value["name"]] = random.integers(0, 4, dims).astype(value["element_type"].replace("i", "int"))
    np.savez(path, **arrays)


def first_of_snick(snick, model, inputs, outputs):
    """Time in seconds and peak memory in bytes of a whole process."""
    start = time.perf_counter()
    command = [snick, "run", model, "--inputs", inputs, "-o", outputs, "--threads", "1", "--force"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
    if status:
        raise SystemExit(f"snick run {model} failed")
    return {"first": time.perf_counter() - start, "peak": usage.ru_maxrss * 1024}


def error(own, other):
    own, other = np.load(own), np.load(other)
    return max(float(np.abs(own[name] - other[name]).max() / max(np.abs(other[name]).max(), 1e-30)) for name in other)


def compared(snick, model, threads, rounds, repeats, folder):
    inputs, own, other = (folder / f"{name}.npz" for name in ("inputs", "own", "other"))
    drawn(snick, model, inputs)
    best = {}

    def keep(key, value):
        best[key] = min(value, best.get(key, value))

    for _ in range(rounds):
        for engine, measured in (("snick", first_of_snick(snick, model, inputs, own)),
                                 ("openvino", said(sys.executable, "-c", OPENVINO, model, inputs, 1, 1, other))):
            keep((engine, "first"), measured["first"])
            keep((engine, "peak"), measured["peak"])
        for count in threads:
            options = ["--stage", "run", "--threads", count, "-n", repeats, "--format", "json"]
            stage = said(snick, "bench", model, *options)["stages"]["run"]
            keep(("snick", count), stage["min_ms"] / 1e3)
            keep(("openvino", count), said(sys.executable, "-c", OPENVINO, model, inputs, count, repeats, other)["run"])
    return best, error(own, other)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("snick")
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--threads", default="1")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=10)
    given = parser.parse_args()
    threads = [int(count) for count in given.threads.split(",")]
    columns = [f"{who}, {count} thread{'s' if count > 1 else ''}, ms" for count in threads for who in ("snick", "OpenVINO")]
    print("| model | " + " | ".join(columns) + " | ratio, 1 thread | first output, ratio | memory, ratio | max. difference |")
    print("|---|" + "---:|" * (len(columns) + 4))
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for model in given.models:
            best, apart = compared(given.snick, model, threads, given.rounds, given.repeats, Path(folder))
            ratio = {key: best["snick", key] / best["openvino", key] for key in [threads[0], "first", "peak"]}
            times = [best[who, count] * 1e3 for count in threads for who in ("snick", "openvino")]
            cells = [f"{time:.1f}" for time in times] + [f"{value:.2f}" for value in ratio.values()] + [f"{apart:.0e}"]
            print(f"| {model.parent.name if model.stem == 'model' else model.stem} | {' | '.join(cells)} |", flush=True)
            ratios.append(list(ratio.values()))
    medians = [f"{statistics.median(column):.2f}" for column in zip(*ratios)]
    print(f"\nMedian: {medians[0]} of the time, {medians[1]} to the first output, {medians[2]} of the memory.")


main()
