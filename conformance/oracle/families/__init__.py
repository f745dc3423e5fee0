"""The questions, one function per file of cases. Each yields cases without ids and answers."""

from . import movement, slices
from .movement_intervals import movement_intervals
from .shape_graphs import shape_graphs

FAMILIES = {
    "onnx_slice": slices.onnx_slice,
    "openvino_slice": slices.openvino_slice,
    "openvino_strided_slice": slices.openvino_strided_slice,
    "slice_intervals": slices.intervals,
    "slice_symbols": slices.symbols,
    "slice_run_time": slices.run_time,
    **movement.FAMILIES,
    "shape_graphs": shape_graphs,
    "movement_intervals": movement_intervals,
}
