"""Cases of the operators that move elements, in the dialect of ONNX."""

from itertools import product
from random import Random

from ..movement import expected, is_defined


def case(rule, operator, version, **more):
    """A case. Its source is the page of the operator in this version."""
    return {"rule": rule, "source": f"onnx-{operator.lower()}-{version}", "op": f"onnx.{operator}-{version}"} | more


def defined(family):
    """The cases of a family that the text defines."""
    return lambda: filter(is_defined, family())


def reshape():
    refused = 0
    for question in targets():
        # Most targets do not fit; every fourth of these is enough.
        refused += "refused" in expected(question)
        if "refused" not in expected(question) or refused % 4 == 1:
            yield question
    yield from reshape_late_and_symbols()


def targets():
    """Many targets for a few shapes."""
    shapes = [[], [1], [4], [0], [2, 3], [0, 3], [2, 0, 2], [1, 1, 6]]
    random = Random(5)
    for shape in shapes:
        targets = [list(to) for length in range(3) for to in product([-1, 0, 1, 2, 3, 6], repeat=length)]
        targets += [random.choices([-1, 0, 1, 2, 3, 4], k=3) for _ in range(12)]
        for to in targets:
            found = [case("target", "Reshape", 13, shape=shape, to=to)]
            if 0 in to:
                found.append(case("allow-zero", "Reshape", 14, shape=shape, to=to, allowzero=1))
            yield from filter(is_defined, found)


def reshape_late_and_symbols():
    for shape, to in [([2, 3, 4], [4, 2, 3]), ([2, 3, 4], [2, 12]), ([2, 3, 4], [0, 0, -1]), ([1] * 6, [-1]),
                      ([2, 3, 2, 1, 1, 2], [0, -1, 2]), ([24], [1, 2, 3, 4, 1, 1])]:
        yield case("target", "Reshape", 14, shape=shape, to=to)
        yield case("late-target", "Reshape", 14, shape=shape, to=to, at_run_time=["to"], sizes=shape)
        open_shape = ["?"] * len(shape)
        yield case("late-target", "Reshape", 14, shape=open_shape, to=to, at_run_time=["to"], sizes=shape)
    for to in [[-1], [0, -1], [-1, 2], [-1, 4], [0, 2, 2], [2, -1], [0, 2, -1], [1, -1, 4], [4, -1], [-1, 1, 2]]:
        yield case("symbol", "Reshape", 14, shape=["N", 4], to=to)
        yield case("symbol", "Reshape", 14, shape=[2, "N", 2], to=to)
        yield case("two-symbols", "Reshape", 14, shape=["N", "M", 4], to=to)
    for to in [[0, 0], [-1, 0], [0, -1], [-1], [0, 0, 1], [1, 0, -1], [0, 1, -1]]:
        yield case("two-symbols", "Reshape", 14, shape=["N", "M"], to=to)
        yield case("repeated-symbol", "Reshape", 14, shape=["N", "N"], to=to)


def concat():
    for first, second, third in product([0, 1, 2], repeat=3):
        yield case("sizes", "Concat", 13, shapes=[[first], [second], [third]], axis=0)
        yield case("sizes", "Concat", 13, shapes=[[2, first], [2, second], [2, third]], axis=-1)
    random = Random(6)
    for rank in range(1, 7):
        for _ in range(6):
            dims = [random.choice([1, 2, 2, 3]) for _ in range(rank)]
            axis = random.randrange(-rank, rank)
            shapes = []
            for _ in range(random.randint(1, 3)):
                shapes.append(list(dims))
                shapes[-1][axis] = random.choice([0, 1, 2])
            yield case("ranks", "Concat", 13, shapes=shapes, axis=axis)
    for axis in (-3, 2, 5):
        yield case("axis-out-of-range", "Concat", 13, shapes=[[1, 2], [1, 2]], axis=axis)
    for other in ([2, 2], [1, 3], [1], [1, 2, 1], [0, 2], [0, 0]):
        for axis in (0, 1):
            yield case("sizes-differ", "Concat", 13, shapes=[[1, 2], other], axis=axis)
    for shapes in ([["N"], ["M"]], [["N"], ["N"]], [["N"], [3]], [[2], ["N"], [1]], [["N"], ["M"], ["N"]]):
        yield case("symbol", "Concat", 13, shapes=shapes, axis=0)
        yield case("symbol", "Concat", 13, shapes=[[2, *shape, 3] for shape in shapes], axis=-2)
    yield case("equal-sizes", "Concat", 13, shapes=[["N", 2], [3, 2]], axis=1)
    yield case("equal-sizes", "Concat", 13, shapes=[["N", 2], ["N", 1]], axis=1)
    yield case("equal-sizes", "Concat", 13, shapes=[["N", 2, "M"], ["N", "M", "M"]], axis=1)


def split():
    for size, parts in product([0, 1, 2, 3, 4, 6, 7], [1, 2, 3]):
        for output in range(parts):
            yield case("equal-parts", "Split", 13, shape=[size], axis=0, parts=parts, output=output)
            more = {"num_outputs": parts, "parts": parts, "output": output}
            yield case("last-part-smaller", "Split", 18, shape=[2, size], axis=-1, **more)
    for lengths in ([1, 4], [0, 5], [5, 0], [2, 1, 2], [5], [0, 0, 5], [2, 2], [3, 3], [6, -1]):
        for output in range(len(lengths)):
            for axis, shape in ((0, [5]), (1, [2, 5]), (-2, [5, 2])):
                more = {"split": lengths, "parts": len(lengths), "output": output}
                yield case("lengths", "Split", 13, shape=shape, axis=axis, **more)
    for axis in (-3, 2):
        yield case("axis-out-of-range", "Split", 13, shape=[2, 4], axis=axis, parts=2, output=0)
    for parts in (2, 3):
        for output in range(parts):
            yield case("symbol", "Split", 13, shape=["N"], axis=0, parts=parts, output=output)
            more = {"num_outputs": parts, "parts": parts, "output": output}
            yield case("symbol", "Split", 18, shape=["N"], axis=0, **more)
            yield case("symbol", "Split", 13, shape=["N", 6], axis=1, parts=parts, output=output)


def gather():
    ranges = [[0, 1, 2], [2, 1, 0], [0, 2], [-1], [-3, -2, -1], [-1, -2, -3], [1], [], [1, 1], [2, 0, 2, -3]]
    for index in ranges:
        yield case("index", "Gather", 13, shape=[3], axis=0, index=index, index_shape=[len(index)])
        for axis in (0, 1, -1, -2):
            yield case("index", "Gather", 13, shape=[3, 3], axis=axis, index=index, index_shape=[len(index)])
    for axis in (0, 1, 2):
        yield case("index-rank", "Gather", 13, shape=[2, 2, 2], axis=axis, index=[1], index_shape=[])
        yield case("index-rank", "Gather", 13, shape=[2, 2, 2], axis=axis, index=[-1, 0, 1, 1], index_shape=[2, 2])
        yield case("index-rank", "Gather", 13, shape=[2, 2, 2], axis=axis, index=[], index_shape=[0, 2])
        yield case("index-rank", "Gather", 13, shape=[2, 2, 2], axis=axis, index=[0], index_shape=[1, 1, 1])
    for index in (3, -4, 2**31 - 1, -(2**31), 2**32, 2**63 - 1, -(2**63)):
        for late in ([], ["index"]):
            more = {"at_run_time": late, "sizes": [3, 2]} if late else {}
            more |= {"index": [0, index], "index_shape": [2]}
            yield case("index-out-of-range", "Gather", 13, shape=[3, 2], axis=0, **more)
    yield case("index-out-of-range", "Gather", 13, shape=[0], axis=0, index=[0], index_shape=[1])
    for axis in (-3, 2):
        yield case("axis-out-of-range", "Gather", 13, shape=[3, 2], axis=axis, index=[0], index_shape=[1])
    for index, index_shape in [([0, -1], [2]), ([0], []), ([2, 1, 0, 0], [2, 2])]:
        more = {"at_run_time": ["index"], "sizes": [3, 2], "index": index, "index_shape": index_shape}
        yield case("late-index", "Gather", 13, shape=[3, 2], axis=0, **more)
        yield case("late-index", "Gather", 13, shape=["?", "?"], axis=0, **more)
        yield case("symbol", "Gather", 13, shape=["N", 3, "M"], axis=1, index=index, index_shape=index_shape)


def pad():
    for size, before, after in product([0, 1, 3], [-3, -1, 0, 1, 2], [-3, -1, 0, 1, 2]):
        for mode in ("constant", "reflect", "edge"):
            yield case(mode, "Pad", 13, shape=[size], pads=[before, after], mode=mode)
    random = Random(7)
    for rank in range(1, 7):
        for _ in range(8):
            dims = [random.choice([2, 2, 3]) for _ in range(rank)]
            pads = [random.choice([-1, 0, 0, 0, 1]) for _ in range(2 * rank)]
            mode = random.choice(["constant", "constant", "edge", "reflect"])
            yield case("ranks", "Pad", 13, shape=dims, pads=pads, mode=mode)
    for axes in ([0], [1], [-1], [1, 0], [-3, 2]):
        pads = [1, 2, 0, 1][: 2 * len(axes)]
        yield case("axes", "Pad", 18, shape=[2, 1, 2], pads=pads, axes=axes, mode="constant")
    for axes in ([3], [-4]):
        yield case("axis-out-of-range", "Pad", 18, shape=[2, 1, 2], pads=[1, 1], axes=axes, mode="constant")
    for pads in ([1], [1, 1, 1], [], [1] * 6):
        yield case("lengths-differ", "Pad", 13, shape=[2, 2], pads=pads, mode="constant")
    for pads in ([1, 2], [0, 0], [-1, 0], [0, -2], [-1, -1], [3, -1]):
        yield case("symbol", "Pad", 13, shape=["N"], pads=pads, mode="constant")
        yield case("symbol", "Pad", 13, shape=["N", "M"], pads=[pads[0], 0, pads[1], 1], mode="constant")
        for shape in (["?"], [4]):
            more = {"at_run_time": ["pads"], "sizes": [4]}
            yield case("late-pads", "Pad", 13, shape=shape, pads=pads, mode="constant", **more)


def expand():
    shapes = [[], [1], [3], [0], [1, 1], [2, 1], [1, 3], [2, 0]]
    for shape in shapes:
        for to in ([], [1], [3], [0], [2], [1, 1], [2, 1], [1, 3], [2, 3], [1, 0], [2, 1, 3], [0, 1], [2, 2, 1, 1]):
            yield case("broadcast", "Expand", 13, shape=shape, to=to)
    for shape, to in [([2, 1, 2, 1, 1, 1], [1, 3, 1, 1, 2, 1]), ([1, 2], [1, 1, 1, 2, 1, 1]), ([2, 1, 3], [2, 1])]:
        yield case("broadcast", "Expand", 13, shape=shape, to=to)
        for declared in (shape, ["?"] * len(shape)):
            yield case("late-target", "Expand", 13, shape=declared, to=to, at_run_time=["to"], sizes=shape)
    for to in ([1], [1, 1], [3, 1], [2, 1, 1], []):
        yield case("symbol", "Expand", 13, shape=["N"], to=to)
        yield case("symbol", "Expand", 13, shape=["N", 1], to=to)
        yield case("two-symbols", "Expand", 13, shape=["N", 1, "M"], to=to)
    # The target must fit, so the size is known.
    yield case("equal-sizes", "Expand", 13, shape=["N"], to=[0])


FAMILIES = {function.__name__: defined(function) for function in (reshape, concat, split, gather, pad, expand)}
