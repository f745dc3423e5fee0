#!/usr/bin/env python3
"""Finds out since which release OpenVINO reads and runs what, and writes the table that snick embeds.

    releases.py --snick BIN --envs DIR [--answers DIR] [--check]

Installs each release from 2022.1 on in a virtual environment below --envs, and asks it to read and run small models:

- one layer of each operation in each operation set, to see which sets contain it;
- each layer of `tests/cases/ops` and `release_cases.snick` with valid inputs (release_cases.py), also with every other
  value of each attribute that has few values;
- inputs, constants and conversions of each element type, and features of the format (release_questions.py).

A release runs a layer if the outputs are those of the newest release or of snick. `onnx` of this Python describes the
operation sets of ONNX. With --answers, answers are kept there and not asked again. With --check, the tables are not
written; the exit code is 1 if they are not up to date.

2022.1 to 2022.3 need Python 3.8 to 3.10; each release uses the first Python on the PATH that can install it. Needs pip,
a network, numpy and onnx."""

import argparse
import hashlib
import json
import pathlib
import re
import subprocess
import sys

import release_onnx
import release_questions
from release_cases import cases
from release_runtimes import PYTHONS, Runtime, environment
from release_table import Answers, table

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "crates/snick-ir/src/release"
OLDEST = "2022.1"
# Sets of operations outside opset1, opset2 and so on.
NAMED_SETS = ["experimental", "extension", "ie_internal_opset"]


def released():
    """All releases from the oldest one on, from the index of packages."""
    found = set()
    for version in ("3.8", "3.10", "%d.%d" % sys.version_info[:2]):
        command = [sys.executable, "-m", "pip", "index", "versions", "openvino", "--python-version", version,
                   "--only-binary=:all:"]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        found.update(re.findall(r"\b(20\d\d\.\d+)\.\d+\b(?!\.dev)", text))
    numbers = sorted(tuple(map(int, release.split("."))) for release in found)
    return ["%d.%d" % number for number in numbers if number >= tuple(map(int, OLDEST.split(".")))]


def questions(snick, reference):
    """All questions by key. Keys are lists; the first item says what the question is about."""
    asked, all_cases = {}, cases(snick, ROOT)
    newest = max(opset for op in reference.values() for opset in op["opsets"])
    sets = ["opset%d" % number for number in range(1, newest + 3)] + NAMED_SETS
    for op in reference:
        asked.update({("set", op, opset): release_questions.in_set(op, opset) for opset in sets})
    for case in all_cases:
        asked["case", case.op, case.name] = case.question
        if case.is_variant:
            continue
        for (name, value), question in release_questions.with_other_attributes(case, reference):
            asked["attribute", case.op, case.name, name, value] = question
    asked.update({("type", *key): question for key, question in release_questions.of_types()})
    asked.update({("feature", name): question for name, question in release_questions.of_features()})
    return asked, {case.name: case for case in all_cases}


def ask(python, asked, kept):
    """The answers of one release. `kept` is a file with earlier answers, by the hash of the question."""
    known = json.loads(kept.read_text()) if kept and kept.exists() else {}
    runtime, answers = Runtime(python), {}
    for key, question in asked.items():
        digest = hashlib.sha256(json.dumps(question).encode()).hexdigest()
        if digest not in known:
            known[digest] = runtime.ask(**question)
        answers[key] = known[digest]
    runtime.stop()
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(known))
    return answers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--snick", required=True, help="the program")
    parser.add_argument("--envs", required=True, type=pathlib.Path, help="folder of the virtual environments")
    parser.add_argument("--answers", type=pathlib.Path, help="folder that keeps answers")
    parser.add_argument("--check", action="store_true", help="only compare the tables")
    options = parser.parse_args()
    listed = subprocess.run([options.snick, "ops", "--format", "json"], check=True, capture_output=True, text=True)
    reference = {op["name"]: op for op in json.loads(listed.stdout)["ops"] if op["dialect"] == "openvino"}
    asked, by_name = questions(options.snick, reference)
    answers = {}
    for release in released():
        python = environment(options.envs.resolve(), release)
        answers[release] = ask(python, asked, options.answers and options.answers / (release + ".json"))
        print("asked", release, file=sys.stderr)
    newest = max(answers, key=lambda release: tuple(map(int, release.split("."))))
    again = ask(environment(options.envs.resolve(), newest), asked, options.answers and options.answers / "again.json")
    tables = {FOLDER / "openvino.txt": table(Answers(answers, again, by_name), reference),
              FOLDER / "onnx.txt": release_onnx.table()}
    is_current = all(path.exists() and path.read_text() == text for path, text in tables.items())
    if options.check:
        print("the tables are up to date" if is_current else "the tables are not up to date")
        return 0 if is_current else 1
    FOLDER.mkdir(exist_ok=True)
    for path, text in tables.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
