"""One axis: the elements that a slice selects, and the sizes that it can have.

Python's integers do not overflow, so the extremes of i64 need no special care.
"""

# An axis has at most this many elements. Exporters write it for "to the end".
LONGEST = 2**31 - 1


def walk(size, start, stop, step):
    """The selected elements in order. `None` is a masked bound: the axis ends in the direction of the step."""
    forward = step > 0
    first = (0 if forward else size - 1) if start is None else start + size if start < 0 else start
    # The clamp of a start. On an empty axis, the lower clamp comes first.
    first = max(first, 0)
    first = min(first, size if forward else size - 1)
    past = (size if forward else -1) if stop is None else max(stop + size, -1) if stop < 0 else stop
    selected = []
    at = first
    while 0 <= at < size and (at < past if forward else at > past):
        selected.append(at)
        at += step
    return selected


def python_walk(size, start, stop, step):
    """The elements that a Python sequence and a numpy array select."""
    return list(range(*slice(start, stop, step).indices(size)))


def settled(bounds, step, is_known):
    """A size from which on the shortest and the longest length of a slice follow one simple law each.

    A bound counts from one end of the axis. If the axis has at least as many elements as the bounds say, no bound is
    clamped, unless it is further away than any axis is long. Then the distance between the bounds is constant, or it
    grows or falls by one whenever the axis grows by one. Once the axis is longer than both bounds together, a falling
    distance has passed zero. From then on the length is constant, or it grows by one with every `|step|` elements.

    If not all numbers are known, several of these laws compete. A constant length is at most the sum of the bounds, so
    a growing one exceeds all constant ones after as many further steps.
    """
    near = sum(abs(bound) for bound in bounds if bound is not None and abs(bound) < LONGEST)
    step = min(abs(step), LONGEST)
    return near + 2 + (step if is_known else step * (near + 3))


def hull(least, most, bounds, steps, lengths, is_known):
    """The smallest interval with all lengths on axes of `least..most` elements; `most` may be `None`.

    `lengths(size)` lists the lengths that are possible for a size. `bounds` and `steps` are the known ones, and
    `is_known` says whether these are all.
    """
    period = max([abs(step) for step in steps if abs(step) < LONGEST] + [1])
    end = max(settled(bounds, period, is_known), least) + period
    found = set()
    for size in range(least, (end if most is None else most) + 1):
        found.update(lengths(size))
    if most is None and max(lengths(end)) > max(lengths(end - period)):
        return min(found), None
    return min(found), max(found)


def interval_text(least, most):
    """An interval as in the cases: `"?"`, `"2.."`, `"..5"`, `"2..5"`, or one number as text."""
    if most is None:
        return f"{least}.." if least else "?"
    if least == most:
        return str(least)
    return f"{least or ''}..{most}"


def read_interval(text):
    """The bounds of a size of a case: a number, or an interval as text. The upper one may be `None`."""
    if isinstance(text, int):
        return text, text
    if text == "?":
        return 0, None
    if ".." not in text:
        return int(text), int(text)
    least, most = text.split("..")
    return int(least or 0), int(most) if most else None
