"""Sequences with named items, and the parts of shapes."""

from __future__ import annotations

from typing import Any, Callable, ClassVar, Generic, Iterator, List, Optional, Sequence, Tuple, TypeVar, Union
from typing import overload

from ._errors import not_found
from ._readonly import ReadOnly

Dims = Tuple[Optional[str], int, Optional[int]]


class Symbol(ReadOnly, str):
    """The name of a dynamic size, with its interval."""

    min: int
    """The smallest size."""
    max: Optional[int]
    """The largest size; ``None`` if unbounded."""

    def __new__(cls, name: str, min: int = 0, max: Optional[int] = None) -> "Symbol":
        symbol = super().__new__(cls, name)
        symbol._set(min=min, max=max)
        return symbol

    def __init__(self, name: str, min: int = 0, max: Optional[int] = None) -> None:
        super().__init__()

    def __reduce__(self) -> Any:
        return type(self), (str(self), self.min, self.max)

    @property
    def interval(self) -> Tuple[int, Optional[int]]:
        """The smallest and the largest size."""
        return self.min, self.max


class Shape(ReadOnly, Tuple[Any, ...]):
    """The dims of a value: numbers, or texts of dynamic sizes, such as ``N`` or ``(H+1)/2``. A shape of unknown rank is
    ``(...,)``.

    Its text is that of OpenVINO's PartialShape; :attr:`symbolic` has the expressions. It equals tuples, lists and both
    texts.

    >>> import snick
    >>> shape = snick.parse('''snick 1
    ... graph "g" {
    ...   %x = Parameter-1 {element_type: f32, shape: "N,3,H=32..64"}
    ...   %y = Result-1(%x)
    ... }''').inputs["x"].shape
    >>> shape
    Shape('[N,3,H]')
    >>> str(shape), shape.symbolic, shape.rank, shape[1], shape[2].interval
    ('[?,3,32..64]', '[N,3,H]', 3, 3, (32, 64))
    >>> shape == "[?,3,32..64]", shape == ["N", 3, "H"]
    (True, True)
    """

    _text: str
    _symbolic: str

    def __new__(cls, dims: Optional[Sequence[Dims]], text: str, symbolic: str) -> "Shape":
        items: List[Any] = [...]
        if dims is not None:
            items = [least if name is None else Symbol(name, least, most) for name, least, most in dims]
        shape = super().__new__(cls, items)
        shape._set(_text=text, _symbolic=symbolic)
        return shape

    def __init__(self, dims: Optional[Sequence[Dims]], text: str, symbolic: str) -> None:
        super().__init__()

    def __reduce__(self) -> Any:
        dims: Optional[List[Dims]] = None
        if self.rank is not None:
            dims = [(None, d, d) if isinstance(d, int) else (str(d), d.min, d.max) for d in self]
        return type(self), (dims, self._text, self._symbolic)

    @property
    def rank(self) -> Optional[int]:
        """The number of dims; ``None`` if unknown."""
        return None if self._text == "[...]" else len(self)

    @property
    def is_static(self) -> bool:
        """Whether every dim is a number."""
        return all(isinstance(dim, int) for dim in self)

    @property
    def symbolic(self) -> str:
        """The text with expressions: ``[N,3,(H+1)/2]``."""
        return self._symbolic

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Shape({self._symbolic!r})"

    def __hash__(self) -> int:
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return other.replace(" ", "") in (self._text, self._symbolic)
        if isinstance(other, list):
            return tuple(self) == tuple(other)
        return super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        is_equal = self.__eq__(other)
        return is_equal if is_equal is NotImplemented else not is_equal


T = TypeVar("T")


class Named(ReadOnly, Sequence[T], Generic[T]):
    """A sequence with access by index, slice and name."""

    _count: int
    _item: Callable[[int], T]
    _find: Callable[[str], Optional[int]]
    _names: Callable[[], List[str]]
    _kind: str

    def __init__(
        self,
        count: int,
        item: Callable[[int], T],
        find: Callable[[str], Optional[int]],
        names: Callable[[], List[str]],
        kind: str,
    ) -> None:
        self._set(_count=count, _item=item, _find=find, _names=names, _kind=kind)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, key: Union[int, str]) -> T: ...
    @overload
    def __getitem__(self, key: slice) -> List[T]: ...
    def __getitem__(self, key: Union[int, str, slice]) -> Union[T, List[T]]:
        if isinstance(key, slice):
            return [self._item(index) for index in range(*key.indices(self._count))]
        if isinstance(key, str):
            found = self._find(key)
            if found is None:
                raise not_found(self._kind, key, self._names())
            return self._item(found)
        index = key.__index__()
        if not -self._count <= index < self._count:
            raise IndexError(f"{self._kind} {index} of {self._count}")
        return self._item(index % self._count)

    def get(self, name: str, default: Optional[T] = None) -> Optional[T]:
        """The item with a name, or ``default``."""
        found = self._find(name)
        return default if found is None else self._item(found)

    def __contains__(self, item: object) -> bool:
        if isinstance(item, str):
            return self._find(item) is not None
        return any(own == item for own in self)

    def __iter__(self) -> Iterator[T]:
        return (self._item(index) for index in range(self._count))

    def _ipython_key_completions_(self) -> List[str]:
        return self._names()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (list, tuple, Named)):
            return list(self) == list(other)
        return NotImplemented

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = [repr(item) for item in self[:8]]
        if self._count > 8:
            shown.append(f"... of {self._count}")
        return f"[{', '.join(shown)}]"


class Symbols(Named[Symbol]):
    """The symbols of a shape or model, by index or name."""

    _symbols: Sequence[Symbol]

    def __init__(self, symbols: Sequence[Symbol]) -> None:
        names = {str(symbol): index for index, symbol in enumerate(symbols)}
        super().__init__(len(symbols), lambda index: symbols[index], names.get, lambda: list(names), "symbol")
        self._set(_symbols=symbols)

    def __reduce__(self) -> Tuple[Any, ...]:
        return Symbols, (list(self._symbols),)

    def _repr_html_(self) -> str:
        from ._html import symbols

        return symbols(self)
