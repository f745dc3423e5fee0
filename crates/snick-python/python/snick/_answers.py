"""Answers about a model: the JSON of the command line, with attributes."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union


class Data(Dict[str, Any]):
    """An object of an answer. Its keys are also attributes; the key ``from``, a Python keyword, is ``from_``."""

    def __getattr__(self, name: str) -> Any:
        for key in (name, name.rstrip("_")):
            if key in self:
                return self[key]
        raise AttributeError(f"{type(self).__name__} has no `{name}`; it has {', '.join(map(str, self))}")


class Answer(Data):
    """An answer: the keys of ``--format json``, as items and attributes; its text is the output of the command line."""

    _text: str

    def __init__(self, document: Tuple[str, str]) -> None:
        import json

        super().__init__(json.loads(document[0], object_hook=Data))
        self._text = document[1]

    def __reduce__(self) -> Any:
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


class Why(Answer):
    """The origin of a size, a value or an error: ``snick.why/1``, ``snick.why-unknown/1`` or ``snick.why-error/1``."""

    target: Data
    dim: str
    interval: str
    known: bool
    tree: Data
    suggest: List[Data]
    origins: List[Data]
    dims: int
    error: Data
    operands: List[Data]

    def _repr_html_(self) -> str:
        from ._html import why

        return why(self)


class Report(Answer):
    """How the slices of a model were rewritten: ``snick.canon/1``."""

    slice_like_before: int
    slice_after: int
    left: List[Data]
    verified: Optional[bool]


class Cost(Answer):
    """The cost of a run: ``snick.cost/1``. An amount is a number, or the text of an expression of symbols."""

    parameters: int
    weights_bytes: int
    macs: Union[int, str]
    flops: Union[int, str]
    activation_bytes: Union[int, str]
    peak_bytes: Union[int, str]
    state_bytes: Union[int, str]
    layers: List[Data]
    symbols: List[Data]


class Diff(Answer):
    """The differences between two models: ``snick.diff/1``. True if there are any."""

    equal: bool
    inputs: List[Data]
    outputs: List[Data]
    layers: Data
    shape_drift: Optional[Data]

    def __bool__(self) -> bool:
        return not self.equal

    def _repr_html_(self) -> str:
        from ._html import diff

        return diff(self)


class Finding(Data):
    """A finding of :meth:`Model.check`."""

    code: str
    name: str
    severity: str
    layer: Optional[str]
    op: Optional[str]
    loc: Optional[str]
    message: str
    help: str
    origins: List[str]

    def __str__(self) -> str:
        place = f"{self.loc}: " if self.loc else ""
        from ._html import escape_controls

        return f"{place}{self.severity} {self.code} {self.name}: {escape_controls(self.message)}"


class Findings(List[Finding]):
    """The findings, worst first. ``findings["summary"]`` and other keys of ``snick.check/1`` also work."""

    status: str
    """``ok``, ``warning``, ``error``, ``unreadable`` or ``limit``."""

    def __init__(self, findings: List[Finding], status: str, path: str) -> None:
        super().__init__(findings)
        self.status = status
        self._path = path

    @property
    def findings(self) -> List[Finding]:
        """All findings."""
        return list(self)

    @property
    def summary(self) -> Data:
        """The numbers of models, errors, warnings and notes."""
        count = [finding.severity for finding in self].count
        return Data(models=1, errors=count("error"), warnings=count("warning"), notes=count("note"))

    def to_dict(self) -> Dict[str, Any]:
        """The document of ``snick check --format json``."""
        models = [{"path": self._path, "status": self.status}]
        findings = [{**finding, "path": self._path} for finding in self]
        return {"schema": "snick.check/1", "models": models, "findings": findings, "summary": dict(self.summary)}

    def __getitem__(self, key: Any) -> Any:
        return self.to_dict()[key] if isinstance(key, str) else super().__getitem__(key)

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    def _repr_html_(self) -> str:
        from ._html import table

        rows = [(f.severity, f.code, f.name, f.layer or "", f.loc or "", f.message, f.help) for f in self]
        return table(("severity", "code", "name", "layer", "loc", "message", "help"), rows)
