"""Layers and values of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Dict, List, NamedTuple, Optional, Sequence, Tuple

from . import _snick
from ._dtypes import DType
from ._readonly import ReadOnly, ReadOnlyDict, ReadOnlyList, read_only
from ._sequences import Named, Shape, Symbol, Symbols

if TYPE_CHECKING:
    import numpy as np
    import pandas

    Array = np.ndarray[Any, Any]

Path = Tuple[Tuple[int, int], ...]
"""A graph of a model: the index of a layer and the position of its body for each body around the graph."""


class Graph(NamedTuple):
    """The graph of a model, or the graph of a body."""

    model: _snick.Model
    path: Path

    def ports(self, is_input: bool) -> "Ports":
        """The inputs or the outputs."""
        ports = self.model.ports(self.path, is_input)
        return Ports([Port(port) for port in ports], "input" if is_input else "output")


class _Value(ReadOnly):
    """The facts about a value."""

    __slots__ = ("_fact",)

    _fact: _snick._Fact

    @property
    def dtype(self) -> DType:
        """The element type."""
        return DType(self._fact[0])

    @property
    def shape(self) -> Shape:
        """The shape."""
        return Shape(*self._fact[1:4])

    @property
    def symbols(self) -> Symbols:
        """The symbols in the shape, with their intervals."""
        return Symbols([Symbol(*symbol) for symbol in self._fact[4]])

    @property
    def element_type(self) -> str:
        """The OpenVINO name of the element type."""
        return self._fact[0]


class Port(_Value):
    """An input or an output of a model."""

    __slots__ = ("name", "names", "public_name")

    name: str
    """The name of its layer."""
    names: Sequence[str]
    """The tensor names, which can also be used for lookup."""
    public_name: str
    """The name that users know: the first tensor name, or else the layer name."""

    def __init__(self, port: _snick._Port) -> None:
        name, public_name, names, fact = port
        self._set(name=name, public_name=public_name, names=ReadOnlyList(names), _fact=fact)

    def __reduce__(self) -> Tuple[Any, ...]:
        return Port, ((self.name, self.public_name, list(self.names), self._fact),)

    def __repr__(self) -> str:
        return f"Port({self.name!r}: {self.dtype}{self.shape.symbolic})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Port):
            return NotImplemented
        return (self.name, self.names, self.dtype, self.shape) == (other.name, other.names, other.dtype, other.shape)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]


class Ports(Named[Port]):
    """The inputs or outputs of a model, by index, layer name or tensor name."""

    _ports: Sequence[Port]

    def __init__(self, ports: Sequence[Port], kind: str) -> None:
        by_name: Dict[str, int] = {}
        for index, port in enumerate(ports):
            by_name.setdefault(port.name, index)
        for index, port in enumerate(ports):
            for name in port.names:
                by_name.setdefault(name, index)
        super().__init__(len(ports), lambda index: ports[index], by_name.get, lambda: list(by_name), kind)
        self._set(_ports=ports)

    def __reduce__(self) -> Tuple[Any, ...]:
        return Ports, (list(self._ports), self._kind)

    def _repr_html_(self) -> str:
        from ._html import ports

        return ports(self)


class Output(_Value):
    """An output of a layer."""

    __slots__ = ("port", "names", "_known")

    port: int
    """Its number in the file."""
    names: Sequence[str]
    """Its tensor names."""
    _known: Tuple[Graph, int, int]

    def __init__(self, output: Tuple[int, List[str], _snick._Fact], known: Tuple[Graph, int, int]) -> None:
        port, names, fact = output
        self._set(port=port, names=ReadOnlyList(names), _known=known, _fact=fact)

    def __reduce__(self) -> Tuple[Any, ...]:
        return Output, (self._data(), self._known)

    def _data(self) -> Tuple[int, List[str], _snick._Fact]:
        return self.port, list(self.names), self._fact

    @property
    def value(self) -> Optional["Array"]:
        """The elements, if inference knows all of them, such as for constants. The array is read-only, and its memory is
        that of the model, for example the mapped file of the weights. Only strings are copied."""
        graph, layer, index = self._known
        known: Optional["Array"] = graph.model.value(graph.path, layer, index)
        return known

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Output):
            return NotImplemented
        return self._data() == other._data()

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Output({self.port}: {self.dtype}{self.shape.symbolic})"


class _Source(NamedTuple):
    layer: str
    port: int


class Source(ReadOnly, _Source):
    """The output that an input of a layer reads: the name of a layer and the number of its output."""

    index: int  # type: ignore[assignment]
    """The index of the layer, in place of the method of tuples with this name."""

    def __new__(cls, layer: str, port: int, index: int) -> "Source":
        source = super().__new__(cls, layer, port)
        source._set(index=index)
        return source

    def __init__(self, layer: str, port: int, index: int) -> None:
        super().__init__()

    def __reduce__(self) -> Tuple[Any, ...]:
        return Source, (self.layer, self.port, self.index)


class Attributes(ReadOnlyDict):
    """The attributes of a layer by name."""


class Layer(ReadOnly):
    """A layer."""

    __slots__ = ("index", "_graph", "_data")

    index: int
    """Its index in ``Model.layers``, or in the layers of the body that contains it."""
    _graph: Graph
    _data: _snick._LayerData

    def __init__(self, graph: Graph, index: int, data: Optional[_snick._LayerData] = None) -> None:
        self._set(index=index, _graph=graph, _data=data or graph.model.layer(graph.path, index))

    def __reduce__(self) -> Tuple[Any, ...]:
        return Layer, (self._graph, self.index, self._data)

    @property
    def name(self) -> str:
        """Its name."""
        return self._data[0]

    @property
    def op(self) -> str:
        """The operation type."""
        return self._data[1]

    @property
    def version(self) -> str:
        """The operation set."""
        return self._data[2]

    @property
    def loc(self) -> Optional[str]:
        """Line and column in the file."""
        return self._data[3]

    @property
    def attributes(self) -> Attributes:
        """The attributes; elements of constants are ``outputs[0].value``."""
        return Attributes({key: read_only(value) for key, value in self._data[4].items()})

    @property
    def inputs(self) -> Sequence[Optional[Source]]:
        """The sources of its inputs; ``None`` for an omitted input."""
        return ReadOnlyList([None if source is None else Source(*source) for source in self._data[5]])

    @property
    def outputs(self) -> Sequence[Output]:
        """Its outputs."""
        return ReadOnlyList(
            [Output(output, (self._graph, self.index, at)) for at, output in enumerate(self._data[6])]
        )

    @property
    def opaque(self) -> bool:
        """Whether snick does not know the operation, so that shapes come from the file."""
        return self._data[7]

    @property
    def type(self) -> str:
        """The operation type."""
        return self.op

    @property
    def attrs(self) -> Attributes:
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

    @property
    def consumers(self) -> "Sequence[Layer]":
        """The layers that read its outputs, in file order.

        >>> import snick
        >>> model = snick.parse('''snick 1
        ... graph "g" {
        ...   %x = Parameter-1 {element_type: f32, shape: "N"}
        ...   %r = ReLU-1(%x)
        ...   %y = Result-1(%r)
        ... }''')
        >>> [layer.name for layer in model.layers["x"].consumers]
        ['r']
        """
        indices = self._graph.model.consumers(self._graph.path, self.index)
        return ReadOnlyList([Layer(self._graph, index) for index in indices])

    @property
    def bodies(self) -> "Bodies":
        """The bodies of an If, Loop or TensorIterator, by index or role; empty for other layers."""
        path, model = self._graph.path, self._graph.model
        bodies = [Body(Graph(model, (*path, (self.index, at))), role) for at, role in enumerate(self._data[8])]
        return Bodies(bodies)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Layer):
            return NotImplemented
        return (self.index, self.name, self.op, self.loc) == (other.index, other.name, other.op, other.loc)

    def __hash__(self) -> int:
        return hash((self.index, self.name))

    def __repr__(self) -> str:
        outputs = ", ".join(f"{output.dtype}{output.shape.symbolic}" for output in self.outputs)
        return f"Layer({self.name!r}: {self.op} -> {outputs})"

    def _repr_html_(self) -> str:
        from ._html import layer

        return layer(self)


class Layers(Named[Layer]):
    """The layers in file order, without layers of bodies, by index, name or tensor name."""

    _graph: Graph

    def __init__(self, graph: Graph) -> None:
        model, path = graph
        super().__init__(
            model.layer_count(path),
            lambda index: Layer(graph, index),
            lambda name: model.find(path, name),
            lambda: model.layer_names(path),
            "layer",
        )
        self._set(_graph=graph)

    def __reduce__(self) -> Tuple[Any, ...]:
        return Layers, (self._graph,)

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
        from ._html import layers

        return layers(self)


_COLUMNS = ("name", "op", "version", "loc", "dtype", "shape")


class Body(ReadOnly):
    """A body of an If, Loop or TensorIterator, with layers, inputs and outputs like a model.

    >>> import snick
    >>> model = snick.parse('''snick 1
    ... graph "g" {
    ...   %c = Parameter-1 {element_type: boolean, shape: ""}
    ...   %x = Parameter-1 {element_type: f32, shape: "N"}
    ...   %if = If-8(%c, %x) {inputs: ["1 -> 0"], outputs: ["0 -> 0"], back_edges: [],
    ...       else_inputs: [], else_outputs: ["0 -> 0"], else_back_edges: []}
    ...     then_body graph "" {
    ...       %x = Parameter-1 {element_type: f32, shape: "?"}
    ...       %r = ReLU-1(%x)
    ...       %y = Result-1(%r)
    ...     }
    ...     else_body graph "" {
    ...       %none = Const-1 f32[0] <>
    ...       %y = Result-1(%none)
    ...     }
    ...   %y = Result-1(%if)
    ... }''')
    >>> bodies = model.layers["if"].bodies
    >>> bodies
    [Body('then_body', 3 layers), Body('else_body', 2 layers)]
    >>> bodies["then_body"].layers["r"].op
    'ReLU'
    """

    __slots__ = ("role", "_graph")

    role: str
    """``body``, ``then_body`` or ``else_body``."""
    _graph: Graph

    def __init__(self, graph: Graph, role: str) -> None:
        self._set(role=role, _graph=graph)

    def __reduce__(self) -> Tuple[Any, ...]:
        return Body, (self._graph, self.role)

    @property
    def name(self) -> str:
        """The name of the graph."""
        return self._graph.model.graph_name(self._graph.path)

    @property
    def inputs(self) -> Ports:
        """The inputs: ``name``, ``dtype``, ``shape`` and ``symbols`` of each."""
        return self._graph.ports(True)

    @property
    def outputs(self) -> Ports:
        """The outputs: ``name``, ``dtype``, ``shape`` and ``symbols`` of each."""
        return self._graph.ports(False)

    @property
    def layers(self) -> Layers:
        """The layers in file order."""
        return Layers(self._graph)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Body):
            return NotImplemented
        mine, theirs = ((body.role, body.name, body.layers) for body in (self, other))
        return mine == theirs

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Body({self.role!r}, {len(self.layers)} layers)"

    def _repr_html_(self) -> str:
        from ._html import body

        return body(self)


class Bodies(Named[Body]):
    """The bodies of a layer in file order, by index or by role: ``body``, ``then_body`` or ``else_body``."""

    _bodies: Sequence[Body]

    def __init__(self, bodies: Sequence[Body]) -> None:
        roles = {body.role: index for index, body in enumerate(bodies)}
        super().__init__(len(bodies), lambda index: bodies[index], roles.get, lambda: list(roles), "body")
        self._set(_bodies=bodies)

    def __reduce__(self) -> Tuple[Any, ...]:
        return Bodies, (list(self._bodies),)
