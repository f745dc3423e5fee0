"""Element types and their numpy dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, Sequence, Tuple

from ._readonly import ReadOnly

if TYPE_CHECKING:
    import numpy as np

_PLAIN = {
    "boolean": "bool",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
}
"""Types that numpy itself has."""

_OF_ML_DTYPES = {
    "bf16": ("bfloat16", "uint16"),
    "f8e4m3": ("float8_e4m3fn", "uint8"),
    "f8e5m2": ("float8_e5m2", "uint8"),
    "f8e8m0": ("float8_e8m0fnu", "uint8"),
}
"""Types of ml_dtypes, and the types of their bits."""


class DType(ReadOnly):
    """An element type by its OpenVINO name. It equals that name and the corresponding numpy dtype.

    >>> import numpy as np, snick
    >>> dtype = snick.DType("f32")
    >>> dtype, str(dtype), dtype == "f32", dtype == np.float32, dtype.numpy
    (DType('f32'), 'f32', True, True, dtype('float32'))
    >>> np.zeros(2, dtype=dtype)
    array([0., 0.], dtype=float32)
    """

    __slots__ = ("name",)

    name: str
    """The OpenVINO name: ``f32``, ``boolean``, ``i4``."""

    def __init__(self, name: str) -> None:
        self._set(name=name)

    def __reduce__(self) -> Tuple[Any, ...]:
        return DType, (self.name,)

    @property
    def numpy(self) -> "np.dtype[Any]":
        """The dtype of arrays that runs return: a numpy or ml_dtypes dtype. Without ml_dtypes, bf16 and f8 types are
        bits in ``uint16`` and ``uint8``. Packed types are ``uint8``, strings are ``str``."""
        return _numpy_dtype(self.name)

    @property
    def dtype(self) -> "np.dtype[Any]":
        """The same as :attr:`numpy`; numpy looks up this attribute."""
        return _numpy_dtype(self.name)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"DType({self.name!r})"

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self.name == other.name
        if isinstance(other, str):
            return other in (self.name, _PLAIN.get(self.name), _OF_ML_DTYPES.get(self.name, (None,))[0])
        if other is None:
            return False  # numpy would take None for float64
        if self.name not in _PLAIN and self.name not in _OF_ML_DTYPES:
            return self.name == "string" and other is str
        import numpy as np

        try:
            return bool(self.numpy == np.dtype(other))  # type: ignore[call-overload]
        except (TypeError, ValueError):
            return False


def _numpy_dtype(name: str) -> "np.dtype[Any]":
    import numpy as np

    if name in _PLAIN:
        return np.dtype(_PLAIN[name])
    if name in _OF_ML_DTYPES:
        of_package, bits = _OF_ML_DTYPES[name]
        try:
            import ml_dtypes
        except ImportError:
            return np.dtype(bits)
        return np.dtype(getattr(ml_dtypes, of_package, bits))
    if name == "string":
        return np.dtype(str)
    if name == "dynamic":
        raise TypeError("the element type is not known before a run")
    return np.dtype("uint8")


_MAX_WIDENED = 1 << 24
"""Strings are always widened to the longest one if that takes at most this many bytes."""


def _string_array(texts: List[str], shape: Sequence[int]) -> "np.ndarray[Any, Any]":
    """Strings of fixed width. Objects if a string ends with NUL, which numpy would drop, or if a long string would
    widen all others too much."""
    import numpy as np

    width = max(map(len, texts), default=0)
    is_sparse = 4 * width * len(texts) > max(_MAX_WIDENED, 16 * sum(map(len, texts)))
    kind: Any = object if is_sparse or any(text.endswith("\0") for text in texts) else str
    array: "np.ndarray[Any, Any]" = np.array(texts, dtype=kind)
    return array.reshape(tuple(shape))


def _as_array(value: Any) -> "np.ndarray[Any, Any]":
    """A numpy array, sharing memory where possible, from a numpy array or any object with DLPack."""
    import numpy as np

    if type(value) is np.ndarray:
        return value
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError("a masked array is no input; fill it first")
    if isinstance(value, np.ndarray):
        return value.view(np.ndarray)
    if hasattr(value, "__dlpack__") and not isinstance(value, np.generic):
        try:
            return np.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            if not hasattr(value, "__array__"):
                raise TypeError(f"an array that numpy cannot share: {error}") from None
    return np.asarray(value)
