"""Input shapes."""

from __future__ import annotations

from typing import Any, Mapping, Sequence, Union

from ._errors import _make
from ._sequences import Shape

Shapes = Union[str, Mapping[Any, Any], Sequence[Any]]
"""Input shapes: ``"x[N,3],mask[N]"``, ``{"x": ["N", 3], "mask": "[N]"}``, or the shape of the only input."""


def _dim(dim: Any) -> str:
    """A dim in command-line notation."""
    if dim is None or (isinstance(dim, int) and dim == -1):
        return "?"
    if dim is ...:
        return "..."
    if isinstance(dim, (tuple, list)):
        least, most = dim
        return f"{least or 0}..{'' if most is None else most}"
    if isinstance(dim, str):
        return dim
    return str(dim.__index__())


def _dims(shape: Any) -> str:
    if isinstance(shape, Shape):
        shape = tuple(shape)
    if isinstance(shape, str):
        text = shape.strip()
        return text if text.startswith("[") else f"[{text}]"
    if isinstance(shape, int):
        shape = (shape,)
    return f"[{','.join(map(_dim, shape))}]"


def _specification(shapes: Shapes) -> str:
    """Input shapes in command-line notation."""
    if isinstance(shapes, str):
        return shapes
    try:
        if isinstance(shapes, Mapping):
            return ",".join(f"{name}{_dims(shape)}" for name, shape in shapes.items())
        return _dims(shapes)
    except (AttributeError, TypeError, ValueError):
        message = f"the shapes {shapes!r} are not a text, a mapping or a sequence of dims"
        raise _make("InferError", "ValueError", "S055", message, []) from None
