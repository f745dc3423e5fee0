#!/usr/bin/env python3
"""Asks engines every case and prints how many answers are right, by group.

An engine is a file in `runners/`. Failures that are not in `runners/ENGINE.expected.txt` make the exit code 1.
"""

import argparse
import json
import os
import sys
from collections import Counter
from pathlib import Path
from zlib import crc32

from engines import RUNNERS, EngineError, constant, engines, python_with
from judge import FAILURES, GROUPS, OUTCOMES, expected, is_defined, judge, questions
from worker import Worker, serve

CASES = Path(__file__).parent / "cases"
# The unexpected failures that are listed.
SHOWN = 20


def cases(text="", every=1):
    """The cases whose id or file contains a text, or one of N that stays the same if cases are added."""
    for path in sorted(CASES.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            case = json.loads(line)
            if (text in case["id"] or text in path.name) and crc32(case["id"].encode()) % every == 0:
                yield case


def score(engine, asked, seconds, environments=None):
    """The stopped worker of an engine, and for each question its group, case, kind, outcome and the reply."""
    python = python_with(engine, environments) if environments else sys.executable
    worker = Worker(engine, seconds, python)
    found = []
    for case in asked:
        for group, kind in questions(case, worker.dialect):
            reply = worker.ask(kind, case)
            found.append((group, case, kind, outcome(case, kind, reply, worker), reply))
    worker.stop()
    return worker, found


def outcome(case, kind, reply, worker):
    found = outcome_by_rule(case, kind, reply, worker)
    return "differs" if found in ("wrong", "error") and not is_defined(case) else found


def outcome_by_rule(case, kind, reply, worker):
    """The outcome if the rule of the case is defined by its text."""
    for name in ("crash", "hang"):
        if name in reply:
            return name
    if "not_offered" in reply:
        return "not offered"
    if kind == "refuse":
        # Without a run, no output is claimed, and a shape of nothing is not false.
        return "right" if "error" in reply else "wrong" if reply["is_run"] else "loose"
    if "error" in reply:
        return "error"
    return judge(case, kind, reply["answer"], worker.dialect, worker.least)


def show_table(engine, version, found):
    counts = Counter((group, outcome) for group, _, _, outcome, _ in found)
    print(f"\n{engine} {version}\n")
    print("| group | " + " | ".join(OUTCOMES) + " |\n|---|" + "---:|" * len(OUTCOMES))
    for group in GROUPS:
        row = [counts[group, outcome] for outcome in OUTCOMES]
        if sum(row):
            print(f"| {group} | " + " | ".join(str(count) if count else "" for count in row) + " |")


def show_failure(case, kind, outcome, reply, dialect):
    given = reply.get("answer", reply)
    question = {key: value for key, value in case.items() if key not in ("expect", "dialects")}
    print(f"\n{outcome} ({kind}): {json.dumps(question)}")
    print(f"  expected {json.dumps(expected(case, dialect))}")
    print(f"  given    {json.dumps(given)}")


def show_rules(found):
    """One line: how many failures each rule has."""
    counts = Counter(case["rule"] for _, case, _, outcome, _ in found if outcome in FAILURES)
    if counts:
        print("\nfailures by rule: " + ", ".join(f"{rule} {count}" for rule, count in counts.most_common()))


def compare(engine, version, found, is_update, is_whole):
    """Whether every failure is expected; `is_update` writes the list of them instead."""
    path, header = RUNNERS / f"{engine}.expected.txt", f"# {engine} {version}"
    failed = [f"{case['id']} {kind} {outcome}" for _, case, kind, outcome, _ in found if outcome in FAILURES]
    if is_update:
        path.write_text("\n".join([header, *failed]) + "\n")
        return True
    listed_for, *listed = path.read_text().splitlines() if path.exists() else [header]
    new = sorted(set(failed) - set(listed))
    fixed = sorted(set(listed) - set(failed)) if is_whole else []
    print(f"\n{len(failed)} failures, {len(new)} unexpected, {len(fixed)} expected ones did not occur")
    if listed_for != header:
        print(f"the expected failures are those of {listed_for.removeprefix('# ')}")
    for line in new[:SHOWN]:
        print(f"  unexpected: {line}")
    if new[SHOWN:]:
        print(f"  and {len(new) - SHOWN} more")
    return not new


def positive(text):
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engines", nargs="+", choices=[*engines(), "all"], metavar="ENGINE",
                        help=f"one of {', '.join(engines())}, or all")
    parser.add_argument("--cases", default="", metavar="TEXT", help="only cases whose id or file contains this")
    parser.add_argument("--every", type=positive, metavar="N", help="only one of N cases; the default for slow engines")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print the first N failures in full")
    parser.add_argument("--show-loose", action="store_true", help="count loose answers as failures in --show")
    parser.add_argument("--update", action="store_true", help="write the lists of expected failures")
    parser.add_argument("--seconds", type=float, default=20, help="time limit of a question")
    parser.add_argument("--environments", metavar="FOLDER", help="install each engine there, in its own environment")
    parser.add_argument("--snick", metavar="PATH", help="the program for the engine snick")
    parser.add_argument("--serve", action="store_true", help="answer the questions on standard input, for debugging")
    options = parser.parse_args()
    if options.snick:
        os.environ["SNICK"] = str(Path(options.snick).resolve())
    if options.serve:
        return serve(options.engines[0])
    if not any(cases(options.cases)):
        parser.error(f"no case has {options.cases} in its id or file")
    is_expected, is_whole = True, not options.cases and options.every is None
    if options.update and not is_whole:
        parser.error("--update needs all cases")
    for engine in engines() if options.engines == ["all"] else options.engines:
        every = options.every or (constant(engine, "EVERY", 1) if is_whole else 1)
        try:
            worker, found = score(engine, cases(options.cases, every), options.seconds, options.environments)
        except EngineError as error:
            print(f"\n{engine}: {error}", file=sys.stderr)
            is_expected = False
            continue
        show_table(engine, worker.version, found)
        shown = (*FAILURES, "loose") if options.show_loose else FAILURES
        for _, case, kind, outcome, reply in [entry for entry in found if entry[3] in shown][: options.show]:
            show_failure(case, kind, outcome, reply, worker.dialect)
        show_rules(found)
        is_expected &= compare(engine, worker.version, found, options.update, is_whole)
        sys.stdout.flush()
    return 0 if is_expected else 1


if __name__ == "__main__":
    sys.exit(main())
