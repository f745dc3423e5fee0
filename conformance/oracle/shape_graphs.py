"""Targets and bounds that the model computes from the sizes of its data."""

from itertools import product

from . import movement, slices
from .slices import Refused, is_interval


def is_computed(case):
    return any(isinstance(item, dict) for value in case.values() if isinstance(value, list) for item in value)


def known(case, dims):
    """The case with numbers for all computed entries."""

    def number(item):
        if not isinstance(item, dict):
            return item
        return dims[item["axis"]] * item.get("times", 1) // item.get("over", 1) + item.get("plus", 0)

    return {key: [number(item) for item in value] if isinstance(value, list) else value for key, value in case.items()}


def answer(case, dims):
    if case["op"].startswith("onnx.Slice"):
        return slices.select(known(case, dims), dims)
    return movement.answer(known(case, dims), [dims])


def expected(case):
    shape = case.get("sizes", case["shape"])
    names = list(dict.fromkeys(size for size in shape if not is_interval(size)))
    if not names:
        dims, indices = answer(case, shape)
        return {"dims": dims, "indices": indices}
    rows = []
    for values in product(range(9 if len(names) == 1 else 5), repeat=len(names)):
        at = dict(zip(names, values))
        try:
            dims, _ = answer(case, [at.get(size, size) for size in shape])
        except (Refused, movement.Undefined):
            continue
        rows.append([*values, *dims])
    return {"symbols": names, "at": rows}
