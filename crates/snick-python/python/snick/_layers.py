"""Layers and values of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from . import _snick
from ._dtypes import DType
from ._sequences import Named, Shape, Symbol, Symbols

if TYPE_CHECKING:
    import numpy as np
    import pandas

    Array = np.ndarray[Any, Any]


class _Value:
    """The facts about a value."""

    __slots__ = ("dtype", "shape", "symbols")

    dtype: DType
    """The element type."""
    shape: Shape
    """The shape."""
    symbols: Symbols
    """The symbols in the shape, with their intervals."""

    def __init__(self, fact: _snick._Fact) -> None:
        element_type, dims, text, symbolic, symbols = fact
        self.dtype = DType(element_type)
        self.shape = Shape(dims, text, symbolic)
        self.symbols = Symbols([Symbol(*symbol) for symbol in symbols])

    @property
    def element_type(self) -> str:
        """The OpenVINO name of the element type."""
        return self.dtype.name


class Port(_Value):
    """An input or an output of a model."""

    __slots__ = ("name", "names", "public_name")

    name: str
    """The name of its layer."""
    names: List[str]
    """The tensor names, which can also be used for lookup."""
    public_name: str
    """The name that users know: the first tensor name, or else the layer name."""

    def __init__(self, port: _snick._Port) -> None:
        self.name, self.public_name, self.names, fact = port
        super().__init__(fact)

    def __repr__(self) -> str:
        return f"Port({self.name!r}: {self.dtype}{self.shape.symbolic})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Port):
            return NotImplemented
        return (self.name, self.names, self.dtype, self.shape) == (other.name, other.names, other.dtype, other.shape)

    __hash__ = None  # type: ignore[assignment]


class Ports(Named[Port]):
    """The inputs or outputs of a model, by index, layer name or tensor name."""

    def __init__(self, ports: Sequence[Port], kind: str) -> None:
        by_name = {port.name: index for index, port in reversed(list(enumerate(ports)))}
        for index, port in enumerate(ports):
            for name in port.names:
                by_name.setdefault(name, index)
        super().__init__(len(ports), lambda index: ports[index], by_name.get, kind)


class Output(_Value):
    """An output of a layer."""

    __slots__ = ("port", "names", "_known")

    port: int
    """Its number in the file."""
    names: List[str]
    """Its tensor names."""

    def __init__(self, output: Tuple[int, List[str], _snick._Fact], known: Any) -> None:
        self.port, self.names, fact = output
        self._known = known
        super().__init__(fact)

    @property
    def value(self) -> Optional["Array"]:
        """A copy of the elements, if inference knows all of them, such as for constants."""
        model, layer, index = self._known
        known: Optional["Array"] = model.value(layer, index)
        return known

    def __repr__(self) -> str:
        return f"Output({self.port}: {self.dtype}{self.shape.symbolic})"


class Source(NamedTuple):
    """The output that an input of a layer reads."""

    layer: str
    port: int


class Layer:
    """A layer."""

    __slots__ = ("index", "name", "op", "version", "loc", "attributes", "inputs", "outputs", "opaque")

    index: int
    """Its index in ``Model.layers``."""
    name: str
    """Its name."""
    op: str
    """The operation type."""
    version: str
    """The operation set."""
    loc: Optional[str]
    """Line and column in the file."""
    attributes: Dict[str, Any]
    """The attributes; elements of constants are ``outputs[0].value``."""
    inputs: List[Optional[Source]]
    """The sources of its inputs; ``None`` for an omitted input."""
    outputs: List[Output]
    """Its outputs."""
    opaque: bool
    """Whether snick does not know the operation, so that shapes come from the file."""

    def __init__(self, model: _snick.Model, index: int) -> None:
        layer = model.layer(index)
        self.index = index
        self.name, self.op, self.version, self.loc, self.attributes, inputs, outputs, self.opaque = layer
        self.inputs = [None if source is None else Source(*source) for source in inputs]
        self.outputs = [Output(output, (model, index, at)) for at, output in enumerate(outputs)]

    @property
    def type(self) -> str:
        """The operation type."""
        return self.op

    @property
    def attrs(self) -> Dict[str, Any]:
        """The attributes."""
        return self.attributes

    @property
    def dtype(self) -> DType:
        """The element type of its first output."""
        return self.outputs[0].dtype

    @property
    def shape(self) -> Shape:
        """The shape of its first output."""
        return self.outputs[0].shape

    @property
    def symbols(self) -> Symbols:
        """The symbols in the shape of its first output."""
        return self.outputs[0].symbols

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Layer):
            return NotImplemented
        return (self.index, self.name, self.op, self.loc) == (other.index, other.name, other.op, other.loc)

    def __hash__(self) -> int:
        return hash((self.index, self.name))

    def __repr__(self) -> str:
        outputs = ", ".join(f"{output.dtype}{output.shape.symbolic}" for output in self.outputs)
        return f"Layer({self.name!r}: {self.op} -> {outputs})"


class Layers(Named[Layer]):
    """The layers in file order, without layers of bodies, by index or name."""

    def __init__(self, model: _snick.Model) -> None:
        super().__init__(model.layer_count(), lambda index: Layer(model, index), model.find, "layer")

    def _rows(self, most: Optional[int] = None) -> List[Tuple[Any, ...]]:
        layers = self if most is None else self[:most]
        return [
            (
                layer.name,
                layer.op,
                layer.version,
                layer.loc,
                layer.outputs[0].dtype.name if layer.outputs else None,
                " ".join(output.shape.symbolic for output in layer.outputs),
            )
            for layer in layers
        ]

    def to_pandas(self) -> "pandas.DataFrame":
        """A table with one row per layer. Requires pandas."""
        import pandas

        return pandas.DataFrame(self._rows(), columns=list(_COLUMNS))

    def _repr_html_(self) -> str:
        from ._html import _MOST_ROWS, table

        more = f"<p>and {len(self) - _MOST_ROWS} more</p>" if len(self) > _MOST_ROWS else ""
        return table(_COLUMNS, self._rows(_MOST_ROWS)) + more


_COLUMNS = ("name", "op", "version", "loc", "dtype", "shape")
