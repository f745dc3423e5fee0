"""Slices: small axes exhaustively, then extremes, axes, ranks, masks, intervals, symbols, and late bounds."""

from random import Random

I32 = (-(2**31), 2**31 - 1)
I64 = (-(2**63), 2**63 - 1)
MASKS = ["begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask", "ellipsis_mask"]


def case(rule, source, op, shape, start, stop, step=None, axes=None, index_type="i64", **more):
    """A Slice; `step` and `axes` may be omitted."""
    found = {"rule": rule, "source": source, "op": op, "shape": list(shape), "index_type": index_type}
    found |= {"start": list(start), "stop": list(stop)}
    if step is not None:
        found["step"] = list(step)
    if axes is not None:
        found["axes"] = list(axes)
    return found | more


def onnx(rule, *rest, version=13, **more):
    return case(rule, f"onnx-slice-{version}", f"onnx.Slice-{version}", *rest, **more)


def strided(rule, shape, begin, end, stride, masks, index_type="i64", **more):
    """A StridedSlice-1."""
    found = {"rule": rule, "source": "openvino-strided-slice-1", "op": "StridedSlice-1", "shape": list(shape)}
    found |= {"index_type": index_type, "begin": list(begin), "end": list(end)}
    if stride is not None:
        found["stride"] = list(stride)
    return found | {name: list(mask) for name, mask in zip(MASKS, masks)} | more


def onnx_slice():
    yield from small_axes()
    yield from older_versions()
    yield from far_bounds()
    yield from onnx_axes()
    yield from onnx_refused()
    for numbers in edges():
        yield onnx("far-stop", *numbers)


def small_axes():
    for size, reach, longest in [(0, 1, 2), (1, 2, 2), (3, 4, 4)]:
        for step in [*range(-longest, 0), *range(1, longest + 1)]:
            for start in range(-reach, reach + 1):
                for stop in range(-reach, reach + 1):
                    backward = step < 0 and start + size < 0
                    rule = "empty-axis" if size == 0 else "backward-start-below" if backward else "clamping"
                    yield onnx(rule, [size], [start], [stop], [step])


def older_versions():
    """Only what the older texts define: they do not say how a start before the axis is clamped backward."""
    for size in (0, 1, 4):
        for start in (-5, -4, -1, 0, 1, 3, 4, 5):
            for stop in (-5, -4, -1, 0, 2, 4, 5):
                yield onnx("clamping", [size], [start], [stop], version=1)
                if start >= -size:
                    for step in (-2, 1, 3):
                        yield onnx("clamping", [size], [start], [stop], [step], version=10)
    yield onnx("omitted-inputs", [2, 3], [0, 1], [-1, 1000], version=1)
    yield onnx("axes", [2, 4], [1, 0], [2, 3], None, [0, 1], version=1)
    yield onnx("axes", [2, 4], [1, 0], [3, 1], None, [1, 0], version=1)
    yield onnx("omitted-inputs", [2, 4], [0, 1], [-1, 1000], version=10)
    yield onnx("axes", [2, 4], [1, 0], [2, 3], [1, 2], [0, 1], version=10)
    yield onnx("axes", [2, 4], [3, -1], [0, -9], [-2, -1], [1, 0], version=10)
    yield onnx("axes", [2, 4], [3, -1], [0, -9], [-2, -1], [-1, -2], version=11)
    for start, stop in ((0, I64[1]), (1, I32[1]), (2, I32[1])):
        yield onnx("far-stop", [4], [start], [stop], version=1)
        yield onnx("far-stop", [4], [start], [stop], [2], version=10)
        yield onnx("far-stop", [4], [start], [stop], [2], version=11)
    for stop in (I32[0], I64[0]):
        yield onnx("far-stop", [4], [3], [stop], [-1], version=11)


def far_bounds():
    for index_type, (least, most) in (("i64", I64), ("i32", I32)):
        far = [least, least + 1, -1000, 1000, most - 1, most]
        if index_type == "i64":
            far += [I32[0], I32[0] - 1, I32[1], I32[1] + 1, 2**32, -(2**32), 2**32 + 2]
        for value in far:
            for step in (-1, 1, -2, 3):
                forward = step > 0
                for size in (1, 5):
                    end = most if forward else least
                    rule = "far-start" if forward or value >= 0 else "backward-start-below"
                    yield onnx(rule, [size], [value], [end], [step], index_type=index_type)
                    first = 0 if forward else size - 1
                    yield onnx("far-stop", [size], [first], [value], [step], index_type=index_type)
            if value:
                end = most if value > 0 else least
                for start in (0, 2, 4):
                    yield onnx("far-step", [5], [start], [end], [value], index_type=index_type)


def edges():
    """Slices that begin on either edge of the axis and go beyond the other: shape, start, stop and step."""
    for size in (1, 2, 5):
        for step in (1, 2):
            for start in (-size - 1, -size, 1 - size):
                for stop in (I32[1], I32[1] + 1, I64[1]):
                    yield [size], [start], [stop], [step]
            for start in (size - 2, size - 1, size, -1):
                for stop in (I32[0], I32[0] - 1, I64[0]):
                    yield [size], [start], [stop], [-step]


def onnx_axes():
    shape = [2, 3, 2]
    for axes in ([0], [2], [-1], [-3], [0, 2], [2, 0], [-1, 1], [1, -3], [0, 1, 2], [2, 1, 0], [-1, 0, -2]):
        for index_type in ("i64", "i32"):
            starts, stops, steps = [1, -1, 0], [9, -9, 2], [1, -1, 1]
            count = len(axes)
            yield onnx("axes", shape, starts[:count], stops[:count], steps[:count], axes, index_type=index_type)
    yield onnx("omitted-inputs", shape, [1], [2])
    yield onnx("omitted-inputs", shape, [1, 0], [2, -1])
    yield onnx("omitted-inputs", shape, [1, 0], [2, -1], None, [2, 1])
    yield onnx("omitted-inputs", shape, [1, 0, -1], [2, -1, -9], [1, 1, -1])
    for dims, numbers, axes in slices_of_all_ranks(Random(1)):
        yield onnx("ranks", dims, *numbers, axes)


def slices_of_all_ranks(random):
    """The dims of the data, then the starts, stops and steps, then their axes."""
    for rank in range(1, 7):
        for _ in range(12):
            dims = [random.choice([1, 2, 2, 3, 4]) for _ in range(rank)]
            if random.random() < 0.2:
                dims[random.randrange(rank)] = 0
            axes = random.sample(range(rank), random.randint(1, rank))
            numbers = [numbers_for(random, dims[axis]) for axis in axes]
            axes = [axis - rank if random.random() < 0.4 else axis for axis in axes]
            yield dims, zip(*numbers), axes


def numbers_for(random, size):
    """A start, a stop and a step near an axis."""
    near = range(-size - 2, size + 3)
    return random.choice(near), random.choice(near), random.choice([-3, -2, -1, -1, 1, 1, 2, 3])


def onnx_refused():
    for version in (11, 13):
        yield onnx("step-0", [4], [0], [2], [0], version=version)
        yield onnx("step-0", [4], [2], [2], [0], version=version)
        yield onnx("step-0", [0], [0], [0], [0], version=version)
        yield onnx("step-0", [2, 4], [0, 0], [2, 2], [1, 0], version=version)
        for axis in (2, -3, 7, I64[1], I64[0]):
            yield onnx("axis-out-of-range", [2, 4], [0], [1], [1], [axis], version=version)
        yield onnx("lengths-differ", [4, 4], [0], [1, 2], version=version)
        yield onnx("lengths-differ", [4, 4], [0, 1], [1, 2], [1], [0, 1], version=version)
        yield onnx("lengths-differ", [4, 4], [0, 1], [1, 2], [1, 1], [0], version=version)
        yield onnx("too-many-entries", [4], [0, 0], [1, 1], [1, 1], version=version)


def openvino_slice():
    """What `slices.jsonl` leaves out: higher ranks, axes of other types, and data without elements."""
    random = Random(2)

    def slice_8(rule, *rest, **more):
        return case(rule, "openvino-slice-8", "Slice-8", *rest, **more)

    examples = [(1, 8, 1), (1, 8, 2), (-100, 100, 1), (9, -11, -1), (9, 0, -1), (9, -10, -1), (9, -11, -2)]
    for start, stop, step in [*examples, (100, -100, -1)]:
        yield slice_8("clamping", [10], [start], [stop], [step])
    yield slice_8("axes", [2, 5], [0, 1], [2, 4], [1, 2], [0, 1])
    for dims, numbers, axes in slices_of_all_ranks(random):
        yield slice_8("ranks", dims, *numbers, axes, index_type=random.choice(["i64", "i32"]))
    for axes in ([I64[0]], [I64[1]], [6], [-4]):
        yield slice_8("axes-refused", [2, 3, 4], [0], [1], [1], axes)
    yield slice_8("lengths-differ", [2, 3], [0, 0], [1], [1, 1])
    yield slice_8("lengths-differ", [2, 3], [0, 0], [1, 1], [1])
    yield slice_8("lengths-differ", [2, 3], [0, 0], [1, 1], [1, 1], [0])
    yield slice_8("step-0", [0], [0], [0], [0])
    yield slice_8("step-0", [2, 3], [0, 0], [1, 1], [1, 0])
    for numbers in edges():
        yield slice_8("extreme-stop", *numbers)


def openvino_strided_slice():
    random = Random(3)
    numbers = [0, 1, 0, 1, 3, 3], [4, 4, 4, 4, 0, 0], [1, 1, 2, 2, -1, -2]
    yield strided("basic", [4] * 6, *numbers, [[0] * 6] * 2 + [[]] * 3)
    yield strided("begin-end-mask", [2, 3, 4], [0, 0, 0], [2, 2, -1], [1, 1, 1], [[0] * 3] * 2 + [[]] * 3)
    for rank in range(7):
        for _ in range(40):
            dims = [random.choice([1, 2, 2, 3, 4]) for _ in range(rank)]
            if rank and random.random() < 0.1:
                dims[random.randrange(rank)] = 0
            yield random_strided(random, dims)


def random_strided(random, dims):
    """Entries for some axes, with new axes and at most one ellipsis among them."""
    taken = random.randint(0, len(dims))
    kinds = [random.choice(["range", "range", "range", "one"]) for _ in range(taken)]
    for _ in range(random.choice([0, 0, 1, 2])):
        kinds.insert(random.randint(0, len(kinds)), "new")
    has_ellipsis = random.random() < 0.4
    if has_ellipsis:
        kinds.insert(random.randint(0, len(kinds)), "ellipsis")
    # The axes after an ellipsis are the last ones.
    skipped, axis, numbers = len(dims) - taken, 0, []
    for kind in kinds:
        size = dims[axis] if axis < len(dims) and kind in ("range", "one") else 3
        start, stop, step = numbers_for(random, size)
        if kind == "one" and size:
            start = random.randrange(-size, size)
            stop, step = start + 1, 1
        numbers.append((start, stop, step))
        axis += 1 if kind in ("range", "one") else skipped if kind == "ellipsis" else 0
    # The text does not say what a masked begin means for a shrunk axis.
    bits = [[int(random.random() < 0.25 and kind != "one") for kind in kinds] for _ in range(2)]
    for name in ("new", "one", "ellipsis"):
        bits.append([int(kind == name) for kind in kinds])
    # A mask may be absent if it has no bits.
    bits[2:] = [mask if any(mask) or random.random() < 0.5 else [] for mask in bits[2:]]
    begin, end, stride = ([entry[i] for entry in numbers] for i in range(3))
    rule = "ellipsis" if has_ellipsis else "new-axis" if "new" in kinds else "shrink" if "one" in kinds else "ranks"
    index_type = random.choice(["i64", "i32"])
    return strided(rule, dims, begin, end, stride, bits, index_type=index_type)


RANGES = [
    *[(0, 3, 1), (1, -1, 1), (-3, I64[1], 1), (2, I64[1], 2), (-1, I64[0], -1), (-2, 1, -1), (5, 2, -1)],
    *[(-4, -1, 2), (I64[1], I64[0], -3), (1, 7, 3), (-6, -2, 1), (4, -5, 1)],
]


def intervals():
    sizes = ["?", "1..", "4..", "..3", "2..5", "7..7", "..100", "3..4", "0..0", "12.."]
    for size in sizes:
        for start, stop, step in RANGES:
            yield case("interval", "openvino-slice-8", "Slice-8", [size], [start], [stop], [step])
    random = Random(4)
    for rank in (2, 3, 4):
        for _ in range(12):
            shape = [random.choice(sizes + [1, 2, 3]) for _ in range(rank)]
            shape[random.randrange(rank)] = random.choice(sizes)
            axes = random.sample(range(rank), random.randint(1, rank))
            numbers = [random.choice(RANGES) for _ in axes]
            yield case("interval-axes", "openvino-slice-8", "Slice-8", shape, *zip(*numbers), axes)
    for size in sizes:
        for bits in ((1, 0), (0, 1), (1, 1)):
            for start, stop, step in [(2, -2, 1), (-3, 1, -1), (1, 5, 2), (-1, -4, -3)]:
                masks = [[bits[0]], [bits[1]], [], [], []]
                yield strided("interval-masked", [size], [start], [stop], [step], masks)
    for shape in (["?", 3, "2..5"], ["1..4", "?", 2]):
        for at in range(3):
            ellipsis = [int(i == at) for i in range(3)]
            shrink = [int(i == (at + 1) % 3) for i in range(3)]
            new_axis = [int(i == (at + 2) % 3) for i in range(3)]
            for masks in ([ellipsis, []], [ellipsis, new_axis], [[], new_axis]):
                numbers = [0, 1, 0], [1, 2, 1], [1, 1, 1]
                yield strided("interval-ellipsis", shape, *numbers, [[0] * 3, [0] * 3, masks[1], shrink, masks[0]])


def symbols():
    for start, stop, step in [*RANGES, (0, I64[1], 1), (0, I64[1], 3), (1, I64[1], 4), (-1, I64[0], -2), (0, -1, 2),
                              (0, -3, 1), (3, -3, 1), (-2, -5, -1), (I64[0], I64[1], 1), (0, I32[1], 1), (1, I32[1], 2),
                              (-1, I32[0], -1), (0, 2**31, 1), (0, 2**32 + 1, 1), (-5, -2, 1), (2, 2, 1), (6, -6, -2)]:
        yield onnx("symbol", ["N"], [start], [stop], [step])
        yield onnx("symbol-axes", [2, "N"], [start], [stop], [step], [-1])
    for first in RANGES[:6]:
        for second in RANGES[4:8]:
            yield onnx("two-symbols", ["N", "M"], *zip(first, second))
            yield onnx("repeated-symbol", ["N", "N"], *zip(first, second))


def run_time():
    data = [([5], [5]), (["?"], [5]), (["?"], [0]), (["?"], [1])]
    inputs = [["start"], ["stop"], ["step"], ["start", "stop"], ["start", "stop", "step"]]
    for declared, sizes in data:
        for late in inputs:
            for start, stop, step in RANGES + [(-9, -12, -1), (-9, 3, 1)]:
                more = {"at_run_time": late, "sizes": sizes}
                yield onnx("late-bounds", declared, [start], [stop], [step], [0], **more)
        for start, stop, step in RANGES:
            yield onnx("late-size", declared, [start], [stop], [step], [0], at_run_time=[], sizes=sizes)
    for sizes in ([2, 3], [3, 2], [0, 2], [1, 1]):
        for axes in ([0], [1], [-1]):
            for late in (["axes"], ["stop", "axes"]):
                more = {"at_run_time": late, "sizes": sizes}
                yield onnx("late-axes", ["?", "?"], [1], [3], [1], axes, **more)
    for late in (["step"], ["start", "stop", "step"]):
        yield onnx("step-0", [4], [0], [2], [0], [0], at_run_time=late, sizes=[4])
    yield onnx("axis-out-of-range", [4], [0], [2], [1], [1], at_run_time=["axes"], sizes=[4])
    for declared, sizes in data:
        for late in (["start"], ["stop"], ["step"], ["start", "stop"]):
            for start, stop, step in RANGES[::2]:
                more = {"at_run_time": late, "sizes": sizes}
                yield case("late-bounds", "openvino-slice-8", "Slice-8", declared, [start], [stop], [step], [0], **more)
                names = [{"start": "begin", "stop": "end", "step": "stride"}[name] for name in late]
                for bits in ((0, 0), (1, 0), (0, 1)):
                    masks, more = [[bits[0]], [bits[1]], [], [], []], {"at_run_time": names, "sizes": sizes}
                    yield strided("late-bounds", declared, [start], [stop], [step], masks, **more)
