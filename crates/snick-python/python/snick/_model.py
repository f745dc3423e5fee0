"""Models."""

from __future__ import annotations

import os
import weakref
from typing import Any, ClassVar, List, Optional, Sequence, Tuple, Union

from . import _snick
from ._answers import Certificate, Cost, Data, Diff, Finding, Findings, InferDocument, Report, Why
from ._edit import Editor
from ._errors import LayerError
from ._layers import Graph, Layer, Layers, Port, Ports
from ._progress import OnProgress
from ._readonly import ReadOnly, ReadOnlyList
from ._sequences import Symbols
from ._session import Inputs, Outputs, Session, _arrays, _names, _threads
from ._shapes import Shapes, _specification


class Inference(ReadOnly):
    """The result of inference. Items are the keys of ``snick infer --format json``: ``inference["nodes"]``."""

    inputs: Ports
    """The inputs."""
    outputs: Ports
    """The outputs."""
    errors: Sequence[LayerError]
    """The errors of layers; empty if there are none."""
    _model: _snick.Model
    _document: Optional[Data]

    def __init__(self, model: _snick.Model) -> None:
        graph = Graph(model, ())
        errors = ReadOnlyList([LayerError(*error) for error in model.infer()])
        self._set(
            inputs=graph.ports(True), outputs=graph.ports(False), errors=errors, _model=model, _document=None
        )

    def __reduce__(self) -> Tuple[Any, ...]:
        return Inference, (self._model,)

    @property
    def ok(self) -> bool:
        """Whether there are no errors."""
        return not self.errors

    @property
    def layers(self) -> Layers:
        """All layers."""
        return Layers(Graph(self._model, ()))

    @property
    def symbols(self) -> Symbols:
        """The symbols in the shapes of inputs and outputs, with their intervals. ``inference["symbols"]`` has all
        symbols, with reasons."""
        found = [port.symbols for ports in (self.inputs, self.outputs) for port in ports]
        by_name = {str(symbol): symbol for symbols in found for symbol in symbols}
        return Symbols(list(by_name.values()))

    def to_dict(self) -> Data:
        """The document of ``snick infer --format json``."""
        if self._document is None:
            import json

            self._set(_document=InferDocument(json.loads(self._model.infer_json())))
        assert self._document is not None
        return self._document

    def __getitem__(self, key: str) -> Any:
        return self.to_dict()[key]

    def __contains__(self, key: object) -> bool:
        return key in self.to_dict()

    def _ipython_key_completions_(self) -> List[str]:
        return list(self.to_dict())

    def __repr__(self) -> str:
        return f"Inference(inputs={self.inputs}, outputs={self.outputs}, errors={len(self.errors)})"

    def _keep(self) -> None:
        """Keeps the results, because the model is about to change."""
        self._set(_model=self._model.copy())

    def _repr_html_(self) -> str:
        from ._html import inference

        return inference(self)


class Model(ReadOnly):
    """A model, created by :func:`snick.load`.

    It is inferred on first use. Setting shapes and ``canonicalise`` change it. Several threads may use it.

    >>> import numpy as np, snick
    >>> model = snick.parse('''snick 1
    ... graph "crop" {
    ...   %x = Parameter-1 {element_type: i64, shape: "N"}
    ...   %start = Const-1 i64[1] <1>
    ...   %stop = Const-1 i64[1] <-1>
    ...   %step = Const-1 i64[1] <1>
    ...   %slice = Slice-8(%x, %start, %stop, %step)
    ...   %y = Result-1(%slice)
    ... }''')
    >>> model.outputs["y"]
    Port('y': i64[max(N-2,0)])
    >>> model.run({"x": np.array([1, 2, 3, 4])})["y"]
    array([2, 3])
    """

    _model: _snick.Model
    _inference: "Optional[weakref.ref[Inference]]"

    def __init__(self, model: _snick.Model) -> None:
        self._set(_model=model, _inference=None)

    def __reduce__(self) -> Tuple[Any, ...]:
        return Model, (self._model,)

    def _changing(self) -> _snick.Model:
        """The Rust model, which is about to change."""
        inference = self._inference() if self._inference is not None else None
        if inference is not None:
            inference._keep()
        self._set(_inference=None)
        return self._model

    @property
    def name(self) -> str:
        """The name of the graph."""
        return self._model.name

    @property
    def files(self) -> Sequence[str]:
        """The files the model was read from: the model, its weights, external data."""
        return ReadOnlyList([str(path) for path in self._model.files])

    @property
    def notes(self) -> Sequence[str]:
        """Notes of the reader, for example that the weights were not found."""
        return ReadOnlyList(self._model.notes)

    @property
    def inputs(self) -> Ports:
        """The inputs: ``name``, ``dtype``, ``shape`` and ``symbols`` of each."""
        return Graph(self._model, ()).ports(True)

    @property
    def outputs(self) -> Ports:
        """The outputs: ``name``, ``dtype``, ``shape`` and ``symbols`` of each."""
        return Graph(self._model, ()).ports(False)

    @property
    def layers(self) -> Layers:
        """The layers in file order, by index, name or tensor name; ``to_pandas()`` returns a table."""
        return Layers(Graph(self._model, ()))

    @property
    def errors(self) -> Sequence[LayerError]:
        """The errors of layers that :meth:`infer` raises."""
        return ReadOnlyList([LayerError(*error) for error in self._model.infer()])

    def infer(
        self, shapes: Optional[Shapes] = None, *, check: bool = True, progress: Optional[OnProgress] = None
    ) -> Inference:
        """Sets input shapes, if given, and infers the types and shapes of all layers.

        ``shapes`` is a text as on the command line, ``"x[N,3,H=32..64]"``; a mapping of input names or indices to texts
        or sequences; or the shape of the only input. In a sequence, ``None`` and ``-1`` mean dynamic, a pair is an
        interval, and a text is a symbol or an expression. The model keeps the shapes.

        >>> import snick
        >>> model = snick.parse('''snick 1
        ... graph "g" {
        ...   %x = Parameter-1 {element_type: f32, shape: "?,?"}
        ...   %y = Result-1(%x)
        ... }''')
        >>> model.infer(shapes={"x": ["N", (32, 64)]}).outputs["y"].shape
        Shape('[N,s1]')

        Raises ``InferError`` if a shape cannot be set or, unless ``check`` is false, if layers have errors; its
        ``errors`` lists all of them. After an exception the model keeps its previous shapes. ``progress`` is called with
        a :class:`Progress` after each layer; an exception that it raises stops inference.
        """
        if shapes is not None or progress is not None:
            specification = None if shapes is None else _specification(shapes)
            self._changing().reshape(specification, check, progress)
        if check:
            self._model.raise_errors()
        inference = Inference(self._model)
        self._set(_inference=weakref.ref(inference))
        return inference

    def reshape(self, shapes: Shapes, *, progress: Optional[OnProgress] = None) -> Inference:
        """Sets input shapes and infers the model, like :meth:`infer`."""
        return self.infer(shapes, progress=progress)

    def run(
        self,
        inputs: Optional[Inputs] = None,
        canon: bool = False,
        threads: Optional[int] = None,
        *,
        layers: Sequence[str] = (),
        progress: Optional[OnProgress] = None,
    ) -> Outputs:
        """Runs on arrays by input: layer names, tensor names or indices.

        Arrays of numpy and of any library with DLPack are read in place, including views with any strides. They must
        not be written to during the run, which releases the GIL. An array with another dtype is an error; nothing is
        converted. bf16 and f8 are dtypes of ``ml_dtypes``, or their bits as ``uint16`` and ``uint8``. Sub-byte elements
        are the ``uint8`` of their packed bytes, or a dtype of ``ml_dtypes``. Strings are arrays of ``str``.

        The outputs are writable and share no memory. ``canon`` runs the canonical form. ``threads`` is the number of
        threads, one by default; the outputs do not depend on it. Variables start without values; :meth:`session` keeps
        them. ``layers`` are inner values that are also returned, under these names: ``LAYER``, ``LAYER:PORT`` (ports count
        from 0), or tensor names. ``progress`` is called with a :class:`Progress` after each step; an exception that it raises stops the run.

        Raises ``RunError``, ``LimitError``.
        """
        names = _names(layers)
        return Outputs(self._model.run(_arrays(inputs), names, _threads(threads), canon, progress))

    def __call__(self, inputs: Optional[Inputs] = None) -> Outputs:
        """The same as :meth:`run`."""
        return self.run(inputs)

    def session(self, canon: bool = False) -> Session:
        """Prepares the model for any number of runs, which keep the variables of the model.

        >>> import numpy as np, snick
        >>> session = snick.parse('''snick 1
        ... graph "sum" {
        ...   %x = Parameter-1 {element_type: f32, shape: "2"}
        ...   %old = ReadValue-6(%x) {variable_id: "sum", variable_type: f32, variable_shape: "2"}
        ...   %new = Add-1(%old, %x) {auto_broadcast: "numpy"}
        ...   %put = Assign-6(%new) {variable_id: "sum"}
        ...   %y = Result-1(%new)
        ... }''').session()
        >>> one = np.ones(2, np.float32)
        >>> session.run({"x": one})["y"], session.run({"x": one})["y"]
        (array([2., 2.], dtype=float32), array([3., 3.], dtype=float32))
        >>> session.state
        {'sum': array([3., 3.], dtype=float32)}
        """
        return Session(self._model.session(canon))

    def edit(self) -> Editor:
        """Edits the model: all edits of a ``with`` block or, if an exception leaves it, none.

        >>> import numpy as np, snick
        >>> model = snick.parse('''snick 1
        ... graph "g" {
        ...   %x = Parameter-1 {element_type: f32, shape: "N,2"}
        ...   %r = ReLU-1(%x)
        ...   %w = Const-1 f32[2] <1, 2>
        ...   %s = Multiply-1(%r, %w)
        ...   %y = Result-1(%s)
        ... }''')
        >>> with model.edit() as e:
        ...     e.rename("x", "image")
        ...     e.replace_constant("w", np.array([3, 4], np.float32))
        ...     e.remove("r")
        ...     name = e.insert_after("s", "Clamp", min=0.0, max=6.0)
        >>> name, model.layers[name].attrs["max"], "r" in model.layers
        ('s/Clamp', 6.0, False)
        >>> model.run({"image": np.ones((1, 2), np.float32)})["y"]
        array([[3., 4.]], dtype=float32)
        """
        return Editor(self)

    def extract(self, inputs: Sequence[str] = (), outputs: Sequence[str] = ()) -> "Model":
        """The part of the model between values, which are named ``LAYER``, ``LAYER:PORT`` (ports count from 0) or by
        tensor name. The first inputs of the part are ``inputs``, with their inferred types and shapes; inputs of the model
        that the part still needs follow. Without ``outputs``, the part has the outputs of the model.

        >>> import snick
        >>> model = snick.parse('''snick 1
        ... graph "g" {
        ...   %x = Parameter-1 {element_type: f32, shape: "N,4"}
        ...   %hidden = ReLU-1(%x)
        ...   %s = Negative-1(%hidden)
        ...   %y = Result-1(%s)
        ... }''')
        >>> part = model.extract(inputs=["hidden"], outputs=["s"])
        >>> part.inputs, len(part.layers)
        ([Port('hidden': f32[N,4])], 3)

        An unknown name, or an input that no output needs, raises an error that is also a ``KeyError``.
        """
        return Model(self._model.extract(_names(inputs), _names(outputs)))

    def canonicalise(self, verify: bool = False, *, progress: Optional[OnProgress] = None) -> Report:
        """Brings the model into canonical form, in which ``slice`` is the only slice operation. ``verify`` runs the
        model before and after on random inputs and compares the bytes: ``verified`` of the report is true, false, or
        ``None`` if the model could not run. ``progress`` is called with a :class:`Progress` after each layer that is
        rewritten; an exception that it raises leaves the model as it was.

        >>> import snick
        >>> model = snick.parse('''snick 1
        ... graph "crop" {
        ...   %x = Parameter-1 {element_type: i64, shape: "N"}
        ...   %start = Const-1 i64[1] <1>
        ...   %stop = Const-1 i64[1] <-1>
        ...   %step = Const-1 i64[1] <1>
        ...   %slice = Slice-8(%x, %start, %stop, %step)
        ...   %y = Result-1(%slice)
        ... }''')
        >>> report = model.canonicalise(verify=True)
        >>> report.slice_like_before, report.slice_after, report.left, report.verified
        (1, 1, [], True)
        """
        return Report.of(self._changing().canonicalise(verify, progress))

    canonicalize = canonicalise

    def certify(
        self,
        after: "Optional[Model]" = None,
        *,
        seed: int = 0,
        smt: Union[str, "os.PathLike[str]", None] = None,
        progress: Optional[OnProgress] = None,
    ) -> Certificate:
        """Proves every rewrite of the canonical form for all sizes that the shapes allow; or that the model ``after``
        computes the same outputs from the same inputs. The model itself does not change.

        What is not proved is executed on random inputs, drawn from ``seed``, which may refute it. Each proof obligation
        is written to a file in the folder ``smt``, if given, as SMT-LIB 2. ``progress`` is called with a
        :class:`Progress` after each layer; an exception that it raises stops the work.

        >>> import snick
        >>> model = snick.parse('''snick 1
        ... graph "crop" {
        ...   %x = Parameter-1 {element_type: f32, shape: "N"}
        ...   %start = Const-1 i64[1] <1>
        ...   %stop = Const-1 i64[1] <-1>
        ...   %step = Const-1 i64[1] <1>
        ...   %slice = Slice-8(%x, %start, %stop, %step)
        ...   %y = Result-1(%slice)
        ... }''')
        >>> rewrite = model.certify().rewrites[0]
        >>> rewrite.rule, rewrite.layer, rewrite.loc
        ('lower-slices', 'slice', '7:3')
        >>> canonical = model.copy()
        >>> report = canonical.canonicalise()
        >>> [output.name for output in model.certify(after=canonical).outputs]
        ['y']

        Raises ``LimitError``.
        """
        folder = None if smt is None else os.fspath(smt)
        other = None if after is None else after._model
        return Certificate(*_snick.certify(self._model, other, seed, folder, progress))

    def check_certificate(
        self, path: Union[str, "os.PathLike[str]"], after: "Optional[Model]" = None
    ) -> None:
        """Checks a file of :meth:`Certificate.save` without searching for proofs: that it proves what it says about
        this model, or about this model and the model ``after``. Raises ``Error`` with the step that fails."""
        _snick.check_certificate(self._model, os.fspath(path), None if after is None else after._model)

    def why(
        self,
        target: Union[str, Layer, Port, None] = None,
        port: Optional[int] = None,
        axis: Optional[int] = None,
        *,
        unknown: bool = False,
        error: Optional[int] = None,
    ) -> Why:
        """Explains where a size comes from: ``"layer:port:axis"``, ``"layer"`` for all sizes of a layer, or a tensor
        name. ``unknown`` explains all sizes without an upper bound; ``error``, counted from 1, explains the operands of
        an inference error.

        >>> import snick
        >>> model = snick.parse('''snick 1
        ... graph "g" {
        ...   %x = Parameter-1 {element_type: f32, shape: "N,3"}
        ...   %at = NonZero-3(%x) {output_type: i64}
        ...   %y = Result-1(%at)
        ... }''')
        >>> why = model.why("at:0:1")
        >>> why.tree.role, why.tree.reason
        ('data', 'one for each element that is not 0')
        """
        if unknown:
            return Why.of(self._model.why_unknown())
        if error is not None:
            return Why.of(self._model.why_error(error - 1)) if error > 0 else self._no_error(error)
        if target is None:
            raise TypeError("why() needs a target, `unknown` or `error`")
        name = target if isinstance(target, str) else target.name
        if axis is not None and port is None:
            port = 0
        numbers = [str(number) for number in (port, axis) if number is not None]
        return Why.of(self._model.why(":".join([name, *numbers])))

    def _no_error(self, error: int) -> Why:
        raise IndexError(f"no error {error}; errors are counted from 1")

    def check(
        self, *, select: Sequence[str] = (), ignore: Sequence[str] = (), target_openvino: Optional[str] = None
    ) -> Findings:
        """Reports defects and likely mistakes, worst first. If the model is unchanged since it was read, problems of
        its file are included. ``select`` and ``ignore`` are codes, beginnings of codes, or names.

        >>> import snick
        >>> model = snick.parse('''snick 1
        ... graph "g" {
        ...   %x = Parameter-1 {element_type: f32, shape: "2,3"}
        ...   %mask = Parameter-1 {element_type: f32, shape: "2,3"}
        ...   %y = Result-1(%x)
        ... }''')
        >>> for finding in model.check():
        ...     print(finding.code, finding.layer, finding)
        S016 mask 4:3: warning S016 unused-input: nothing reads the input `mask`
        """
        status, found = self._model.check(_codes(select), _codes(ignore), target_openvino)
        path = (self.files or ["<bytes>"])[0]
        findings = [
            Finding(
                code=code,
                name=name,
                severity=severity,
                path=path,
                layer=layer or None,
                op=op or None,
                loc=loc,
                message=message,
                help=help,
                origins=origins,
            )
            for code, name, severity, layer, op, loc, message, help, origins in found
        ]
        return Findings(findings, status, path)

    def cost(self, shapes: Optional[Shapes] = None) -> Cost:
        """The cost of a run: multiply-accumulates, parameters, bytes and peak memory, as numbers or as texts of
        expressions of symbols. With ``shapes``, the cost for these input shapes; the model itself does not change.

        >>> import snick
        >>> model = snick.parse('''snick 1
        ... graph "g" {
        ...   %x = Parameter-1 {element_type: f32, shape: "N,4"}
        ...   %w = Const-1 f32[4,2] <1, 2, 3, 4, 5, 6, 7, 8>
        ...   %p = MatMul-1(%x, %w) {transpose_a: false, transpose_b: false}
        ...   %y = Result-1(%p)
        ... }''')
        >>> model.cost().macs, model.cost(shapes="x[3,4]").macs
        ('8*N', 24)
        """
        if shapes is None:
            return Cost.of(self._model.cost())
        other = self.copy()
        other.infer(shapes)
        return other.cost()

    def diff(self, other: "Model", *, canon: bool = False, run: Optional[Inputs] = None) -> Diff:
        """The same as :func:`snick.diff`."""
        from ._load import diff

        return diff(self, other, canon=canon, run=run)

    def save(
        self,
        path: Union[str, "os.PathLike[str]"],
        *,
        slice_as: Optional[str] = None,
        target: Optional[str] = None,
    ) -> None:
        """Writes the model in the format of the extension: ``.xml`` (with ``.bin``), ``.onnx``, ``.snick``, ``.mlir``,
        ``.json`` (DirectML), ``.dot`` or ``.svg``. ``slice_as="StridedSlice"`` supports IR readers older than opset8.
        ``target="openvino=2023.0"`` or ``target="onnx=13"`` rewrites what this release of OpenVINO or opset of ONNX
        lacks. Raises ``Error`` if the format or the target cannot express the model, and ``ValueError`` for an unknown
        target."""
        if slice_as not in (None, "Slice", "StridedSlice"):
            raise ValueError(f"slice_as is {slice_as!r}, expected 'Slice' or 'StridedSlice'")
        self._model.save(os.fspath(path), slice_as == "StridedSlice", target)

    def text(self) -> str:
        """The text form, with digests in place of weights."""
        return self._model.text()

    def picture(self, depth: Optional[int] = None, around: Optional[str] = None) -> str:
        """An SVG picture, of scopes down to ``depth``, or of the surroundings of the layer ``around``."""
        return self._model.picture(depth, around)

    def report(
        self,
        path: Union[str, "os.PathLike[str]", None] = None,
        *,
        diff: Optional["Model"] = None,
    ) -> str:
        """A self-contained HTML page that shows the model, and the changes to the model ``diff``. Also written to
        ``path``, if given."""
        text = self._model.report(None if diff is None else diff._model)
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return text

    def copy(self) -> "Model":
        """An independent copy. The copies share memory until one of them changes."""
        return Model(self._model.copy())

    def __copy__(self) -> "Model":
        return self.copy()

    def __deepcopy__(self, memo: Any) -> "Model":
        return self.copy()

    def __eq__(self, other: object) -> bool:
        return self._model.equals(other._model) if isinstance(other, Model) else NotImplemented

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Model({self.name!r}, {len(self.layers)} layers)"

    def _repr_html_(self) -> str:
        from ._html import model

        return model(self)


def _codes(codes: Union[str, Sequence[str]]) -> List[str]:
    return codes.split(",") if isinstance(codes, str) else list(codes)
