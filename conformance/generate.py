#!/usr/bin/env python3
"""Writes the cases, with answers found by enumeration; `--check` reports whether the committed files are up to date.

A committed case keeps its id and its place for ever. New cases are added at the end of their file.
"""

import argparse
import json
import sys
from pathlib import Path

from oracle import answer
from oracle.families import FAMILIES

CASES = Path(__file__).parent / "cases"


def committed(path):
    """The cases of a file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def question(case):
    """A case without its id and answers, as text."""
    return json.dumps({key: value for key, value in case.items() if key not in ("id", "expect", "dialects")})


def text(case):
    return json.dumps(case, separators=(",", ":")) + "\n"


def answered(case_id, case):
    """A case with its id first and its answers last."""
    asked = {key: value for key, value in case.items() if key not in ("id", "expect", "dialects")}
    return {"id": case_id, **asked, **answer(asked)}


def generate(name, family):
    """The lines of a family."""
    path = CASES / f"{name}.jsonl"
    old = committed(path)
    ids = {question(case): case["id"] for case in old}
    asked = {}
    for case in family():
        asked.setdefault(json.dumps(case), case)
    missing = [case["id"] for case in old if question(case) not in asked]
    if missing:
        sys.exit(f"{path.name}: committed cases are no longer generated: {', '.join(missing[:5])}")
    lines = [text(answered(case["id"], case)) for case in old]
    for key, case in asked.items():
        if key not in ids:
            lines.append(text(answered(f"{name}-{len(lines):04}", case)))
    return path, "".join(lines)


def recomputed(path):
    """The lines of a file that something else generates, with our answers."""
    return path, "".join(text(answered(case["id"], case)) for case in committed(path))


def unexplained():
    """The rules and sources of cases that `rules.json` does not explain."""
    known = json.loads((CASES.parent / "rules.json").read_text())
    found = set()
    for path in CASES.glob("*.jsonl"):
        for case in committed(path):
            found |= {case["rule"]} - known["rules"].keys() | {case.get("source")} - known["sources"].keys() - {None}
    return sorted(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file would change")
    is_check = parser.parse_args().check
    files = [generate(name, family) for name, family in FAMILIES.items()]
    # snick's tests choose these cases, so only their answers are checked here.
    files.append(recomputed(CASES / "slices.jsonl"))
    stale = [path for path, lines in files if not path.exists() or path.read_text() != lines]
    for path, lines in files:
        if path in stale and is_check:
            print(f"{path.name} is out of date", file=sys.stderr)
        elif path in stale:
            path.write_text(lines)
    unknown = {path.name for path in CASES.glob("*.jsonl")} - {path.name for path, _ in files}
    if unknown:
        print(f"nothing generates {', '.join(sorted(unknown))}", file=sys.stderr)
    names = unexplained()
    if names:
        print(f"rules.json does not explain {', '.join(names)}", file=sys.stderr)
    if names or unknown or is_check and stale:
        sys.exit(1)
    for path, lines in files:
        print(f"{path.name}: {lines.count(chr(10))} cases, {len(lines)} bytes")


if __name__ == "__main__":
    main()
