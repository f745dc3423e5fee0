"""Answers that do not change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, NoReturn, Sequence, TypeVar, Union, overload

T = TypeVar("T")

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform

    # To type checkers, the answers have no methods that change them.
    class _Dict(Mapping[str, Any]):
        def __init__(self, items: object = ..., **named: Any) -> None: ...
        def __getitem__(self, key: str) -> Any: ...
        def __iter__(self) -> Iterator[str]: ...
        def __len__(self) -> int: ...
        def __eq__(self, other: object) -> bool: ...

    class _List(Sequence[T]):
        def __init__(self, items: Sequence[T] = ...) -> None: ...
        @overload
        def __getitem__(self, key: int) -> T: ...
        @overload
        def __getitem__(self, key: slice) -> Sequence[T]: ...
        def __getitem__(self, key: Union[int, slice]) -> Union[T, Sequence[T]]: ...
        def __len__(self) -> int: ...
        def __eq__(self, other: object) -> bool: ...

else:

    def dataclass_transform(**_options):
        return lambda of_class: of_class

    _Dict = Dict[str, Any]
    _List = List[T]


class ReadOnlyError(AttributeError, TypeError):
    """An answer does not change; :meth:`Model.edit` changes the model.

    Python raises ``AttributeError`` for attributes and ``TypeError`` for items, so this is both.
    """


def refuse(answer: object) -> NoReturn:
    """Raises the error for an attempt to change an answer."""
    name = type(answer).__name__
    raise ReadOnlyError(f"this `{name}` is read-only; to change the model, use `Model.edit()`")


@dataclass_transform(frozen_default=True, eq_default=False)
class ReadOnly:
    """An answer whose attributes and items do not change. Type checkers treat it as a frozen dataclass."""

    __slots__ = ()

    if not TYPE_CHECKING:

        def __setattr__(self, name, value):
            refuse(self)

        def __delattr__(self, name):
            refuse(self)

        def __setitem__(self, key, value):
            refuse(self)

        def __delitem__(self, key):
            refuse(self)

    def _set(self, **attributes: Any) -> None:
        """Sets attributes while the answer is created."""
        for name, value in attributes.items():
            object.__setattr__(self, name, value)


def _refused(self: object, *_arguments: Any, **_named: Any) -> NoReturn:
    refuse(self)


class ReadOnlyDict(ReadOnly, _Dict):
    """A dictionary that does not change. ``dict(answer)`` is a copy that does."""

    if not TYPE_CHECKING:
        clear = pop = popitem = setdefault = update = __ior__ = _refused

        def __reduce__(self):
            return type(self), (dict(self),)

        def copy(self):
            """A copy that can be changed."""
            return dict(self)


class ReadOnlyList(ReadOnly, _List[T]):
    """A list that does not change. ``list(answer)`` is a copy that does."""

    if not TYPE_CHECKING:
        append = clear = extend = insert = pop = remove = reverse = sort = __iadd__ = __imul__ = _refused

        def __reduce__(self):
            return type(self), (list(self),)

        def copy(self):
            """A copy that can be changed."""
            return list(self)


def read_only(value: Any) -> Any:
    """The value with lists that do not change."""
    return ReadOnlyList([read_only(item) for item in value]) if type(value) is list else value
