"""Model files of a case, written with the standard library only."""

from .mlir_file import mlir_text
from .model import Model, build
from .onnx_file import onnx_bytes
from .openvino_file import openvino_texts

__all__ = ["Model", "build", "mlir_text", "onnx_bytes", "openvino_texts"]
