"""Slices of all dialects: which entry of the index inputs belongs to which axis, and what is refused."""

from itertools import permutations, product

from .axis import LONGEST, hull, interval_text, python_walk, read_interval, walk

MASKS = ["begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask", "ellipsis_mask"]


class Refused(Exception):
    """The case has no answer. The argument is `"infer"` or `"run"`: the earliest time at which this is known."""


def index_inputs(case):
    """The names of the index inputs `start`, `stop`, `step`, `axes` of this operation."""
    if case["op"] == "StridedSlice-1":
        return ["begin", "end", "stride"]
    return ["start", "stop", "step", "axes"]


class Entry:
    """The slice of one axis of the data. A bound `None` is masked."""

    def __init__(self, axis, start, stop, step, is_single=False):
        self.axis, self.start, self.stop, self.step, self.is_single = axis, start, stop, step, is_single

    def select(self, size, rule):
        if not self.is_single:
            return rule(size, self.start, self.stop, self.step)
        index = self.start + size if self.start < 0 else self.start
        if not 0 <= index < size:
            raise Refused("run")
        return [index]


def resolve(case, rank):
    """The sliced axes, and for each axis of the output, its axis in the data; `None` for a new axis."""
    names = index_inputs(case)
    start, stop = case[names[0]], case[names[1]]
    step = case.get(names[2], [1] * len(start))
    if not len(start) == len(stop) == len(step):
        raise Refused("infer")
    if case["op"] == "StridedSlice-1":
        return resolve_masks(case, rank, start, stop, step)
    axes = case.get("axes", list(range(len(start))))
    if len(axes) != len(start) or 0 in step or any(not -rank <= axis < rank for axis in axes):
        raise Refused("infer")
    # A Slice-8 needs data of rank 1 or more, even without entries.
    if case["op"] == "Slice-8" and rank == 0:
        raise Refused("infer")
    axes = [axis % rank for axis in axes]
    if len(set(axes)) < len(axes):
        raise Refused("infer")
    return [Entry(*entry) for entry in zip(axes, start, stop, step)], list(range(rank))


def resolve_masks(case, rank, start, stop, step):
    masks = [case[name] for name in MASKS]
    if any(mask and len(mask) != len(masks[0]) for mask in masks) or sum(masks[4]) > 1:
        raise Refused("infer")

    def is_set(mask, i):
        return i < len(masks[mask]) and masks[mask][i] == 1

    kinds = []
    for i in range(len(start)):
        kinds.append("ellipsis" if is_set(4, i) else "new" if is_set(2, i) else "one" if is_set(3, i) else "range")
    taken = sum(kind in ("one", "range") for kind in kinds)
    if taken > rank:
        raise Refused("infer")
    entries, outputs, axis = [], [], 0
    for i, kind in enumerate(kinds):
        if kind == "ellipsis":
            outputs += range(axis, axis + rank - taken)
            axis += rank - taken
        elif kind == "new":
            outputs.append(None)
        elif kind == "one":
            entries.append(Entry(axis, start[i], None, 1, is_single=True))
            axis += 1
        else:
            if step[i] == 0:
                raise Refused("infer")
            first, past = None if is_set(0, i) else start[i], None if is_set(1, i) else stop[i]
            entries.append(Entry(axis, first, past, step[i]))
            outputs.append(axis)
            axis += 1
    return entries, outputs + list(range(axis, rank))


def select(case, dims, rule=walk):
    """The dims of the output, and the row-major position of each of its elements in the data."""
    entries, outputs = resolve(case, len(dims))
    kept = [list(range(dim)) for dim in dims]
    for entry in entries:
        kept[entry.axis] = entry.select(dims[entry.axis], rule)
    positions = []
    for index in product(*kept):
        position = 0
        for dim, at in zip(dims, index):
            position = position * dim + at
        positions.append(position)
    return [1 if axis is None else len(kept[axis]) for axis in outputs], positions


def static(case, dims, rule=walk):
    """The answer for data of these dims."""
    try:
        dims, positions = select(case, dims, rule)
    except Refused as refused:
        return {"refused": refused.args[0]}
    return {"dims": dims, "indices": positions}


def unknown_values(size, is_step):
    """Values of an index that stand for all values: others select the same elements of an axis of this size."""
    values = range(-size - 2, size + 3)
    return [value for value in values if value != 0] if is_step else list(values)


def lengths_of(entry, unknown):
    """A function from a size to all lengths that the slice of an axis can have."""

    def lengths(size):
        if entry is None:
            return {size}
        if not unknown:
            return {len(entry.select(size, walk))}
        choices = []
        for name, value in (("start", entry.start), ("stop", entry.stop), ("step", entry.step)):
            # A late value under a mask is ignored.
            is_open = name in unknown and value is not None
            choices.append(unknown_values(size, name == "step") if is_open else [value])
        return {len(walk(size, *choice)) for choice in product(*choices)}

    return lengths


def inferred(case):
    """The smallest interval of each dim of the output, over all sizes and all values known only at run time."""
    shape = case["shape"]
    late = case.get("at_run_time", [])
    unknown = [plain for name, plain in zip(index_inputs(case), ("start", "stop", "step")) if name in late]
    count = len(case[index_inputs(case)[0]])
    orders = permutations(range(len(shape)), count) if "axes" in late else [case.get("axes")]
    found = None
    for axes in orders:
        known = dict(case) if axes is None else {**case, "axes": list(axes)}
        entries, outputs = resolve(known, len(shape))
        by_axis = {entry.axis: entry for entry in entries}
        dims = []
        for axis in outputs:
            entry = by_axis.get(axis)
            if axis is None:
                dims.append((1, 1))
                continue
            bounds = [] if entry is None else [("start", entry.start), ("stop", entry.stop)]
            bounds = [value for name, value in bounds if name not in unknown]
            steps = [] if entry is None or "step" in unknown else [entry.step]
            least, most = read_interval(shape[axis]) if is_interval(shape[axis]) else (0, None)
            dims.append(hull(least, most, bounds, steps, lengths_of(entry, unknown), not unknown))
        found = dims if found is None else [join(*pair) for pair in zip(found, dims)]
    return [interval_text(*dim) for dim in found]


def join(one, other):
    open_above = one[1] is None or other[1] is None
    return min(one[0], other[0]), None if open_above else max(one[1], other[1])


def is_interval(size):
    return isinstance(size, int) or size == "?" or ".." in size


def symbols_of(case):
    """The names in the shape, in order of appearance."""
    return list(dict.fromkeys(size for size in case["shape"] if not is_interval(size)))


def table(case, rule=walk):
    """Rows with a value of each symbol, followed by the dims of the output for these values."""
    most = table_size(case)
    names = symbols_of(case)
    rows = []
    for values in product(range(most + 1), repeat=len(names)):
        at = dict(zip(names, values))
        dims = [at.get(size, size) for size in case["shape"]]
        entries, outputs = resolve(case, len(dims))
        kept = {entry.axis: len(entry.select(dims[entry.axis], rule)) for entry in entries}
        rows.append([*values, *(1 if axis is None else kept.get(axis, dims[axis]) for axis in outputs)])
    return rows


def table_size(case):
    """The last size of a table: all laws that a length follows have begun, and two periods of each are visible."""
    names = index_inputs(case)
    near = [abs(v) for name in names[:2] for v in case[name] if abs(v) < LONGEST]
    steps = [abs(v) for v in case.get(names[2], [1])]
    most = sum(sorted(near)[-2:]) + 2 + 2 * max(steps + [1])
    return most if len(symbols_of(case)) == 1 else min(most, 6)
