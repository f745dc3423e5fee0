"""Which questions a case asks, and whether an answer is right."""

import ast
import json
import operator
from fractions import Fraction
from math import ceil, floor
from pathlib import Path

from oracle.axis import LONGEST, read_interval

GROUPS = ["static values", "static shapes", "intervals", "symbols", "run-time values", "run-time shapes", "refusals"]
OUTCOMES = ["right", "loose", "differs", "wrong", "error", "crash", "hang", "not offered"]
FAILURES = ("wrong", "error", "crash", "hang")
RULES = json.loads((Path(__file__).parent / "rules.json").read_text())["rules"]

BINARY = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: lambda a, b: Fraction(a) / b,
          ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod}
CALLS = {"floor": floor, "ceiling": ceil, "ceil": ceil, "min": min, "max": max, "Min": min, "Max": max, "abs": abs,
         "Mod": operator.mod, "mod": operator.mod, "floordiv": operator.floordiv,
         "ceil_div": lambda a, b: -(-a // b), "broadcast": lambda a, b: b if a == 1 else a}


class Unknown(Exception):
    """An expression names something else than the symbols of the case."""


def evaluate(text, symbols):
    """An expression over symbols, for numbers."""

    def value(node):
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.Name) and node.id in symbols:
            return symbols[node.id]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value(node.operand)
        if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
            return BINARY[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) in CALLS:
            return CALLS[node.func.id](*map(value, node.args))
        raise Unknown(text)

    try:
        return value(ast.parse(text, mode="eval").body)
    except (SyntaxError, ZeroDivisionError) as error:
        raise Unknown(text) from error


def questions(case, dialect=None):
    """Pairs of a group and the kind of question: `"run"`, `"infer"` or `"refuse"`."""
    expect = expected(case, dialect)
    if "refused" in expect:
        return [("refusals", "refuse")]
    if "at" in expect:
        return [("symbols", "infer")]
    if "inferred" in expect:
        return [("run-time values", "run"), ("run-time shapes", "infer")]
    if "sizes" in case:
        return [("run-time values", "run")]
    if "indices" in expect:
        return [("static values", "run"), ("static shapes", "infer")]
    return [("intervals", "infer")]


def is_defined(case):
    """Whether the text of the operation defines the answer. If not, another answer is not wrong."""
    return RULES[case["rule"]].get("defined", True)


def expected(case, dialect=None):
    """The right answer, in a dialect if it has one of its own."""
    return case["expect"] | case.get("dialects", {}).get(dialect, {})


def judge(case, kind, answer, dialect=None, least=0):
    """The outcome of an answer that is no error: the dims, or the dims and elements.

    `least` is the smallest size that a name stands for in this engine.
    """
    expect = expected(case, dialect)
    if kind == "run":
        return "right" if answer == [expect["dims"], expect["indices"]] else "wrong"
    if answer is None:
        return "loose"
    if "at" in expect:
        count = len(expect["symbols"])
        known = [row for row in expect["at"] if min(row[:count]) >= least]
        rows = [(dict(zip(expect["symbols"], row)), row[count:]) for row in known]
        if len(answer) != len(rows[0][1]):
            return "wrong"
        found = [judge_expression(dim, i, rows) for i, dim in enumerate(answer)]
    else:
        dims = expect.get("inferred", expect["dims"])
        if len(answer) != len(dims):
            return "wrong"
        found = [judge_interval(dim, right) for dim, right in zip(answer, dims)]
    return next((outcome for outcome in ("wrong", "loose") if outcome in found), "right")


def judge_expression(dim, position, rows):
    if isinstance(dim, str) and (dim == "?" or ".." in dim):
        claim = read_claim(dim)
        return "loose" if all(contains(claim, (row[position],) * 2) for _, row in rows) else "wrong"
    try:
        values = [dim if isinstance(dim, int) else evaluate(dim, symbols) for symbols, _ in rows]
    except Unknown:
        return "loose"
    return "right" if values == [row[position] for _, row in rows] else "wrong"


def judge_interval(dim, right):
    right = read_interval(right)
    try:
        claim = read_claim(dim)
    except ValueError:
        # A name or an expression says nothing about the size.
        claim = 0, None
    return "right" if claim == right else "loose" if contains(claim, right) else "wrong"


def read_claim(text):
    """An interval of an answer. Some engines write a bound that no axis reaches instead of none."""
    least, most = read_interval(text)
    return least, None if most is not None and most >= LONGEST else most


def contains(outer, inner):
    return outer[0] <= inner[0] and (outer[1] is None or inner[1] is not None and inner[1] <= outer[1])
