"""The cases as operations of TensorFlow, as far as its text claims them, for the engines of this family."""

from dataclasses import dataclass, field

import numpy

from formats.model import MASKS

from . import NotOffered
from .onnx_models import LONG

LATE_NAMES = {"start": "begin", "stop": "end", "step": "stride", "pads": "paddings"}


@dataclass
class Operation:
    """`lists` are the index inputs: arrays, or lists if some entries are computed from the sizes of the data."""

    kind: str
    lists: dict = field(default_factory=dict)
    attributes: dict = field(default_factory=dict)
    # Number of outputs, if it has a list of them, and which is asked for.
    parts: int | None = None
    output: int = 0


def operation_of(case):
    return OPERATIONS.get(case["op"].split("-")[0], strided_slice)(case)


def shapes_of(case):
    """The declared shapes of the data."""
    return case.get("shapes") or [case["shape"]]


def late_names(case):
    """The index inputs that are given at run time."""
    return {LATE_NAMES.get(name, name) for name in case.get("at_run_time", [])}


def listed(values, index_type="i64", dims=(-1,)):
    if any(isinstance(item, dict) for item in values):
        return values
    return numpy.array(values, LONG[index_type[0]] + index_type[1:]).reshape(dims)


def strided_slice(case):
    begin, end, stride, masks = strided(case)
    lists = {"begin": begin, "end": end, "stride": stride}
    return Operation("StridedSlice", {name: listed(lists[name], case["index_type"]) for name in lists}, masks)


def strided(case):
    """The entries, and the masks as numbers."""
    if case["op"] == "StridedSlice-1":
        begin, end = case["begin"], case["end"]
        stride = case.get("stride", [1] * len(begin))
        if any(case[name] and len(case[name]) != len(case["begin_mask"]) for name in MASKS):
            raise NotOffered("lengths of masks")
        masks = {name: sum(bit << i for i, bit in enumerate(case[name])) for name in MASKS}
        ignored = masks["new_axis_mask"] | masks["shrink_axis_mask"] | masks["ellipsis_mask"]
        if any(step == 0 and ignored >> i & 1 for i, step in enumerate(stride)):
            # "`strides` entries must be non-zero."
            raise NotOffered("a stride of 0 that is ignored")
        return begin, end, stride, masks
    if not case["op"].startswith("onnx.Slice"):
        raise NotOffered("other operators")
    start, stop = case["start"], case["stop"]
    step = case.get("step", [1] * len(start))
    if "axes" not in case:
        return start, stop, step, dict.fromkeys(MASKS, 0)
    return on_axes(case, start, stop, step)


def on_axes(case, start, stop, step):
    """Entries for all axes, in which those that are not sliced are masked."""
    if "axes" in case.get("at_run_time", []):
        raise NotOffered("axes known only at run time")
    rank, axes = len(case["shape"]), case["axes"]
    by_axis = {axis % rank: entry for axis, *entry in zip(axes, start, stop, step) if -rank <= axis < rank}
    if not len(by_axis) == len(axes) == len(start) == len(stop) == len(step):
        raise NotOffered("axes that are refused")
    begin, end, stride = (list(column) for column in zip(*(by_axis.get(axis, (0, 0, 1)) for axis in range(rank))))
    masked = sum(1 << axis for axis in range(rank) if axis not in by_axis)
    return begin, end, stride, dict.fromkeys(MASKS, 0) | {"begin_mask": masked, "end_mask": masked}


def reshape(case):
    if 0 in case["to"] and (-1 in case["to"] or not case.get("allowzero")):
        raise NotOffered("a 0 that copies a size, or is an error beside -1")
    return Operation("Reshape", {"to": listed(case["to"])})


def concat(case):
    return Operation("Concat", {}, {"axis": case["axis"]})


def split(case):
    attributes, outputs = {"axis": case["axis"]}, {"parts": case["parts"], "output": case["output"]}
    if "split" in case:
        return Operation("SplitV", {"split": listed(case["split"])}, attributes, **outputs)
    if case["op"] != "onnx.Split-13":
        raise NotOffered("parts of different sizes without lengths")
    return Operation("Split", {}, attributes, **outputs)


def gather(case):
    if any(at < 0 for at in case["index"]):
        raise NotOffered("negative indices")
    return Operation("Gather", {"index": listed(case["index"], dims=case["index_shape"])}, {"axis": case["axis"]})


def pad(case):
    pads, mode = case["pads"], case["mode"]
    if mode == "edge" or "axes" in case or len(pads) % 2 or min(pads, default=0) < 0:
        raise NotOffered("the mode edge, axes, and negative padding")
    if mode == "reflect" and 0 in case["shape"]:
        # "`paddings[D, 0]` [..] must be no greater than `tensor.dim_size(D) - 1`".
        raise NotOffered("reflection of an axis without elements")
    return Operation("MirrorPad" if mode == "reflect" else "Pad", {"paddings": listed(pads, dims=(2, -1)).T})


def expand(case):
    data, to = case["shape"][::-1], case["to"][::-1]
    if len(to) < len(data) or any(size == 1 and own != 1 for own, size in zip(data, to)):
        raise NotOffered("a target that is broadcast to the data")
    return Operation("BroadcastTo", {"to": listed(case["to"])})


OPERATIONS = {"onnx.Reshape": reshape, "onnx.Concat": concat, "onnx.Split": split, "onnx.Gather": gather,
              "onnx.Pad": pad, "onnx.Expand": expand}
