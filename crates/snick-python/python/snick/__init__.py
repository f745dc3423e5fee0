"""Read, infer, canonicalise, run and write OpenVINO IR and ONNX models, without the OpenVINO runtime.

>>> import numpy as np, snick
>>> model = snick.parse('''snick 1
... graph "g" {
...   %x = Parameter-1 {element_type: f32, shape: "N,3"}
...   %r = ReLU-1(%x)
...   %y = Result-1(%r)
... }''')
>>> model.outputs["y"].dtype, model.outputs["y"].shape
(DType('f32'), Shape('[N,3]'))
>>> model.run({"x": np.array([[-1, 2, 3]], np.float32)})["y"]
array([[0., 2., 3.]], dtype=float32)
"""

from ._answers import (
    Answer,
    Certificate,
    CertificateSummary,
    CertifiedOutput,
    CertifiedRewrite,
    Cost,
    Counterexample,
    Data,
    Diff,
    Finding,
    Findings,
    LayerChange,
    LayerChanges,
    LayerCost,
    LayerDifference,
    LayerRef,
    NotLowered,
    OutputDifference,
    PortChange,
    Report,
    Suggestion,
    Summary,
    SymbolOrigin,
    UnknownOrigin,
    Why,
    WhyError,
    WhyNode,
    WhyPart,
    WhyTarget,
)
from ._dtypes import DType
from ._edit import Editor
from ._errors import Error, InferError, LayerError, LimitError, ReadError, RunError
from ._layers import Attributes, Bodies, Body, Layer, Layers, Output, Port, Ports, Source
from ._load import Limits, diff, load, parse, to_openvino
from ._model import Inference, Model
from ._progress import Progress
from ._readonly import ReadOnlyError, ReadOnlyList
from ._sequences import Named, Shape, Symbol, Symbols
from ._session import Outputs, Session
from ._snick import __version__

__all__ = [
    "Answer",
    "Attributes",
    "Bodies",
    "Body",
    "Certificate",
    "CertificateSummary",
    "CertifiedOutput",
    "CertifiedRewrite",
    "Cost",
    "Counterexample",
    "DType",
    "Data",
    "Diff",
    "Editor",
    "Error",
    "Finding",
    "Findings",
    "InferError",
    "Inference",
    "Layer",
    "LayerChange",
    "LayerChanges",
    "LayerCost",
    "LayerDifference",
    "LayerError",
    "LayerRef",
    "Layers",
    "LimitError",
    "Limits",
    "Model",
    "Named",
    "NotLowered",
    "Output",
    "OutputDifference",
    "Outputs",
    "Port",
    "PortChange",
    "Ports",
    "Progress",
    "ReadError",
    "ReadOnlyError",
    "ReadOnlyList",
    "Report",
    "RunError",
    "Session",
    "Shape",
    "Source",
    "Suggestion",
    "Summary",
    "Symbol",
    "SymbolOrigin",
    "Symbols",
    "UnknownOrigin",
    "Why",
    "WhyError",
    "WhyNode",
    "WhyPart",
    "WhyTarget",
    "__version__",
    "diff",
    "load",
    "parse",
    "to_openvino",
]
