"""Reshape, Expand and Slice whose target or bounds are computed from the sizes of the data."""

from ..movement import Undefined
from ..shape_graphs import expected
from ..slices import Refused


def size(axis, **more):
    return {"axis": axis} | more


def shape_graphs():
    targets = [[size(0), -1], [-1, size(1)], [size(1), size(0)], [size(0, times=2), -1], [size(1, over=2), -1],
               [size(0), 2, size(1, over=2)], [size(0), size(1, plus=0)], [1, size(0), size(1)]]
    bounds = [(0, size(0, plus=-1)), (size(0, over=2), 2**63 - 1), (0, size(0, over=2)), (size(0, plus=-3), size(0)),
              (1, size(1)), (size(1, plus=-2), size(0, plus=1)), (size(0, times=-1), size(0, over=3))]
    for shape in ([4, 6], [2, 2], [0, 2], [1, 4], ["N", 4], [4, "N"], ["N", "M"], ["N", "N"]):
        declared = [(shape, {})]
        if shape == [4, 6]:
            declared.append((["?", "?"], {"sizes": shape}))
        for sizes, more in declared:
            for to in targets:
                yield from defined({"op": "onnx.Reshape-14", "shape": sizes, "to": to} | more)
            for to in ([size(0), 1, 1], [2, size(0), size(1)], [size(1, over=4), 1, 1]):
                yield from defined({"op": "onnx.Expand-13", "shape": sizes, "to": to} | more)
            for start, stop in bounds:
                lists = {"start": [start], "stop": [stop], "step": [1], "axes": [0]}
                yield from defined({"op": "onnx.Slice-13", "shape": sizes, "index_type": "i64"} | lists | more)
            lists = {"start": [size(0, plus=-1)], "stop": [-(2**63)], "step": [-2], "axes": [0]}
            yield from defined({"op": "onnx.Slice-13", "shape": sizes, "index_type": "i64"} | lists | more)


def defined(case):
    """The case, unless it has no answer."""
    try:
        if expected(case).get("at") == []:
            return
    except (Refused, Undefined):
        return
    operator, version = case["op"].removeprefix("onnx.").lower().split("-")
    yield {"rule": "computed", "source": f"onnx-{operator}-{version}"} | case
