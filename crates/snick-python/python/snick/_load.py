"""Loads models from files, memory and other libraries, and compares them."""

from __future__ import annotations

import os
from typing import Any, Mapping, Optional, Tuple, TypedDict, Union

from . import _snick
from ._answers import Diff
from ._errors import _make
from ._model import Model
from ._progress import OnProgress
from ._session import Inputs, _arrays
from ._shapes import Shapes, _specification

Weights = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview]



class Limits(TypedDict, total=False):
    """Limits of :func:`load`."""

    layers: int
    """The number of layers."""
    memory: int
    """The bytes of the tensors of a run."""
    time: float
    """The seconds of a call."""


_LIMITS = ("layers", "memory", "time")


def load(
    model: Any,
    weights: Optional[Weights] = None,
    shapes: Optional[Shapes] = None,
    limits: Optional[Limits] = None,
    *,
    format: Optional[str] = None,
    ops: Union[str, "os.PathLike[str]", None] = None,
    progress: Optional[OnProgress] = None,
) -> Model:
    """Reads a model.

    ``model`` is the path of a file or folder, the bytes of a file, an ``onnx.ModelProto`` or an ``openvino.Model``. The
    extension of a file determines its format: ``.xml`` (OpenVINO IR), ``.onnx``, ``.json``, ``.snick``. The format of
    bytes is detected from their content, unless ``format`` is one of these extensions. ``weights`` is the path or the
    bytes of the ``.bin``; the default is the ``.bin`` next to the file. ``shapes`` are input shapes as in
    :meth:`Model.infer`. ``ops`` is a TOML file with shapes of custom operations.

    ``limits`` may contain ``layers``, ``memory`` (bytes of the tensors of a run) and ``time`` (seconds per call). They
    apply to this call and to everything that is done with the model. ``progress`` is called with a :class:`Progress`
    after each layer; an exception that it raises stops the call.

    Raises ``ReadError`` if there is no valid model, ``InferError`` if a shape cannot be set, and ``LimitError``.

    >>> import snick
    >>> text = b'snick 1\\ngraph "g" {\\n  %x = Parameter-1 {element_type: f32, shape: "?"}\\n  %y = Result-1(%x)\\n}\\n'
    >>> snick.load(text, shapes="x[W]", limits={"time": 5}).outputs[0].shape
    Shape('[W]')
    """
    layers, memory, time = _checked_limits(limits)
    is_path = isinstance(model, (str, os.PathLike))
    ops_path = None if ops is None else os.fspath(ops)
    if is_path and not isinstance(weights, (bytes, bytearray, memoryview)):
        weights_path = None if weights is None else os.fspath(weights)
        native = _snick.load_path(os.fspath(model), weights_path, ops_path, layers, memory, time, progress)
    else:
        content, beside, extension = _read(model) if is_path else _content(model)
        beside = _weights(weights) if weights is not None else beside
        extension = (format or extension or _extension(content)).lstrip(".")
        if beside is not None and extension not in ("xml", "snick"):
            raise _make("ReadError", "ValueError", "S001", f"a .{extension} model takes no weights", [])
        native = _snick.load_bytes(content, extension, beside, ops_path, layers, memory, time, progress)
    loaded = Model(native)
    if shapes is not None:
        native.reshape(_specification(shapes), False, None)
    return loaded


def parse(text: str) -> Model:
    """Reads the text form.

    >>> import snick
    >>> snick.parse('snick 1\\ngraph "g" {\\n  %x = Parameter-1 {element_type: f32, shape: "N"}\\n}\\n')
    Model('g', 1 layers)
    """
    return load(text.encode(), format="snick")


def diff(a: Any, b: Any, *, canon: bool = False, run: Optional[Inputs] = None) -> Diff:
    """The differences between two models in any formats, given as anything that :func:`load` accepts. Layers are
    matched by structure, not by name or order. ``canon`` compares the canonical forms.

    With ``run``, arrays by inputs of the first model, both models also run: ``run`` of the answer compares their outputs,
    and ``first_difference`` is the first layer whose values differ. Inputs without an array are random.

    >>> import snick
    >>> a, b = (snick.parse('''snick 1
    ... graph "g" {
    ...   %x = Parameter-1 {element_type: f32, shape: "N"}
    ...   %r = ReLU-1(%x)
    ...   %y = Result-1(%r)
    ... }'''.replace("ReLU", op)) for op in ("ReLU", "Abs"))
    >>> snick.diff(a, a).equal, snick.diff(a, b).equal
    (True, False)
    """
    first, second = (one if isinstance(one, Model) else load(one) for one in (a, b))
    arrays = None if run is None else _arrays(run)
    return Diff.of(_snick.diff(first._model, second._model, canon, arrays))


def to_openvino(model: Model) -> Any:
    """Converts the model to an ``openvino.Model`` through the files of an IR. Requires the package ``openvino``."""
    import tempfile

    import openvino

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.xml")
        model.save(path)
        xml, weights = _bytes_of(path), _bytes_of(os.path.join(folder, "model.bin"))
    return openvino.Core().read_model(xml, weights)


def _checked_limits(limits: Optional[Limits]) -> Tuple[Optional[int], Optional[int], Optional[float]]:
    given: Mapping[str, Any] = dict(limits or {})
    unknown = [name for name in given if name not in _LIMITS]
    if unknown:
        raise ValueError(f"no limit named {unknown[0]!r}; there are {', '.join(_LIMITS)}")
    layers, memory, time = (given.get(name) for name in _LIMITS)
    for name, value in (("layers", layers), ("memory", memory), ("time", time)):
        if value is not None and value < 0:
            raise ValueError(f"the limit of {name} is {value}, expected 0 or more")
    return (
        None if layers is None else int(layers),
        None if memory is None else int(memory),
        None if time is None else float(time),
    )


def _bytes_of(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError as error:
        raise _make("ReadError", "FileNotFoundError", "S001", f"cannot read {path}: {error}", []) from error
    except OSError as error:
        raise _make("ReadError", None, "S001", f"cannot read {path}: {error}", []) from error


def _read(path: Union[str, "os.PathLike[str]"]) -> Tuple[bytes, Optional[bytes], Optional[str]]:
    name = os.fspath(path)
    return _bytes_of(name), None, os.path.splitext(name)[1] or None


def _weights(weights: Weights) -> bytes:
    if isinstance(weights, (bytes, bytearray, memoryview)):
        return bytes(weights)
    return _bytes_of(os.fspath(weights))


def _content(model: Any) -> Tuple[bytes, Optional[bytes], Optional[str]]:
    """The bytes of a model, the bytes of its weights, and the extension that its file would have."""
    if isinstance(model, (bytes, bytearray, memoryview)):
        return bytes(model), None, None
    of_class = type(model)
    if of_class.__name__ == "ModelProto" and hasattr(model, "SerializeToString"):
        return model.SerializeToString(), None, "onnx"
    if of_class.__module__.partition(".")[0] == "openvino" and of_class.__name__ == "Model":
        import tempfile

        import openvino

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.xml")
            openvino.serialize(model, path)
            return _bytes_of(path), _bytes_of(os.path.join(folder, "model.bin")), "xml"
    raise TypeError(
        f"cannot load a {of_class.__name__}; expected a path, bytes, an onnx.ModelProto or an openvino.Model"
    )


def _extension(content: bytes) -> str:
    """The extension for the format of bytes, detected from their beginning."""
    start = content[:256].lstrip(b"\xef\xbb\xbf \t\r\n")
    for beginning, extension in ((b"<", "xml"), (b"snick", "snick"), (b"//", "snick"), (b"{", "json"), (b"[", "json")):
        if start.startswith(beginning):
            return extension
    if not start:
        raise _make("ReadError", "ValueError", "S001", "there are no bytes to read a model from", [])
    return "onnx"
