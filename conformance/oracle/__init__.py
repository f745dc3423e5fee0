"""The answers of the suite, found by enumeration. Nothing here depends on an engine."""

from . import movement, shape_graphs, slices
from .slices import Refused


def answer(case):
    """The keys `expect` and `dialects` of a case."""
    if shape_graphs.is_computed(case):
        return {"expect": shape_graphs.expected(case)}
    if "Slice-" not in case["op"]:
        return {"expect": movement.expected(case)}
    try:
        expect = expected_slice(case)
    except Refused as refused:
        return {"expect": {"refused": refused.args[0]}}
    numpy = numpy_slice(case, expect) if case["op"] != "Slice-8" else expect
    if all(numpy[key] == expect[key] for key in numpy):
        return {"expect": expect}
    return {"expect": expect, "dialects": {"numpy": numpy}}


def expected_slice(case):
    if slices.symbols_of(case):
        return {"symbols": slices.symbols_of(case), "at": slices.table(case)}
    if "sizes" in case:
        found = slices.static(case, case["sizes"])
        # Nobody can know earlier that a value given at run time is wrong.
        return {"refused": "run"} if "refused" in found else {**found, "inferred": slices.inferred(case)}
    if all(isinstance(size, int) for size in case["shape"]):
        return slices.static(case, case["shape"])
    return {"dims": slices.inferred(case)}


def numpy_slice(case, expect):
    """The answers that Python's rule changes."""
    if "at" in expect:
        return {"at": slices.table(case, slices.python_walk)}
    if "indices" in expect:
        return slices.static(case, case.get("sizes", case["shape"]), slices.python_walk)
    return {}
