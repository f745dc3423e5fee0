"""Reshape, Concat, Split, Gather, Pad and Expand of ONNX, and the same of OpenVINO for intervals of sizes: dims, and the
position of each element in the data.
"""

from itertools import product
from math import ceil, prod

from .axis import interval_text, read_interval
from .slices import Refused, is_interval

# Values of each name in a table.
TABLE = range(8)
# An open interval is enumerated to this many sizes after its least one. A dim grows with it by its first half, or never.
OPEN = 16


class Undefined(Exception):
    """The text does not say what the answer is."""


def shapes_of(case):
    """The shapes of the data inputs. Their elements are numbered on from input to input."""
    return case.get("shapes") or [case["shape"]]


def run_shapes(case):
    """The shapes of a run."""
    if "sizes" not in case:
        return shapes_of(case)
    return case["sizes"] if "shapes" in case else [case["sizes"]]


def expected(case):
    names = list(dict.fromkeys(size for shape in shapes_of(case) for size in shape if not is_interval(size)))
    try:
        if names:
            return {"symbols": names, "at": table(case, names)}
        if "sizes" not in case and any(isinstance(size, str) for shape in shapes_of(case) for size in shape):
            return {"dims": inferred(case)}
        dims, indices = answer(case, run_shapes(case))
    except Refused as refused:
        return {"refused": "run" if case.get("at_run_time") else refused.args[0]}
    return {"dims": dims, "indices": indices}


def table(case, names):
    """Rows for all values with an answer."""
    rows = []
    for values in product(TABLE, repeat=len(names)):
        at = dict(zip(names, values))
        try:
            dims, _ = answer(case, [[at.get(size, size) for size in shape] for shape in shapes_of(case)])
        except (Refused, Undefined):
            continue
        rows.append([*values, *dims])
    if not rows:
        raise Undefined
    return rows


def inferred(case):
    """The smallest interval of each dim, over all sizes that are not refused."""
    sizes = [read_interval(size) for shape in shapes_of(case) for size in shape]
    found = {False: [], True: []}
    for values in product(*(range(least, (least + OPEN if most is None else most) + 1) for least, most in sizes)):
        rest = iter(values)
        try:
            dims, _ = answer(case, [[next(rest) for _ in shape] for shape in shapes_of(case)])
        except Refused:
            continue
        is_late = any(most is None and at > least + OPEN // 2 for at, (least, most) in zip(values, sizes))
        found[is_late].append(dims)
    if not found[False]:
        raise Refused("infer") if not found[True] else Undefined
    intervals = []
    for early, all_sizes in zip(zip(*found[False]), zip(*found[False], *found[True])):
        is_open = max(all_sizes) > max(early)
        intervals.append(interval_text(min(all_sizes), None if is_open else max(all_sizes)))
    return intervals


def is_defined(case):
    """Whether the text says what the answer of a case is."""
    try:
        expected(case)
    except Undefined:
        return False
    return True


def answer(case, shapes):
    operator = case["op"].removeprefix("onnx.").split("-")[0].lower()
    return OPERATORS[operator](case, shapes)


def axis_of(case, rank):
    if not -rank <= case["axis"] < rank:
        raise Refused("infer")
    return case["axis"] % rank


def position(index, dims):
    """The row-major position of an index."""
    found = 0
    for at, dim in zip(index, dims):
        found = found * dim + at
    return found


def each_index(dims):
    return product(*map(range, dims))


def reshape(case, shapes):
    (dims,), to = shapes, case["to"]
    found = []
    for i, size in enumerate(to):
        if size == 0 and not case.get("allowzero"):
            if i >= len(dims):
                raise Refused("infer")
            size = dims[i]
        found.append(size)
    if to.count(-1) > 1 or case.get("allowzero") and -1 in to and 0 in to:
        raise Refused("infer")
    if -1 in found:
        rest = prod(size for size in found if size != -1)
        if rest == 0:
            raise Undefined
        if prod(dims) % rest:
            raise Refused("infer")
        found[found.index(-1)] = prod(dims) // rest
    if prod(found) != prod(dims):
        raise Refused("infer")
    return found, list(range(prod(dims)))


def concat(case, shapes):
    rank = len(shapes[0])
    axis = axis_of(case, rank)
    if any(len(shape) != rank for shape in shapes):
        raise Refused("infer")
    rest = [shape[:axis] + shape[axis + 1 :] for shape in shapes]
    if any(other != rest[0] for other in rest):
        raise Refused("infer")
    dims = list(shapes[0])
    dims[axis] = sum(shape[axis] for shape in shapes)
    found = []
    for index in each_index(dims):
        at, first, source = index[axis], 0, 0
        while at >= shapes[source][axis]:
            at -= shapes[source][axis]
            first += prod(shapes[source])
            source += 1
        found.append(first + position((*index[:axis], at, *index[axis + 1 :]), shapes[source]))
    return dims, found


def split(case, shapes):
    (dims,), axis = shapes, axis_of(case, len(shapes[0]))
    size, parts = dims[axis], case["parts"]
    lengths = case.get("split")
    if lengths is None:
        chunk = ceil(size / parts)
        last = size - chunk * (parts - 1)
        is_even = last == chunk
        if not is_even and case["op"] == "onnx.Split-13":
            raise Refused("infer")
        if not is_even and last <= 0:
            raise Undefined
        lengths = [chunk] * (parts - 1) + [last]
    if len(lengths) != parts or min(lengths) < 0 or sum(lengths) != size:
        raise Refused("infer")
    first = sum(lengths[: case["output"]])
    found = list(dims)
    found[axis] = lengths[case["output"]]
    moved = ([*index[:axis], index[axis] + first, *index[axis + 1 :]] for index in each_index(found))
    return found, [position(index, dims) for index in moved]


def gather(case, shapes):
    (dims,), axis = shapes, axis_of(case, len(shapes[0]))
    if not all(-dims[axis] <= at < dims[axis] for at in case["index"]):
        # Shapes do not depend on it, so inference need not look.
        raise Refused("run")
    shape = case["index_shape"]
    found = dims[:axis] + shape + dims[axis + 1 :]
    positions = []
    for index in each_index(found):
        at = case["index"][position(index[axis : axis + len(shape)], shape)] % dims[axis]
        positions.append(position((*index[:axis], at, *index[axis + len(shape) :]), dims))
    return found, positions


def pad(case, shapes):
    (dims,), pads, mode = shapes, case["pads"], case.get("mode", "constant")
    axes = case.get("axes", list(range(len(dims))))
    if len(pads) != 2 * len(axes) or any(not -len(dims) <= axis < len(dims) for axis in axes):
        raise Refused("infer")
    before, after = [0] * len(dims), [0] * len(dims)
    for i, axis in enumerate(axes):
        before[axis], after[axis] = pads[i], pads[len(axes) + i]
    sources = [padded(*numbers, mode) for numbers in zip(dims, before, after)]
    found = []
    for index in product(*sources):
        found.append(-1 if None in index else position(index, dims))
    return [len(source) for source in sources], found


def padded(size, before, after, mode):
    """For each element of a padded axis, its element in the data; `None` is padding."""
    # The texts do not say whether elements are removed before others are mirrored, or what follows if none are left.
    if min(before, after) + size < 0 or size + before + after < 0:
        raise Undefined
    left = size + min(before, 0) + min(after, 0)
    if mode != "constant" and min(before, after) < 0 and (left <= 0 or max(before, after) > 0):
        raise Undefined
    found = []
    for at in range(-before, size + after):
        if not 0 <= at < size and mode == "constant":
            found.append(None)
            continue
        if mode == "edge":
            at = min(max(at, 0), size - 1)
        if mode == "reflect":
            at = -at if at < 0 else 2 * (size - 1) - at if at >= size else at
        if not 0 <= at < size:
            raise Undefined
        found.append(at)
    return found


def expand(case, shapes):
    (dims,), to = shapes, case["to"]
    rank = max(len(dims), len(to))
    own = [1] * (rank - len(dims)) + dims
    found = []
    for one, other in zip(own, [1] * (rank - len(to)) + to):
        if 1 not in (one, other) and one != other:
            raise Refused("infer")
        found.append(other if one == 1 else one)
    positions = []
    for index in each_index(found):
        positions.append(position([0 if dim == 1 else at for at, dim in zip(index, own)], own))
    return found, positions


OPERATORS = {"reshape": reshape, "concat": concat, "split": split, "gather": gather, "pad": pad, "expand": expand,
             "broadcast": expand, "variadicsplit": split}
