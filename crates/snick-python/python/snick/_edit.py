"""Edits of models."""

from __future__ import annotations

import contextlib
from types import TracebackType
from typing import TYPE_CHECKING, Any, Dict, Iterator, Optional, Sequence, Type, Union

from . import _snick
from ._dtypes import DType, _as_array
from ._readonly import ReadOnly
from ._sequences import Shape
from ._session import _names
from ._shapes import _dims

if TYPE_CHECKING:
    import numpy as np

    from ._model import Model

Attribute = Union[str, int, float, bool, DType, Shape, Sequence[float], Sequence[Union[int, str]]]
"""The value of an attribute. A text is parsed as in an IR: ``"1,1"``."""

_SHAPES = ("shape", "variable_shape")
"""Attributes of inputs and variables with shapes, which are given as in :meth:`Model.infer`."""


class Editor(ReadOnly):
    """Edits a model: see :meth:`Model.edit`.

    Layers are named as in ``model.layers``; a tensor name of a layer also works. Values are named ``LAYER``,
    ``LAYER:PORT`` (ports count from 0) or by tensor name.

    After each edit the model is inferred. An edit after which it would not infer raises ``InferError`` with the edit and
    the contradiction, and an unknown name raises an error that is also a ``KeyError``. The failed edit has no effect. If
    the exception leaves the ``with`` block, none of the edits has.
    """

    _model: "Model"
    _editor: Optional[_snick.Editor]

    def __init__(self, model: "Model") -> None:
        self._set(_model=model, _editor=None)

    def __enter__(self) -> "Editor":
        self._set(_editor=self._model._model.editor())
        return self

    def __exit__(
        self,
        of_class: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        editor = self._edits
        self._set(_editor=None)
        if of_class is None:
            self._model._changing().finish(editor)

    def __reduce__(self) -> Any:
        raise TypeError("an Editor cannot be pickled, because its edits end with the `with` block")

    @property
    def _edits(self) -> _snick.Editor:
        if self._editor is None:
            raise RuntimeError("a model is edited inside of `with model.edit() as e:`")
        return self._editor

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Groups edits that only infer together: ``with e.together():``. The model is inferred when the block ends. If an
        exception leaves the block, none of its edits applies."""
        edits = self._edits
        edits.begin()
        is_kept = False
        try:
            yield
            is_kept = True
        finally:
            edits.end(is_kept)

    def rename(self, old: str, new: str) -> None:
        """Renames an input, an output, a layer or a tensor."""
        self._edits.rename(old, new)

    def set(self, layer: str, /, **attributes: Attribute) -> None:
        """Sets attributes of a layer by their names in OpenVINO IR. Of an input, ``element_type`` and ``shape`` can be
        set; a shape is given as in :meth:`Model.infer`."""
        self._edits.set(layer, _attributes(attributes))

    def replace_constant(self, layer: str, array: "np.typing.ArrayLike") -> None:
        """Replaces the value of a constant. Another shape or dtype is allowed if the model still infers. Elements of types
        that numpy lacks are given as for an input: see :meth:`Model.run`."""
        self._edits.replace_constant(layer, _as_array(array))

    def remove(self, layer: str) -> None:
        """Removes a layer, whose only input takes its place. A layer that nothing reads may have any inputs."""
        self._edits.remove(layer)

    def insert_after(self, value: str, op: str, name: Optional[str] = None, **attributes: Attribute) -> str:
        """Inserts a layer behind a value, and returns the name of the layer. Everything that read the value reads the
        layer instead. Without ``name``, the layer gets a new name."""
        return self._edits.insert_after(value, op, name, _attributes(attributes))

    def redirect(self, from_: str, to: str) -> None:
        """Lets everything that reads the value ``from_`` read the value ``to``. Layers that are no longer needed are
        removed, except inputs."""
        self._edits.redirect(from_, to)

    def set_outputs(self, outputs: Sequence[str]) -> None:
        """Makes these values the outputs of the model, in this order. Layers that they do not need are removed, except
        inputs."""
        self._edits.set_outputs(_names(outputs))

    def set_type(self, input: str, dtype: Union[str, DType]) -> None:
        """Changes the element type of an input. Behind it, a Convert restores the previous type."""
        self._edits.set_input_type(input, str(dtype))


def _attributes(attributes: Dict[str, Any]) -> Dict[str, Any]:
    """Attributes as plain numbers, texts and lists."""
    return {name: _attribute(name, value) for name, value in attributes.items()}


def _attribute(name: str, value: Any) -> Any:
    if isinstance(value, Shape) or (name in _SHAPES and isinstance(value, (list, tuple))):
        return _dims(value)[1:-1]
    if isinstance(value, DType):
        return value.name
    # Arrays and numbers of numpy.
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Sequence):
        items = list(value)
        for of_class in (int, (int, float), str):
            if all(isinstance(item, of_class) for item in items):
                return items
    raise TypeError(f"attribute `{name}` is {value!r}, expected a number, a text, or a list of one of them")
