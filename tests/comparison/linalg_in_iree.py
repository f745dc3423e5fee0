#!/usr/bin/env python3
"""Compiles and runs snick's linalg with IREE for llvm-cpu and compares it with `snick run`.

    python linalg_in_iree.py path/to/snick [--recorded DIR] [--only TEXT] [--onnx] MODEL_OR_FOLDER...

Needs iree-base-compiler, iree-base-runtime and numpy. With `--onnx`, which also needs onnx, IREE imports ONNX written by
snick instead. Each model is converted once. Models with dynamic sizes are run at
up to three sizes that `snick run` accepts. Models with variables are converted with `--stateless`. `--recorded DIR` also
compares with recorded outputs: `DIR/NAME.npz` with `in0..` and `out0..`. Prints a line per model and a table of counts,
and exits 1 if an output differs.
"""

import argparse
import itertools
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

NAMES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": np.uint16, "boolean": np.bool_}
NAMES |= {f"i{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)}
NAMES |= {f"u{bits}": np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)}
TOLERANCE = {"f16": 4e-3, "bf16": 2e-2}
SIZES = [(2, 3), (5, 4), (3, 7), (1, 1), (8, 8), (16, 16), (32, 32), (64, 64), (48, 80), (128, 128), (224, 224), (9, 9)]
MAX_ELEMENTS = 1 << 22
COMPILE = ["--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu"]
COMPILE += ["--iree-llvmcpu-target-cpu=generic"]


def worker(module, given, out):
    """Runs a compiled module on the arrays `0`, `1`, .. of an .npz, in a process of its own in case it crashes."""
    import iree.runtime

    program = iree.runtime.load_vm_flatbuffer_file(module, driver="local-task")
    names = program.vm_module.function_names
    run = program[next(name for name in names if not name.startswith("__") and "$" not in name)]
    arrays = np.load(given)
    results = run(*[arrays[str(i)] for i in range(len(arrays.files))])
    results = results if isinstance(results, (list, tuple)) else [results]
    # IREE's Python cannot copy arrays without elements.
    np.savez(out, *[np.asarray(x) if all(x.shape) else np.empty(x.shape, x.dtype) for x in results])


def signless(array):
    """Integers as IREE takes them, and bf16 from its bits."""
    if array.dtype == np.uint16:
        return array.view(np.int16)
    return array.view(f"int{array.dtype.itemsize * 8}") if array.dtype.kind == "u" else array


def dims(value, sizes):
    """The dims of an input; dynamic ones take the numbers in turn, within their intervals."""
    text = value["shape"][1:-1]
    found = []
    for dim in text.split(",") if text else []:
        low, dots, high = dim.replace("?", "..").partition("..")
        size = int(low) if not dots else max(int(low or 0), next(sizes))
        found.append(min(size, int(high)) if dots and high else size)
    return found


def drawn(value, shape, rng):
    kind = np.dtype(NAMES[value["element_type"]])
    if value["element_type"] == "bf16":
        return (rng.standard_normal(shape).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if kind.kind == "f":
        return rng.standard_normal(shape).astype(kind)
    return rng.integers(0, 2, shape).astype(kind)


def differs(want, got, kind):
    if tuple(want.shape) != tuple(got.shape):
        return f"shape {got.shape}, not {want.shape}"
    if kind == "bf16":
        want, got = [(x.astype(np.uint32) << 16).view(np.float32) for x in (want, got.view(np.uint16))]
    elif not np.issubdtype(want.dtype, np.floating):
        got = got.view(want.dtype) if got.dtype.itemsize == want.dtype.itemsize else got
        return None if np.array_equal(want, got) else f"{(want != got).sum()} of {want.size} elements"
    want, got = want.astype(np.float64), got.astype(np.float64)
    finite = np.isfinite(want)
    if not np.array_equal(np.where(finite, 0, want), np.where(np.isfinite(got), 0, got), equal_nan=True):
        return "other infinities or NaN"
    error = np.abs(np.where(finite, want - np.where(finite, got, 0), 0)).max(initial=0)
    error /= max(np.abs(want[finite]).max(initial=0), 1e-9)
    return None if error < TOLERANCE.get(kind, 1e-3) else f"by {error:.2g} of the largest"


class Model:
    def __init__(self, snick, path, folder, through_onnx):
        self.snick, self.path, self.folder, self.through_onnx = snick, path, folder, through_onnx
        self.known = json.loads(self.called("infer", path, "--format", "json").stdout or '{"inputs":[],"outputs":[]}')
        self.weights = {}

    def called(self, *arguments, timeout=300):
        return subprocess.run([self.snick, *map(str, arguments)], capture_output=True, text=True, timeout=timeout)

    def convert(self):
        """Writes `model.mlir`; returns the reason if snick refuses."""
        if re.search(r'type="(ReadValue|Assign)"', Path(self.path).read_text(encoding="utf-8", errors="replace")):
            self.called("convert", self.path, "-o", self.folder / "stateless.xml", "--stateless")
            self.path = self.folder / "stateless.xml"
            self.known = json.loads(self.called("infer", self.path, "--format", "json").stdout)
        if self.through_onnx:
            return self.convert_to_onnx()
        done = self.called("convert", self.path, "-o", f"{self.folder}/", "--to", "linalg")
        if not (self.folder / "model.mlir").exists():
            return re.sub(r"^.*?\): ", "", done.stderr.strip().split("\n")[-1])
        manifest = json.loads((self.folder / "manifest.json").read_text())
        self.arguments = manifest["arguments"]
        return None

    def convert_to_onnx(self):
        self.arguments = self.known["inputs"]
        done = self.called("convert", self.path, "-o", self.folder / "model.onnx")
        return re.sub(r"^.*?\): ", "", done.stderr.strip().split("\n")[-1]) if done.returncode else None

    def iree(self, tool, *arguments):
        """Runs a tool of IREE; returns the reason if it fails."""
        command = [Path(sys.executable).parent / tool, *arguments]
        try:
            done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, timeout=600)
        except subprocess.TimeoutExpired:
            return "timeout"
        if done.returncode == 0:
            return None
        errors = [line for line in done.stderr.split("\n") if "error" in line.lower()] or done.stderr.split("\n")
        return re.sub(r"^.*?error: ", "", errors[0])[:160] or f"exit code {done.returncode}"

    def compile(self):
        """Compiles; returns the reason if IREE refuses."""
        if not self.through_onnx:
            return self.iree("iree-compile", *COMPILE, "model.mlir", "-o", "model.vmfb")
        # Imported ONNX declares f64 even if it is computed in f32, and then does not run.
        keeps_f64 = "--iree-input-demote-f64-to-f32=false"
        imports = self.iree("iree-import-onnx", "model.onnx", "-o", "model.mlir")
        return imports or self.iree("iree-compile", *COMPILE, keeps_f64, "model.mlir", "-o", "model.vmfb")

    def argument(self, argument, inputs):
        if "file" in argument:
            raw = np.fromfile(self.folder / argument["file"], np.uint8, argument["bytes"], offset=argument["offset"])
            array = raw.view(NAMES[argument["element_type"]]).reshape(argument["dims"])
        else:
            array = inputs[argument["name"]]
        # By default, IREE computes f64 in f32.
        demotes = array.dtype == np.float64 and not self.through_onnx
        return signless(array.astype(np.float32) if demotes else array)

    def run(self, inputs):
        """The outputs by IREE, or the reason of a failure."""
        arguments = [self.argument(argument, inputs) for argument in self.arguments]
        np.savez(self.folder / "arguments.npz", **{str(i): x for i, x in enumerate(arguments)})
        files = [str(self.folder / name) for name in ("model.vmfb", "arguments.npz", "results.npz")]
        try:
            worker = [sys.executable, __file__, "--worker", *files]
            done = subprocess.run(worker, capture_output=True, text=True, timeout=300)
        except subprocess.TimeoutExpired:
            return "timeout"
        if done.returncode:
            lines = [line for line in done.stderr.split("\n") if line.strip()] or [f"exit code {done.returncode}"]
            return next((line for line in lines if "Error" in line), lines[-1])[:160]
        results = np.load(self.folder / "results.npz")
        return [results[f"arr_{i}"] for i in range(len(results.files))]

    def reference(self, inputs):
        """The outputs by snick, or the reason of a failure."""
        np.savez(self.folder / "in.npz", **inputs)
        given = ["--inputs", self.folder / "in.npz"] if inputs else []
        done = self.called("run", self.path, *given, "-o", self.folder / "out.npz")
        if done.returncode:
            return done.stderr.strip().split("\n")[-1][:160]
        out = np.load(self.folder / "out.npz")
        return [out[value["name"]] for value in self.known["outputs"]]

    def samples(self):
        """Inputs and outputs at up to three sizes, and the last failure of `snick run`."""
        is_dynamic = any(re.search(r"\?|\.\.", value["shape"]) for value in self.known["inputs"])
        rng, found, reason, tried = np.random.default_rng(1), [], "no sizes", []
        for sizes in SIZES if is_dynamic else SIZES[:1]:
            numbers = itertools.cycle(sizes)
            shapes = [dims(value, numbers) for value in self.known["inputs"]]
            is_large = is_dynamic and sum(int(np.prod(shape)) for shape in shapes) > MAX_ELEMENTS
            if shapes in tried or is_large:
                continue
            tried.append(shapes)
            inputs = {i["name"]: drawn(i, shape, rng) for i, shape in zip(self.known["inputs"], shapes)}
            outputs = self.reference(inputs)
            if isinstance(outputs, str):
                reason = outputs
            else:
                found.append((inputs, outputs))
            if len(found) == 3:
                break
        return found, reason


def outcome(model, recorded):
    """A word, and the reason."""
    reason = model.convert()
    if reason:
        return "refused by snick", reason
    reason = model.compile()
    if reason:
        return "refused by IREE", reason
    samples, why = model.samples()
    name = Path(model.path).parent.name
    if recorded and (recorded / f"{name}.npz").exists() and model.path.name != "stateless.xml":
        arrays = np.load(recorded / f"{name}.npz")
        known = enumerate(model.known["inputs"])
        inputs = {value["name"]: arrays[f"in{i}"].astype(NAMES[value["element_type"]]) for i, value in known}
        outputs = [arrays[f"out{i}"] for i in range(len(model.known["outputs"]))]
        samples.insert(0, (inputs, outputs))
    for inputs, outputs in samples:
        shapes = ",".join(f"{name}{list(x.shape)}" for name, x in inputs.items()).replace(" ", "")
        results = model.run(inputs)
        if isinstance(results, str):
            return "fails", f"{results} ({shapes})"
        for value, want, got in zip(model.known["outputs"], outputs, results):
            difference = differs(want, got, value["element_type"])
            if difference:
                return "wrong", f"{value['name']}: {difference} ({shapes})"
    return ("equal", f"{len(samples)} sizes") if samples else ("not run", why)


def main():
    if sys.argv[1] == "--worker":
        return worker(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("snick")
    parser.add_argument("--recorded", type=Path)
    parser.add_argument("--only", default="", help="only models whose path contains this text")
    parser.add_argument("--onnx", action="store_true", help="through ONNX and IREE's import of it, instead of linalg")
    parser.add_argument("models", nargs="+", type=Path)
    args = parser.parse_args()
    found = [path for model in args.models for path in ([model] if model.is_file() else sorted(model.glob("**/*.xml")))]
    counts, reasons = Counter(), {}
    for path in (path for path in found if args.only in str(path)):
        with tempfile.TemporaryDirectory() as folder:
            try:
                word, why = outcome(Model(args.snick, path, Path(folder), args.onnx), args.recorded)
            except Exception as error:  # One model must not end the run.
                word, why = "skipped", f"{type(error).__name__}: {error}"[:160]
        counts[word] += 1
        reasons.setdefault(word, Counter())[why] += word != "equal"
        print(f"{word}: {path.parent.name}: {why}", flush=True)
    for word, count in counts.most_common():
        print(f"{count} {word}")
        for why, number in reasons[word].most_common():
            if number:
                print(f"  {number} {why}")
    sys.exit(1 if counts["wrong"] else 0)


main()
