"""Exceptions with structured data."""

from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional, Sequence, Tuple, Type

from . import _snick


class LayerError(NamedTuple):
    """An error of one layer: its stable code, the layer, its operation, its location, and the message."""

    code: str
    layer: str
    op: str
    loc: Optional[str]
    message: str


class Error(Exception):
    """Why a call failed. All exceptions of snick derive from it.

    >>> import snick
    >>> try:
    ...     snick.load("missing.xml")
    ... except snick.Error as error:
    ...     print(isinstance(error, snick.ReadError), error.code, error)
    True S001 cannot read missing.xml: No such file or directory (os error 2)

    Exceptions also derive from the matching built-in class: a missing file is a ``FileNotFoundError``, a name that the
    model does not have is a ``KeyError``, an input with another dtype is a ``TypeError``, and an input with another
    shape is a ``ValueError``.
    """

    message: str
    """What is wrong, and what to do."""
    code: str
    """A code that stays the same when messages change; codes of findings are the codes of ``check``."""
    layer: Optional[str]
    """The name of the layer; ``None`` if the error is not about a layer."""
    op: Optional[str]
    """The operation type of the layer."""
    loc: Optional[str]
    """Line and column of the layer in the file, ``"12:5"``."""
    errors: Tuple[LayerError, ...]
    """The errors of all layers, starting with this one."""

    def __init__(
        self,
        message: str = "",
        code: str = "S020",
        layer: Optional[str] = None,
        op: Optional[str] = None,
        loc: Optional[str] = None,
        errors: Sequence[LayerError] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.layer = layer
        self.op = op
        self.loc = loc
        self.errors = tuple(errors)

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self.message, self.code, self.layer, self.op, self.loc, self.errors)


class ReadError(Error):
    """A model cannot be read."""


class InferError(Error):
    """Shapes or types of layers contradict each other, or an input shape cannot be set."""


class RunError(Error):
    """An input does not fit, or a layer fails in a run."""


class LimitError(Error):
    """A limit of ``load(limits=...)`` was reached."""


class MissingFileError(ReadError, FileNotFoundError):
    """A model, or a file that belongs to it, is missing."""


class MissingFolderError(Error, FileNotFoundError):
    """The folder of an output file is missing."""


class InputNameError(RunError, KeyError):
    """No input of the model has this name."""


class InputTypeError(RunError, TypeError):
    """An array has another dtype than the input."""


class InputValueError(RunError, ValueError):
    """An array has another shape than the input, or an input is missing or given twice."""


class ShapeNameError(InferError, KeyError):
    """A shape is given for an input that the model does not have."""


class ShapeValueError(InferError, ValueError):
    """An input shape cannot be set."""


class NotFoundError(Error, KeyError):
    """The model has no such layer, output or axis."""


class ArgumentError(Error, ValueError):
    """The extension of an output file names no format."""


class UnreadableArgumentError(ReadError, ValueError):
    """Bytes and weights do not belong together."""


_MOST_LISTED = 8
"""Maximum number of names that a message lists."""


def not_found(kind: str, name: str, known: Sequence[str]) -> NotFoundError:
    """The error for a name that none of the ``known`` items has."""
    listed = ", ".join(known[:_MOST_LISTED]) + (", ..." if len(known) > _MOST_LISTED else "")
    suggestion = _snick.did_you_mean(name, known) or ";"
    return NotFoundError(f"no {kind} named `{name}`{suggestion} the model has {listed or 'none'}", "S054")


_CLASSES: Dict[Tuple[str, Optional[str]], Type[Error]] = {
    ("ReadError", "FileNotFoundError"): MissingFileError,
    ("ReadError", "ValueError"): UnreadableArgumentError,
    ("Error", "FileNotFoundError"): MissingFolderError,
    ("RunError", "KeyError"): InputNameError,
    ("RunError", "TypeError"): InputTypeError,
    ("RunError", "ValueError"): InputValueError,
    ("InferError", "KeyError"): ShapeNameError,
    ("InferError", "ValueError"): ShapeValueError,
    ("Error", "KeyError"): NotFoundError,
    ("Error", "ValueError"): ArgumentError,
    ("ReadError", None): ReadError,
    ("InferError", None): InferError,
    ("RunError", None): RunError,
    ("LimitError", None): LimitError,
}


def _make(
    name: str,
    also: Optional[str],
    code: str,
    message: str,
    layers: Sequence[Tuple[str, str, str, Optional[str], str]],
) -> Error:
    """Creates the exception for an error in Rust."""
    of_class = _CLASSES.get((name, also)) or _CLASSES.get((name, None)) or Error
    errors = [LayerError(*layer) for layer in layers]
    if not errors:
        return of_class(message, code)
    first = errors[0]
    return of_class(message, code, first.layer or None, first.op or None, first.loc, errors)
