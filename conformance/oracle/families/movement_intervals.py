"""Intervals of sizes for the operations of OpenVINO that move elements."""

from ..movement import is_defined

PAGES = {"Broadcast-3": "openvino-broadcast-3", "Concat-1": "openvino-concat-1", "Gather-8": "openvino-gather-8",
         "Pad-12": "openvino-pad-12", "Reshape-1": "openvino-reshape-1", "VariadicSplit-1": "openvino-variadic-split-1"}
SIZES = ["?", "1..", "4..", "..3", "2..5", "0..0", "3..4"]


def movement_intervals():
    return filter(is_defined, questions())


def case(op, **more):
    return {"rule": "interval", "source": PAGES[op], "op": op} | more


def questions():
    for one in SIZES:
        for other in ["?", "1..2", 3]:
            yield case("Concat-1", shapes=[[one], [other]], axis=0)
            # The sizes beside the axis are equal.
            yield case("Concat-1", shapes=[[one, 2], [other, 1]], axis=-1)
        for to in ([-1], [0, -1], [-1, 2], [2, -1], [0, 2, 2], [-1, 4], [1, -1, 4], [0, 4], [4, 0], [2, 4], [-1, 3]):
            yield case("Reshape-1", shape=[one, 4], to=to)
        for lengths in ([1, 2], [2, 2], [0, 4], [1, 1, 1]):
            for output in range(len(lengths)):
                more = {"split": lengths, "parts": len(lengths), "output": output}
                yield case("VariadicSplit-1", shape=[2, one], axis=1, **more)
        for index, dims in (([0], []), ([0, 1, 1], [3]), ([0] * 4, [2, 2])):
            for axis in (0, -1):
                yield case("Gather-8", shape=[one, 3], axis=axis, index=index, index_shape=dims)
        for pads in ([0, 0], [1, 2], [-1, 0], [0, -2], [-1, -1], [3, -1]):
            yield case("Pad-12", shape=[one, 2], pads=[pads[0], 0, pads[1], 1], mode="constant")
        for mode in ("reflect", "edge"):
            yield case("Pad-12", shape=[one, 2], pads=[2, 0, 1, 0], mode=mode)
        for to in ([1], [3], [2, 1, 1], [2, 3]):
            yield case("Broadcast-3", shape=[one], to=to)
            yield case("Broadcast-3", shape=[one, 1], to=to)
