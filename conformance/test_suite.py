#!/usr/bin/env python3
"""Tests of the suite itself; they need no engine."""

import json
import re
import unittest
from copy import deepcopy
from random import Random
from types import SimpleNamespace

from engines import constant, engines
from formats import build, mlir_text
from generate import CASES, answered, committed
from judge import evaluate, judge, questions
from run import cases, outcome
from scoreboard import failure_row, group_table
from worker import is_answer


def all_cases():
    return [case for path in sorted(CASES.glob("*.jsonl")) for case in committed(path)]


def mutated(random, expect):
    """An answer with one change."""
    found = deepcopy(expect)
    key = random.choice(sorted(found))
    value = found[key]
    if key == "refused":
        other = {"refused": "run" if value == "infer" else "infer"}
        return other if random.random() < 0.5 else {"dims": [1], "indices": [0]}
    if key == "at":
        random.choice(value)[-1] += 1
    elif key == "symbols" or not value:
        value.append("Q" if key == "symbols" else 0)
    else:
        at = random.randrange(len(value))
        value[at] = value[at] + 1 if isinstance(value[at], int) else "..9" if value[at] == "?" else "?"
    return found


class Answers(unittest.TestCase):
    def test_ids_are_unique(self):
        ids = [case["id"] for case in all_cases()]
        self.assertEqual(len(ids), len(set(ids)))

    def test_mutated_answers_are_noticed(self):
        random = Random(1)
        for case in random.sample(all_cases(), 100):
            wrong = case | {"expect": mutated(random, case["expect"])}
            self.assertNotEqual(answered(case["id"], wrong)["expect"], wrong["expect"], json.dumps(wrong))

    def test_the_right_answer_is_right_and_a_changed_one_is_not(self):
        for case in all_cases():
            for _, kind in questions(case):
                if kind != "run":
                    continue
                dims, indices = case["expect"]["dims"], case["expect"]["indices"]
                self.assertEqual(judge(case, "run", [dims, indices]), "right")
                self.assertEqual(judge(case, "run", [dims, [*indices[:-1], -7]]), "wrong")
                self.assertEqual(judge(case, "run", [[*dims, 1], indices]), "wrong")


class Judge(unittest.TestCase):
    def judge(self, dims, answer):
        return judge({"expect": {"dims": dims}}, "infer", answer)

    def test_intervals(self):
        self.assertEqual(self.judge(["3..5"], ["3..5"]), "right")
        self.assertEqual(self.judge(["3..5"], ["2..5"]), "loose")
        self.assertEqual(self.judge(["3..5"], ["?"]), "loose")
        self.assertEqual(self.judge(["3..5"], None), "loose")
        self.assertEqual(self.judge(["3..5"], ["3..4"]), "wrong")
        self.assertEqual(self.judge(["3..5"], [4]), "wrong")
        self.assertEqual(self.judge(["3..5"], ["3..5", 1]), "wrong")
        self.assertEqual(self.judge(["?"], ["0..9223372036854775807"]), "right")
        self.assertEqual(self.judge(["?"], ["..9"]), "wrong")

    def test_formulas(self):
        case = {"expect": {"symbols": ["N"], "at": [[0, 0], [1, 0], [2, 1], [3, 2]]}}
        self.assertEqual(judge(case, "infer", ["max(N-1,0)"]), "right")
        self.assertEqual(judge(case, "infer", ["N-1"]), "wrong")
        self.assertEqual(judge(case, "infer", ["N-1"], least=1), "right")
        self.assertEqual(judge(case, "infer", ["s0"]), "loose")
        self.assertEqual(judge(case, "infer", ["?"]), "loose")
        self.assertEqual(judge(case, "infer", ["1.."]), "wrong")

    def test_division_is_exact_unless_it_is_rounded(self):
        self.assertEqual(evaluate("floor(N/2)", {"N": 3}), 1)
        self.assertEqual(evaluate("2*(N/2)", {"N": 3}), 3)
        self.assertEqual(evaluate("N//2", {"N": 3}), 1)

    def test_refusals(self):
        case = {"rule": "step-0", "expect": {"refused": "infer"}}
        self.assertEqual(outcome(case, "refuse", {"error": "no"}, None), "right")
        self.assertEqual(outcome(case, "refuse", {"answer": [1], "is_run": False}, None), "loose")
        self.assertEqual(outcome(case, "refuse", {"answer": [[1], [0]], "is_run": True}, None), "wrong")
        self.assertEqual(outcome(case, "refuse", {"crash": "9"}, None), "crash")
        undefined = case | {"rule": "precedence"}
        self.assertEqual(outcome(undefined, "refuse", {"answer": [[1], [0]], "is_run": True}, None), "differs")


class Files(unittest.TestCase):
    def test_values_of_mlir_are_defined_before_they_are_used(self):
        models = [build(case) for case in all_cases()]
        for text in [mlir_text(model) for model in models if model.dialect == "onnx"]:
            defined = set()
            for line in text.splitlines():
                names = re.findall(r"%\w+(?:\.\w+)*", line)
                count = len(names) if line.startswith("func") else line.split(" = ")[0].count("%") * (" = " in line)
                self.assertLessEqual(set(names[count:]), defined, line)
                defined |= set(names[:count])


class Engines(unittest.TestCase):
    def test_every_runner_names_its_packages(self):
        for engine in engines():
            self.assertNotEqual(constant(engine, "PACKAGES", []), [], engine)

    def test_answers_have_a_format(self):
        self.assertTrue(is_answer("infer", None) and is_answer("infer", [3, "?"]) and is_answer("run", [[1], [0]]))
        for kind, answer in [("infer", (1,)), ("infer", [1.0]), ("run", None), ("run", [1]), ("run", [[1], [0.5]])]:
            self.assertFalse(is_answer(kind, answer), answer)

    def test_a_sample_is_a_part_of_the_cases(self):
        whole = [case["id"] for case in cases()]
        sample = [case["id"] for case in cases(every=4)]
        self.assertTrue(set(sample) < set(whole) and len(whole) / 5 < len(sample) < len(whole) / 3)


class Scoreboard(unittest.TestCase):
    WORKER = SimpleNamespace(version="1.0", dialect=None)

    def test_what_is_not_offered_is_not_counted(self):
        found = [("symbols", {}, "infer", outcome, {}) for outcome in ("right", "loose", "not offered")]
        row = group_table({"toy": (self.WORKER, 1, found)})[-1]
        self.assertIn("| 1 of 2 |", row)

    def test_the_row_of_a_wrong_formula_shows_sizes_where_it_is_wrong(self):
        case = {"id": "a", "rule": "r", "shape": ["N"], "expect": {"symbols": ["N"], "at": [[0, 0], [1, 0], [2, 1]]}}
        row = failure_row(self.WORKER, "symbols", case, "infer", "wrong", {"answer": ["N-1"]})
        self.assertEqual(row, '| `a` | `{"shape":["N"]}` | `{"at":{"N":0},"dims":[0]}` | `["N-1"]` |')

    def test_an_error_is_one_line_without_folders(self):
        case = {"id": "a", "rule": "r", "expect": {"dims": [1]}}
        row = failure_row(self.WORKER, "intervals", case, "infer", "error", {"error": "no /tmp/x/a.xml | b\nmore"})
        self.assertTrue(row.endswith('| `[1]` | `{"error":"no a.xml \\| b"}` |'), row)


if __name__ == "__main__":
    unittest.main()
