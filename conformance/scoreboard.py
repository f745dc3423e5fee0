#!/usr/bin/env python3
"""Scores all engines, each in an environment of its own, and writes the tables of two pages of the documentation.

The environments are created in a temporary folder, with the newest versions of all packages.
"""

import argparse
import json
import os
import re
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

from engines import EngineError, constant, engines
from judge import FAILURES, GROUPS, OUTCOMES, RULES, expected, judge
from run import cases, compare, score

PAGES = Path(__file__).parents[1] / "docs" / "src"
SHOWN = 160


def scored(engine, options, environments):
    """The worker of an engine, its sample and its answers; `None` if it cannot be asked."""
    every, started = constant(engine, "EVERY", 1), time.monotonic()
    try:
        worker, found = score(engine, cases(every=every), options.seconds, environments)
    except EngineError as error:
        print(f"{engine}: {error}", file=sys.stderr)
        return None
    if options.update:
        compare(engine, worker.version, found, is_update=True, is_whole=True)
    minutes = (time.monotonic() - started) / 60
    print(f"{engine} {worker.version}: {len(found)} questions in {minutes:.1f} minutes", file=sys.stderr)
    return worker, every, found


def group_table(results):
    lines = [f"| engine | {' | '.join(GROUPS)} |", "|---|" + "---:|" * len(GROUPS)]
    for engine, (worker, _, found) in results.items():
        counts = Counter((group, outcome) for group, _, _, outcome, _ in found)
        cells = []
        for group in GROUPS:
            asked = sum(counts[group, outcome] for outcome in OUTCOMES if outcome != "not offered")
            cells.append(f"{counts[group, 'right']:,} of {asked:,}" if asked else "–")
        lines.append(f"| {engine} {worker.version} | {' | '.join(cells)} |")
    return lines


def outcome_table(results):
    lines = [f"| engine | questions | {' | '.join(OUTCOMES)} |", "|---|---:|" + "---:|" * len(OUTCOMES)]
    for engine, (_, every, found) in results.items():
        counts = Counter(outcome for _, _, _, outcome, _ in found)
        cells = [f"{counts[outcome]:,}" if counts[outcome] else "" for outcome in OUTCOMES]
        sample = f" (of one case in {every})" if every > 1 else ""
        lines.append(f"| {engine} | {len(found):,}{sample} | {' | '.join(cells)} |")
    return lines


def failure_tables(results):
    lines = []
    for engine, (worker, _, found) in results.items():
        failed = sorted((entry for entry in found if entry[3] in FAILURES), key=lambda entry: entry[1]["rule"])
        if failed:
            lines += [f"## {engine} {worker.version}", ""]
        for rule, entries in groupby(failed, key=lambda entry: entry[1]["rule"]):
            lines += [f"`{rule}`: {RULES[rule]['says']}", "", "| case | input | right | given |", "|---|---|---|---|"]
            lines += [failure_row(worker, *entry) for entry in entries] + [""]
    return lines


def failure_row(worker, _, case, kind, outcome, reply):
    asked = {key: value for key, value in case.items() if key not in ("id", "rule", "source", "expect", "dialects")}
    right, given = right_and_given(case, kind, outcome, reply, worker)
    return f"| `{case['id']}` | {code(asked)} | {code(right)} | {code(given)} |"


def right_and_given(case, kind, outcome, reply, worker):
    """The right answer to what was asked, and what the engine gave."""
    expect = expected(case, worker.dialect)
    given = reply.get("answer", reply)
    if outcome == "error":
        # The first line, without the paths of temporary files.
        given = {"error": re.sub(r"/\S*/", "", reply["error"].strip().splitlines()[0])}
    if kind == "refuse":
        return {"refused": expect["refused"]}, given
    if kind == "run":
        return [expect["dims"], expect["indices"]], given
    if "at" not in expect:
        return expect.get("inferred", expect["dims"]), given
    for row in expect["at"]:
        # A row that shows the fault.
        only = case | {"expect": expect | {"at": [row]}, "dialects": {}}
        if outcome != "wrong" or judge(only, kind, given, worker.dialect) == "wrong":
            count = len(expect["symbols"])
            return {"at": dict(zip(expect["symbols"], row)), "dims": row[count:]}, given
    return expect["at"], given


def code(value):
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    text = text if len(text) <= SHOWN else text[:SHOWN] + "…"
    return "`" + text.replace("|", "\\|").replace("`", "'") + "`"


def write_between(page, mark, lines):
    """Replaces the lines between two comments of a page."""
    path = PAGES / page
    begin, end = f"<!-- {mark} -->\n", f"<!-- /{mark} -->\n"
    before, rest = path.read_text().split(begin)
    path.write_text(before + begin + "\n".join(lines).strip() + "\n" + end + rest.split(end)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--snick", required=True, metavar="PATH", help="the program for the engine snick")
    parser.add_argument("--engines", nargs="+", default=engines(), metavar="ENGINE", help="by default, all")
    parser.add_argument("--update", action="store_true", help="also write the lists of expected failures")
    parser.add_argument("--seconds", type=float, default=20, help="time limit of a question")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="engines that are scored at once")
    options = parser.parse_args()
    os.environ["SNICK"] = str(Path(options.snick).resolve())
    with TemporaryDirectory() as environments, ThreadPoolExecutor(options.jobs) as pool:
        entries = pool.map(lambda engine: scored(engine, options, environments), options.engines)
        results = {engine: entry for engine, entry in zip(options.engines, entries) if entry}
    asked = f"{sum(1 for _ in cases()):,} cases, {date.today()}."
    lines = [asked, "", *group_table(results), "", *outcome_table(results)]
    write_between("conformance.md", "scores", lines)
    write_between("conformance-failures.md", "failures", failure_tables(results))
    print("\n".join(lines))
    return 0 if len(results) == len(options.engines) else 1


if __name__ == "__main__":
    sys.exit(main())
