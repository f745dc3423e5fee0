"""Answers about a model: the JSON of the command line, with attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Dict, FrozenSet, List, Literal, Mapping, Optional, Sequence, Tuple
from typing import Type, TypeVar, Union, overload

from . import _snick
from ._readonly import ReadOnlyDict, ReadOnlyList

if TYPE_CHECKING:
    import os

    from ._model import Model

Amount = Union[int, str]
"""A number, or the text of an expression of symbols."""

A = TypeVar("A", bound="Answer")

Severity = Literal["error", "warning", "note"]


class Data(ReadOnlyDict):
    """An object of an answer. Its keys are also attributes; the key ``from``, a Python keyword, is ``from_``."""

    _nested: ClassVar[Mapping[str, "Type[Data]"]] = {}
    """The classes of inner objects, or of the objects in inner lists."""
    _optional: ClassVar[FrozenSet[str]] = frozenset()
    """Keys that the command line leaves out if they have no value. As attributes, they are ``None``."""

    def __init__(self, items: object = (), **named: Any) -> None:
        super().__init__(items, **named)
        self._freeze()

    if TYPE_CHECKING:

        def _freeze(self) -> None: ...

    else:

        def _freeze(self):
            """Converts inner objects and lists to answers."""
            for key, value in self.items():
                if type(value) in (dict, list):
                    dict.__setitem__(self, key, _answer(value, self._nested.get(key, Data)))

        def __getattr__(self, name):
            for key in (name, name.rstrip("_")):
                if key in self:
                    return self[key]
            if name in self._optional:
                return None
            # The names of special methods are looked up for every object.
            known = "" if name.startswith("__") else f"; it has {', '.join(map(str, self))}"
            raise AttributeError(f"{type(self).__name__} has no `{name}`{known}")

    def __dir__(self) -> List[str]:
        keys = (f"{key}_" if key == "from" else key for key in self)
        return sorted({*super().__dir__(), *keys, *self._optional})


def _answer(value: Any, of_class: Type[Data]) -> Any:
    """A value of a JSON document, with objects of this class."""
    if isinstance(value, dict):
        return of_class(value)
    if isinstance(value, list):
        return ReadOnlyList([_answer(item, of_class) for item in value])
    return value


class Answer(Data):
    """An answer: the keys of ``--format json``, as items and attributes; its text is the output of the command line."""

    schema: str
    """The name and version of the format."""
    _text: str

    def __init__(self, document: Tuple[str, str]) -> None:
        import json

        super().__init__(json.loads(document[0]))
        self._set(_text=document[1])

    @classmethod
    def of(cls: Type[A], document: Tuple[str, str]) -> A:
        """The answer of a document: its JSON and its text."""
        return cls(document)

    def __reduce__(self) -> Tuple[Any, ...]:
        import json

        return type(self), ((json.dumps(self), self._text),)

    def to_dict(self) -> Dict[str, Any]:
        """The plain dictionary."""
        import json

        plain: Dict[str, Any] = json.loads(json.dumps(self))
        return plain

    def __str__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        from ._html import preformatted

        return preformatted(self._text)


class SymbolOrigin(Data):
    """Where a symbol comes from."""

    _optional = frozenset({"loc", "port", "axis", "element", "reason"})

    name: str
    interval: str
    kind: str
    layer: str
    op: str
    loc: Optional[str]
    port: Optional[int]
    axis: Optional[int]
    reason: Optional[str]


class InferDocument(Data):
    """The document of ``snick infer --format json``."""

    _nested = {"symbols": SymbolOrigin}


class Suggestion(Data):
    """Input shapes to try, and what they give."""

    shape: str
    gives: str


class WhyTarget(Data):
    """The dim or element that is explained."""

    _optional = frozenset({"loc", "axis", "element"})

    layer: str
    op: str
    loc: Optional[str]
    port: int
    axis: Optional[int]
    element: Optional[int]


class WhyNode(Data):
    """A step of an explanation: an expression, where it is, and what it is computed from."""

    _optional = frozenset({"loc", "axis", "element", "reason", "input", "input_axis", "input_element"})

    expr: str
    interval: str
    layer: str
    op: str
    loc: Optional[str]
    port: int
    axis: Optional[int]
    element: Optional[int]
    role: Literal["input", "constant", "computed", "merged", "data", "given_up"]
    reason: Optional[str]
    input: Optional[int]
    """Of an operand of an error, the number of the input."""
    from_: "Sequence[WhyNode]"

    if not TYPE_CHECKING:

        @property
        def from_(self):
            """The steps before."""
            return self.get("from", ReadOnlyList())


WhyNode._nested = {"from": WhyNode}


class UnknownOrigin(Data):
    """Where sizes without an upper bound come from."""

    _optional = frozenset({"loc", "axis", "symbol", "reason"})
    _nested = {"suggest": Suggestion}

    layer: str
    op: str
    loc: Optional[str]
    symbol: Optional[str]
    axis: Optional[int]
    kind: str
    reason: Optional[str]
    dims: int
    layers: int
    outputs: int
    suggest: Sequence[Suggestion]


class WhyError(Data):
    """An inference error."""

    _optional = frozenset({"loc"})

    name: str
    op: str
    loc: Optional[str]
    message: str


class WhyPart(Data):
    """The explanation of one size."""

    _nested = {"target": WhyTarget, "tree": WhyNode, "suggest": Suggestion}

    target: WhyTarget
    dim: str
    interval: str
    known: bool
    tree: WhyNode
    suggest: Sequence[Suggestion]


class Why(Answer):
    """The origin of a size, a value or an error: ``snick.why/1``, ``snick.why-unknown/1`` or ``snick.why-error/1``."""

    _nested = {
        **WhyPart._nested,
        "parts": WhyPart,
        "symbols": SymbolOrigin,
        "origins": UnknownOrigin,
        "error": WhyError,
        "operands": WhyNode,
    }

    target: WhyTarget
    dim: str
    interval: str
    known: bool
    tree: WhyNode
    suggest: Sequence[Suggestion]
    parts: Sequence[WhyPart]
    symbols: Sequence[SymbolOrigin]
    origins: Sequence[UnknownOrigin]
    dims: int
    error: WhyError
    operands: Sequence[WhyNode]

    def _repr_html_(self) -> str:
        from ._html import why

        return why(self)


class NotLowered(Data):
    """A slice-like layer that stays, and why."""

    name: str
    op: str
    reason: str


class Report(Answer):
    """How the slices of a model were rewritten: ``snick.canon/1``."""

    _nested = {"left": NotLowered}

    slice_like_before: int
    slice_after: int
    rewrites: int
    layers_after: int
    left: Sequence[NotLowered]
    verified: Optional[bool]


class CertifiedRewrite(Data):
    """A rewrite, and whether it was proved."""

    rule: str
    op: str
    layer: str
    loc: Optional[str]
    status: Literal["proved", "sampled", "refuted"]
    reason: Optional[str]
    """Why it was not proved."""


class Counterexample(Data):
    """An element that differs between two models. Both were run to find it."""

    sizes: Mapping[str, int]
    """The sizes of the symbols in the input shapes of the first model."""
    index: Sequence[int]
    before: str
    after: str


class CertifiedOutput(Data):
    """Whether an output of a model equals the corresponding output of another model."""

    _nested = {"counterexample": Counterexample}

    name: str
    status: Literal["proved", "refuted", "undecided"]
    reason: Optional[str]
    """Why it was not proved equal."""
    counterexample: Optional[Counterexample]


class CertificateSummary(Data):
    """The numbers of rewrites or outputs by status."""

    _optional = frozenset({"applied", "sampled", "undecided"})

    applied: Optional[int]
    """All rewrites, including refuted ones, which were not made."""
    proved: int
    sampled: Optional[int]
    """Rewrites that were only executed on some sizes."""
    refuted: int
    undecided: Optional[int]
    """Outputs that are neither proved nor refuted."""


class Certificate(Answer):
    """What is proved about a model: ``snick.certify/1``, and proofs that can be saved and checked.

    >>> import snick
    >>> model = snick.parse('''snick 1
    ... graph "g" {
    ...   %x = Parameter-1 {element_type: f32, shape: "N"}
    ...   %y = Result-1(%x)
    ... }''')
    >>> certificate = model.certify()
    >>> certificate.check(model)
    >>> certificate.is_proved, certificate.summary.proved
    (True, 0)
    """

    _nested = {"rewrites": CertifiedRewrite, "outputs": CertifiedOutput, "summary": CertificateSummary}
    _optional = frozenset({"rewrites", "outputs"})

    rewrites: Sequence[CertifiedRewrite]
    """The rewrites in order; empty if two models were compared."""
    outputs: Sequence[CertifiedOutput]
    """The outputs of the first model; empty unless two models were compared."""
    summary: CertificateSummary
    _proofs: str

    if not TYPE_CHECKING:

        @property
        def rewrites(self):
            """The rewrites in order; empty if two models were compared."""
            return self.get("rewrites", ReadOnlyList())

        @property
        def outputs(self):
            """The outputs of the first model; empty unless two models were compared."""
            return self.get("outputs", ReadOnlyList())

    def __init__(self, document: Tuple[str, str], proofs: str) -> None:
        super().__init__(document)
        self._set(_proofs=proofs)

    def __reduce__(self) -> Tuple[Any, ...]:
        of_class, (document,) = super().__reduce__()
        return of_class, (document, self._proofs)

    @property
    def is_proved(self) -> bool:
        """Whether all rewrites or all outputs are proved."""
        rewrites = all(rewrite.status == "proved" for rewrite in self.rewrites)
        return rewrites and all(output.status == "proved" for output in self.outputs)

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the proofs to a file, for :meth:`Model.check_certificate`."""
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(self._proofs)

    def check(self, model: Model, after: Optional[Model] = None) -> None:
        """Checks the proofs without searching for them, like :meth:`Model.check_certificate`."""
        _snick.check_certificate_json(model._model, self._proofs, None if after is None else after._model)


class LayerCost(Data):
    """The cost of a layer."""

    _optional = frozenset({"loc"})

    name: str
    op: str
    loc: Optional[str]
    macs: Amount
    flops: Amount
    bytes: Amount


class Cost(Answer):
    """The cost of a run: ``snick.cost/1``. An amount is a number, or the text of an expression of symbols."""

    _nested = {"layers": LayerCost, "symbols": SymbolOrigin}

    parameters: int
    weights_bytes: int
    macs: Amount
    flops: Amount
    activation_bytes: Amount
    peak_bytes: Amount
    state_bytes: Amount
    layers: Sequence[LayerCost]
    symbols: Sequence[SymbolOrigin]


class LayerRef(Data):
    """A layer of one of the models."""

    _optional = frozenset({"loc"})

    name: str
    op: str
    loc: Optional[str]


class LayerChange(Data):
    """A layer that differs."""

    _optional = frozenset({"loc", "loc_b", "attrs", "weights", "types", "shapes"})

    a: str
    b: str
    op: str
    loc: Optional[str]
    attrs: Optional[Data]
    weights: Optional[Data]
    types: Optional[Sequence[str]]
    shapes: Optional[Sequence[str]]


class LayerChanges(Data):
    """The layers of both models."""

    _nested = {"added": LayerRef, "removed": LayerRef, "changed": LayerChange}

    same: int
    renamed: int
    added: Sequence[LayerRef]
    removed: Sequence[LayerRef]
    changed: Sequence[LayerChange]


class PortChange(Data):
    """An input or output of the models."""

    _optional = frozenset({"index", "index_b"})

    a: Optional[str]
    b: Optional[str]
    types: Optional[Sequence[str]]
    shapes: Optional[Sequence[str]]


class OutputDifference(Data):
    """How far an output of the second model is from that of the first."""

    name: str
    max_abs: Optional[float]
    max_rel: Optional[float]
    """``None`` if it is infinite."""
    worst_index: Optional[Sequence[int]]
    ok: bool


class LayerDifference(Data):
    """The first layer whose values differ in a run."""

    _optional = frozenset({"loc", "loc_b", "max_abs", "max_rel"})

    a: str
    b: str
    op: str
    loc: Optional[str]
    loc_b: Optional[str]
    max_abs: Optional[float]
    max_rel: Optional[float]


class Diff(Answer):
    """The differences between two models: ``snick.diff/1``. True if there are any."""

    _nested = {
        "inputs": PortChange,
        "outputs": PortChange,
        "layers": LayerChanges,
        "run": OutputDifference,
        "first_difference": LayerDifference,
    }
    _optional = frozenset({"first_difference"})

    equal: bool
    inputs: Sequence[PortChange]
    outputs: Sequence[PortChange]
    layers: LayerChanges
    shape_drift: Optional[Data]
    run: Optional[Sequence[OutputDifference]]
    """The outputs of ``diff(..., run=...)``."""
    first_difference: Optional[LayerDifference]

    def __bool__(self) -> bool:
        return not self.equal

    def _repr_html_(self) -> str:
        from ._html import diff

        return diff(self)


class Finding(Data):
    """A finding of :meth:`Model.check`."""

    code: str
    name: str
    severity: Severity
    path: str
    layer: Optional[str]
    op: Optional[str]
    loc: Optional[str]
    message: str
    help: str
    origins: Sequence[str]

    def __str__(self) -> str:
        place = f"{self.loc}: " if self.loc else ""
        from ._html import escape_controls

        return f"{place}{self.severity} {self.code} {self.name}: {escape_controls(self.message)}"


class Summary(Data):
    """The numbers of models, errors, warnings and notes."""

    models: int
    errors: int
    warnings: int
    notes: int


class Findings(ReadOnlyList[Finding]):
    """The findings, worst first. ``findings["summary"]`` and other keys of ``snick.check/1`` also work."""

    status: Literal["ok", "warning", "error", "unreadable", "limit"]
    """The worst severity, or why there are no other findings."""
    _path: str

    def __init__(self, findings: Sequence[Finding], status: str, path: str) -> None:
        super().__init__(findings)
        self._set(status=status, _path=path)

    def __reduce__(self) -> Tuple[Any, ...]:
        return Findings, (list(self), self.status, self._path)

    @property
    def findings(self) -> List[Finding]:
        """All findings."""
        return list(self)

    @property
    def summary(self) -> Summary:
        """The numbers of models, errors, warnings and notes."""
        severities = [finding.severity for finding in self]
        numbers = {f"{name}s": severities.count(name) for name in ("error", "warning", "note")}
        return Summary(models=1, **numbers)

    def to_dict(self) -> Dict[str, Any]:
        """The document of ``snick check --format json``."""
        models = [{"path": self._path, "status": self.status}]
        findings = [dict(finding) for finding in self]
        return {"schema": "snick.check/1", "models": models, "findings": findings, "summary": dict(self.summary)}

    @overload
    def __getitem__(self, key: int) -> Finding: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[Finding]: ...
    @overload
    def __getitem__(self, key: str) -> Any: ...
    def __getitem__(self, key: Union[int, slice, str]) -> Any:
        return self.to_dict()[key] if isinstance(key, str) else super().__getitem__(key)

    def _ipython_key_completions_(self) -> List[str]:
        return list(self.to_dict())

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    def _repr_html_(self) -> str:
        from ._html import findings

        return findings(self)
