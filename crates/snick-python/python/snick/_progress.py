"""Progress of long calls."""

from __future__ import annotations

from typing import Callable, NamedTuple


class Progress(NamedTuple):
    """How far a call is, as its ``progress`` callback gets it after each layer."""

    done: int
    """The number of finished layers, including this one."""
    layers: int
    """The number of layers known so far. Reading and rewriting may add more."""
    layer: str
    """The name of the layer."""


OnProgress = Callable[[Progress], object]
"""A function that is called after each layer. If it raises an exception, the call stops and raises the exception."""
