#!/usr/bin/env python3
"""Makes the models in this folder and records what OpenVINO says of them.

    python make_models.py            # all of them
    python make_models.py NAME ...   # only these

Needs openvino (2026.4 was used) and numpy; `bpe_tokenizer` and `bpe_detokenizer` need
openvino_tokenizers, tokenizers and transformers as well. The same versions give the same bytes.

Each NAME/ gets:
    model.xml, model.bin   the model
    about.md               what it shows
    expect/shapes.json     every layer of the file after reading: name, type, outputs, bodies of
                           sub-graphs; the runtime's own names for types, its shapes
    expect/io.npz          one run on the CPU in f32: every Parameter and Result under its
                           layer name; inputs are repeated as in0, in1, ... in model order

numpy has no type for some elements, so io.npz holds their bits: u16 for bf16, u8 for the f8
types, packed u8 for the 1-bit and 4-bit types. Strings are UTF-8 in fixed-width bytes.
"""

import json
import re
import struct
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable
from xml.sax.saxutils import quoteattr

import numpy as np
import openvino as ov
from openvino import opset13 as op

HERE = Path(__file__).resolve().parent
I64_MAX = 2**63 - 1


@dataclass
class Recipe:
    """One model: how to write it, what to say of it, what to feed it."""

    name: str
    shows: str
    write: Callable[[Path], None]
    inputs: dict = field(default_factory=dict)
    right: dict = field(default_factory=dict)  # Result name -> the answer, where known beforehand
    extensions: list = field(default_factory=list)
    unrecorded: tuple = ()  # Results whose values mean nothing


def iota(*shape, dtype=np.float32):
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


def noise(seed, *shape, scale=1.0):
    draw = np.random.RandomState(seed).standard_normal(shape)
    return (draw * scale).astype(np.float32)


# ---------------------------------------------------------------- IR written by hand

PRECISION = {"f32": "FP32", "f16": "FP16", "f64": "FP64", "boolean": "BOOL", "u1": "BIN"}


class Net:
    """Writes IR v11 layer by layer, so that nothing is folded, reordered or renamed."""

    def __init__(self, name):
        self.name, self.layers, self.edges, self.blob = name, [], [], bytearray()

    def layer(self, kind, name, inputs=(), outputs=(), attrs=None, version="opset1"):
        """`inputs` are references from earlier calls, `outputs` are (element type, dims)."""
        id = len(self.layers)
        lines = [f'\t\t<layer id="{id}" name={quoteattr(name)} type="{kind}" version="{version}">']
        if attrs is not None:
            text = "".join(f" {key}={quoteattr(str(value))}" for key, value in attrs.items())
            lines.append(f"\t\t\t<data{text} />")
        lines += port_lines("input", 0, [ref[2:] for ref in inputs])
        lines += port_lines("output", len(inputs), outputs)
        self.layers.append("\n".join([*lines, "\t\t</layer>"]))
        self.edges += [(ref[0], ref[1], id, port) for port, ref in enumerate(inputs)]
        return [(id, len(inputs) + k, *out) for k, out in enumerate(outputs)]

    def parameter(self, name, type, dims):
        attrs = {"shape": ",".join(map(str, dims)), "element_type": type}
        return self.layer("Parameter", name, (), [(type, dims)], attrs)[0]

    def const(self, name, type, dims, raw):
        attrs = {"element_type": type, "shape": ",".join(map(str, dims))}
        attrs |= {"offset": len(self.blob), "size": len(raw)}
        self.blob += raw
        return self.layer("Const", name, (), [(type, dims)], attrs)[0]

    def index(self, name, type, values):
        return self.const(name, type, [len(values)], np.array(values, np_type(type)).tobytes())

    def result(self, name, ref):
        self.layer("Result", name, [ref])

    def save(self, folder):
        edge = '\t\t<edge from-layer="{}" from-port="{}" to-layer="{}" to-port="{}" />'
        edges = "\n".join(edge.format(*ends) for ends in self.edges)
        layers = "\n".join(self.layers)
        text = f'<?xml version="1.0"?>\n<net name="{self.name}" version="11">\n\t<layers>\n{layers}\n'
        text += f"\t</layers>\n\t<edges>\n{edges}\n\t</edges>\n</net>\n"
        save_bytes(folder, text.encode(), bytes(self.blob))


def port_lines(side, first, ports):
    if not ports:
        return []
    lines = [f"\t\t\t<{side}>"]
    for port, (type, dims) in enumerate(ports, first):
        sizes = "".join(f"<dim>{dim}</dim>" for dim in dims)
        lines.append(f'\t\t\t\t<port id="{port}" precision="{PRECISION.get(type, type.upper())}">{sizes}</port>')
    return [*lines, f"\t\t\t</{side}>"]


def np_type(type):
    return {"f": "<f{}", "i": "<i{}", "u": "<u{}"}[type[0]].format(int(type[1:]) // 8)


def save_bytes(folder, xml, weights):
    folder.mkdir(exist_ok=True)
    (folder / "model.xml").write_bytes(xml)
    (folder / "model.bin").write_bytes(weights)


# ---------------------------------------------------------------- the Slice-8 document


def slice8(name, shows, dims, start, stop, step, axes, answer, types=("i64", "i64", "i64", "i64")):
    """One example; `types` are those of start, stop, step and axes. `axes` None: no such port."""
    data = iota(*dims)

    def write(folder):
        net = Net(name)
        inputs = [net.parameter("data", "f32", dims)]
        lists = dict(start=start, stop=stop, step=step, axes=axes)
        for (port, values), type in zip(lists.items(), types):
            if values is not None:
                inputs.append(net.index(port, type, values))
        out = net.layer("Slice", "slice", inputs, [("f32", answer.shape)], version="opset8")
        net.result("out", out[0])
        net.save(folder)

    return Recipe(name, shows, write, {"data": data}, {"out": answer})


TEN = iota(10)
BOX = iota(20, 10, 5)
PYTHON_RULE = (
    "Slip: the document says that Python's rules hold. They do here, but not where a negative\n"
    "step starts below the tensor: start is then clamped to 0 and one element is left."
)


def slice8_recipes():
    one = [10]
    return [
        slice8("slice8_01_basic",
            "Example 1: `data[1:8]`, all five inputs given.\nNothing to correct.",
            one, [1], [8], [1], [0], TEN[1:8]),
        slice8("slice8_02_default_axes",
            "Example 2: `data[1:8]` without the axes input.\n"
            "The runtime adds that input as a constant; expect/shapes.json leaves it out.",
            one, [1], [8], [1], None, TEN[1:8]),
        slice8("slice8_03_step_2",
            "Example 3: `data[1:8:2]`. An older edition prints this example twice.\n"
            "The indices are i32 here, the axes u8: each input has an integer type of its own.",
            one, [1], [8], [2], [0], TEN[1:8:2], ("i32", "i32", "i32", "u8")),
        slice8("slice8_04_clamped",
            "Example 4: `data[-100:100]`, both ends clamped: the identity.\n"
            "The indices are i8, where -100 and 100 still fit.",
            one, [-100], [100], [1], [0], TEN, ("i8", "i8", "i8", "i64")),
        slice8("slice8_05_backward_all",
            "Example 5: `data[9:-11:-1]`, all elements backward.\n"
            "-11 and not -1 means through the first element: -1 would be the last one.\n" + PYTHON_RULE,
            one, [9], [-11], [-1], [0], TEN[::-1]),
        slice8("slice8_06_backward_stop_0",
            "Example 6: `data[9:0:-1]`: stop is exclusive, element 0 is not taken.\n"
            "The negative axis -1 replaces the document's 0.",
            one, [9], [0], [-1], [-1], TEN[9:0:-1]),
        slice8("slice8_07_backward_stop_minus_10",
            "Example 7: `data[9:-10:-1]`. -10 is index 0, so this equals example 6.",
            one, [9], [-10], [-1], [0], TEN[9:0:-1], ("i16", "i16", "i16", "i16")),
        slice8("slice8_08_backward_step_2",
            "Example 8: `data[9:-11:-2]`: 9, 7, 5, 3, 1.\nNothing to correct.",
            one, [9], [-11], [-2], [0], TEN[::-2]),
        slice8("slice8_09_backward_clamped",
            "Example 9: `data[100:-100:-1]`: start is clamped to 9, stop to before 0.\n" + PYTHON_RULE,
            one, [100], [-100], [-1], [0], TEN[::-1]),
        slice8("slice8_10_two_axes",
            "Example 10: `data[0:2, 1:4:2]`.\n"
            "Slip: the output is printed flat, [1, 3, 6, 8]; its shape is [2,2].",
            [2, 5], [0, 1], [2, 4], [1, 2], [0, 1], iota(2, 5)[:, 1:4:2]),
        slice8("slice8_11_three_axes",
            "Example 11: `data[0:4, 0:10, 0:5]`; only the first axis is cut.\n"
            "Slip: the ports of start, stop, step and axes are printed with <dim>2</dim>\n"
            "although each list has three elements. They have 3 here; as printed the model is wrong.",
            [20, 10, 5], [0, 0, 0], [4, 10, 5], [1, 1, 1], [0, 1, 2], BOX[:4]),
        slice8("slice8_12_last_axis_whole",
            "Example 12: `data[0:4, 0:10]`; the last axis is not mentioned and passes whole.\n"
            "Slip: the title calls the last axes default, yet the axes input is there: [0, 1].\n"
            "What is left out is the third axis, not the input.",
            [20, 10, 5], [0, 0], [4, 10], [1, 1], [0, 1], BOX[:4]),
    ]


# ---------------------------------------------------------------- the StridedSlice-1 document

MASKS = ["begin", "end", "new_axis", "shrink_axis", "ellipsis"]


def strided(name, shows, data, begin, end, stride, masks, answer, type="f32"):
    """One example; `masks` are the texts of the masks in the order of MASKS."""

    def write(folder):
        net = Net(name)
        inputs = [net.parameter("data", type, data.shape)]
        for port, values in dict(begin=begin, end=end, stride=stride).items():
            inputs.append(net.index(port, "i64", values))
        attrs = {f"{mask}_mask": text for mask, text in zip(MASKS, masks)}
        out = net.layer("StridedSlice", "strided_slice", inputs, [(type, answer.shape)], attrs)
        net.result("out", out[0])
        net.save(folder)

    return Recipe(name, shows, write, {"data": data}, {"out": answer})


def strided_recipes():
    return [*strided_of_the_older_edition(), *strided_of_the_newer_edition()]


def strided_of_the_older_edition():
    box = iota(2, 3, 4)
    rows = (np.arange(2 * 384) % 251).astype(np.uint8).reshape(1, 2, 384, 1, 1)
    wide = np.tile(rows, (1, 1, 1, 640, 8))
    three = "Slip: the index ports are printed with <dim>2</dim> although three values are meant."
    return [
        strided("strided_slice_01_begin_end_mask",
            "`data[1:, :, :2]` by begin_mask and end_mask.\n" + three + "\n"
            "Slip: for three values begin[0] = -1 is said to mean 3; it means 2.",
            box, [1, 0, 0], [0, 0, 2], [1, 1, 1],
            ["0,1,1", "1,1,0", "0,0,0", "0,0,0", "0,0,0"], box[1:, :, :2]),
        strided("strided_slice_02_new_axis",
            "`data[newaxis, :, :]`: entry 0 makes an axis and consumes none, so the\n"
            "third axis is reached by the implicit tail.\n" + three + "\n"
            "The document gives no values; here entry 0 has values that must be ignored.",
            box, [77, 5, 5], [-77, 5, 5], [3, 1, 1],
            ["0,1,1", "0,1,1", "1,0,0", "0,0,0", "0,0,0"], box[None]),
        strided("strided_slice_03_shrink",
            "`data[:, 1, :, :, :]`: entry 1 takes one index and drops its axis.\n"
            "The document gives no values: index 1, so that it differs from a default of 0.\n"
            "The type is u8 (the document names none) to keep 3.9 MB of data from being 16; rows are\n"
            "constant so that the recording compresses.",
            wide, [9, 1, 9, 9, 9], [0, 2, 0, 0, 0], [1, 1, 1, 1, 1],
            ["1,0,1,1,1", "1,0,1,1,1", "0,0,0,0,0", "0,1,0,0,0", "0,0,0,0,0"], wide[:, 1], "u8"),
    ]


def strided_of_the_newer_edition():
    cube, square, box, flat = iota(4, 4, 4, 4, 4, 4), iota(2, 2), iota(2, 3, 4), iota(2, 4)
    ten_axes = iota(10, 1, 2, 1, 3, 1, 1, 1, 1, 10)
    no_masks = [""] * 5
    absent = "Slip: `<data/>` has no masks although begin_mask and end_mask are required; they are \"\" here."
    return [
        strided("strided_slice_04_strides",
            "`data[0:4, 1:4, 0:4:2, 1:4:2, 3:0:-1, 3:0:-2]`, both directions in one op.\n" + absent + "\n"
            "Slip: the fifth size is printed as 4; stop is exclusive backward too, so it is 3.",
            cube, [0, 1, 0, 1, 3, 3], [4, 4, 4, 4, 0, 0], [1, 1, 2, 2, -1, -2],
            no_masks, cube[0:4, 1:4, 0:4:2, 1:4:2, 3:0:-1, 3:0:-2]),
        strided("strided_slice_05_clamped",
            "`data[1234:1234, 2:4321:-1]` on [2,2].\n" + absent + "\n"
            "Slip: the printed shape is [1,1]. Forward, both ends clamp to 2: nothing is left. Backward,\n"
            "start clamps to 1 and stop to 2: nothing is left. The shape is [0,0], which is legal.\n"
            "(Equal ends do not give one element either, as the text has it.)",
            square, [1234, 2], [1234, 4321], [1, -1], no_masks, square[2:2, 1:2:-1]),
        strided("strided_slice_06_negative_end",
            "`data[0:2, 0:2, 0:-1]`: -1 means 3.\n" + absent,
            box, [0, 0, 0], [2, 2, -1], [1, 1, 1], no_masks, box[0:2, 0:2, 0:-1]),
        strided("strided_slice_07_masks_backward",
            "`data[1:, :, ::-1]` by masks; the last entry goes backward.\n"
            "Slip: the last size is printed as 3, as if a masked end stopped before index 0.\n"
            "It means through index 0: 4 elements.\n"
            "Slip: masks of five, two and one bits are printed; a length must be that of begin_mask or 0.",
            box, [1, 1, 123], [0, 0, 2], [1, 1, -1],
            ["0,1,1", "1,1,1", "0,0,0", "0,0,0", "0,0,0"], box[1:, :, ::-1]),
        strided("strided_slice_08_two_new_axes",
            "`data[newaxis, 0:2, newaxis, 0:4]`; entries of new axes hold values to ignore.\n"
            "Nothing to correct.",
            flat, [1234, 0, -1, 0], [1234, 2, 9876, 4], [132, 1, 241, 1],
            ["0,0,0,0", "0,0,0,0", "1,0,1,0", "0,0,0,0", "0,0,0,0"], flat[None, 0:2, None, 0:4]),
        strided("strided_slice_09_shrink_by_values",
            "`data[0:1, 0, 0:h, 0:w, 0:8]` with exact ends; end[1] = begin[1].\n"
            "Slip: the text wants end = begin on a shrunk entry; end is not looked at.\n"
            "The sizes 384 and 640 are 24 and 20 here: strided_slice_03_shrink has them in full.",
            iota(1, 2, 24, 20, 8, dtype=np.uint8), [0, 0, 0, 0, 0], [1, 0, 24, 20, 8], [1, 1, 1, 1, 1],
            ["0,0,0,0,0", "0,0,0,0,0", "0,0,0,0,0", "0,1,0,0,0", "0,0,0,0,0"],
            iota(1, 2, 24, 20, 8, dtype=np.uint8)[:, 0], "u8"),
        strided("strided_slice_10_ellipsis",
            "`data[0:4, ..., 0:5]` on ten axes.\n"
            "Slip: the text says ten axes, twelve are printed. Ten here, and the eight skipped ones are\n"
            "small: ten tens would be 40 GB.",
            ten_axes, [0, 0, 0], [4, 0, 5], [1, -1, 1],
            ["0,0,0", "0,0,0", "0,0,0", "0,0,0", "0,1,0"], ten_axes[0:4, ..., 0:5]),
        strided("strided_slice_11_ellipsis_new_axis",
            "`data[2:, ..., newaxis, :5]` on ten axes.\n"
            "Slips: twelve axes are printed for ten; the index ports have <dim>3</dim> for four values; the\n"
            "title slices `:10`, the values `:5`; masks of differing lengths are padded with zeros here.\n"
            "The eight skipped axes are small: ten tens would be 40 GB.",
            ten_axes, [2, 1, 10, 10], [123, 1, 10, 5], [1, -1, 1, 1],
            ["0,0,1,1", "1,1,0,0", "0,0,1,0", "0,0,0,0", "0,1,0,0"], ten_axes[2:, ..., None, :5]),
    ]


# ---------------------------------------------------------------- weights of every type


def string_blob(texts):
    """The layout of a string Const: count, 0, the end of each text, all the bytes."""
    raw = [text.encode() for text in texts]
    ends = np.cumsum([len(text) for text in raw]).astype("<i4")
    return struct.pack("<ii", len(raw), 0) + ends.tobytes() + b"".join(raw)


def typed_weights():
    """(element type, dims, bytes): odd counts for the packed types, extremes for the others."""
    rows = [
        ("u1", [16], bytes([0b10110010, 0b01100001])),
        ("u4", [5], bytes([0x10, 0xF8, 0x07])),
        ("i4", [5], bytes([0x10, 0xF8, 0x07])),
        ("nf4", [5], bytes([0x10, 0xF8, 0x07])),
        ("f8e4m3", [6], bytes([0x00, 0x38, 0xB8, 0x7E, 0x01, 0x7F])),
        ("f8e5m2", [6], bytes([0x00, 0x3C, 0xBC, 0x7B, 0x7C, 0x7E])),
        ("bf16", [2, 2], np.array([0x3F80, 0xC000, 0x7F80, 0x0001], "<u2").tobytes()),
        ("boolean", [3], bytes([1, 0, 1])),
        ("string", [4], string_blob(["snick", "", "é", "two words"])),
    ]
    for type in ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64"]:
        info = np.iinfo(np_type(type))
        rows.append((type, [3], np.array([info.min, 1, info.max], np_type(type)).tobytes()))
    for type in ["f16", "f32", "f64"]:
        info = np.finfo(np_type(type))
        values = [info.min, -0.0, info.smallest_subnormal, 1.5, np.inf]
        rows.append((type, [5], np.array(values, np_type(type)).tobytes()))
    return rows


def weights_types():
    def write(folder):
        net = Net("weights_types")
        for type, dims, raw in typed_weights():
            net.result(f"out_{type}", net.const(f"const_{type}", type, dims, raw))
        net.save(folder)

    shows = (
        "A Const of every element type (u1 u4 i4 nf4, f8e4m3 f8e5m2 f16 bf16 f32 f64, u8..u64,\n"
        "i8..i64, boolean, string), each straight to a Result. Odd counts in the 4-bit types leave half a\n"
        "byte unused; nothing in model.bin is aligned. Strings are stored as count, 0, end offsets, UTF-8\n"
        "bytes (i32 each).\n"
        "expect/io.npz holds the stored bits of every Const, not the runtime's output: its CPU refuses or\n"
        "rounds some types. What it does give unharmed was compared while making the file.\n"
        "bf16 is held as u16 bits, f8 as u8 bits, packed types as packed u8, strings as fixed-width bytes."
    )
    return Recipe("weights_types", shows, write, {}, {f"out_{row[0]}": stored(*row) for row in typed_weights()})


def stored(type, dims, raw):
    """The array that io.npz keeps for a Const."""
    if type == "string":
        return unpack_strings(raw)
    if type in ("u1", "u4", "i4", "nf4"):
        return np.frombuffer(raw, np.uint8)
    kinds = {"boolean": "?", "bf16": "<u2", "f8e4m3": "u1", "f8e5m2": "u1"}
    return np.frombuffer(raw, kinds.get(type) or np_type(type)).reshape(dims)


def unpack_strings(raw):
    count = struct.unpack_from("<i", raw)[0]
    ends = np.frombuffer(raw, "<i4", count + 1, 4)
    text = raw[4 * (count + 2):]
    return np.array([text[a:b] for a, b in zip(ends, ends[1:])])


# ---------------------------------------------------------------- IR v10 from the wild

V10 = """\
<net name="v10 &amp; friends" version="10">
  <layers>
    <layer id="90" name="fancy &lt;out&gt;" type="Result" version="opset1">
      <input><port id="0"><dim>1</dim><dim>4</dim><dim>6</dim></port></input>
    </layer>
    <layer id="12" name="cut" type="StridedSlice" version="opset1">
      <data begin_mask="1, 0" end_mask="1,1" new_axis_mask="" shrink_axis_mask="0,0" ellipsis_mask="0,0"/>
      <input>
        <port id="0"><dim>1</dim><dim>4</dim><dim>6</dim></port>
        <port id="1"><dim>2</dim></port>
        <port id="2"><dim>2</dim></port>
      </input>
      <output><port id="3" precision="FP32"><dim>1</dim><dim>3</dim><dim>6</dim></port></output>
      <rt_info><attribute name="fused_names" version="0" value="cut,&quot;old&quot; name"/></rt_info>
    </layer>
    <layer id="3" name="x/&lt;a&amp;b&gt;:&quot;0&quot;" type="Parameter" version="opset1">
      <data shape="1,4,6" element_type="f32"/>
      <output><port id="1" precision="FP32" names="x,in&amp;0"><dim>1</dim><dim>4</dim><dim>6</dim></port></output>
    </layer>
    <layer id="41" name="it&apos;s fancy" type="FancyOp" version="custom_opset">
      <data alpha="0.5" mode="a &lt; b" list="1, 2,3"/>
      <input>
        <port id="0"><dim>1</dim><dim>4</dim><dim>6</dim></port>
        <port id="1"><dim>2</dim></port>
      </input>
      <output><port id="2" precision="FP32"><dim>1</dim><dim>4</dim><dim>6</dim></port></output>
    </layer>
    <layer id="7" name="relu" type="ReLU" version="opset1">
      <input><port id="0"><dim>1</dim><dim>4</dim><dim>6</dim></port></input>
      <output><port id="1" precision="FP32"><dim>1</dim><dim>4</dim><dim>6</dim></port></output>
    </layer>
    <layer id="20" name="begin" type="Const" version="opset1">
      <data element_type="i64" shape="2" offset="0" size="16"/>
      <output><port id="1" precision="I64"><dim>2</dim></port></output>
    </layer>
    <layer id="21" name="end" type="Const" version="opset1">
      <data element_type="i64" shape="2" offset="0" size="16"/>
      <output><port id="1" precision="I64"><dim>2</dim></port></output>
    </layer>
    <layer id="55" name="soft" type="SoftMax" version="opset1">
      <data axis="2"/>
      <input><port id="0"><dim>1</dim><dim>3</dim><dim>2</dim></port></input>
      <output><port id="1" precision="FP32"><dim>1</dim><dim>3</dim><dim>2</dim></port></output>
    </layer>
    <layer id="30" name="weights" type="Const" version="opset1">
      <data element_type="f32" shape="2,6" offset="16" size="48"/>
      <output><port id="1" precision="FP32"><dim>2</dim><dim>6</dim></port></output>
    </layer>
    <layer id="31" name="matmul" type="MatMul" version="opset1">
      <data transpose_a="False" transpose_b="True"/>
      <input>
        <port id="0"><dim>1</dim><dim>3</dim><dim>6</dim></port>
        <port id="1"><dim>2</dim><dim>6</dim></port>
      </input>
      <output><port id="2" precision="FP32"><dim>1</dim><dim>3</dim><dim>2</dim></port></output>
    </layer>
    <layer id="91" name="plain" type="Result" version="opset1">
      <input><port id="0"><dim>1</dim><dim>3</dim><dim>2</dim></port></input>
    </layer>
  </layers>
  <edges>
    <edge from-layer="55" from-port="1" to-layer="91" to-port="0"/>
    <edge from-layer="41" from-port="2" to-layer="90" to-port="0"/>
    <edge from-layer="7" from-port="1" to-layer="41" to-port="0"/>
    <edge from-layer="20" from-port="1" to-layer="41" to-port="1"/>
    <edge from-layer="3" from-port="1" to-layer="7" to-port="0"/>
    <edge from-layer="7" from-port="1" to-layer="12" to-port="0"/>
    <edge from-layer="20" from-port="1" to-layer="12" to-port="1"/>
    <edge from-layer="21" from-port="1" to-layer="12" to-port="2"/>
    <edge from-layer="12" from-port="3" to-layer="31" to-port="0"/>
    <edge from-layer="30" from-port="1" to-layer="31" to-port="1"/>
    <edge from-layer="31" from-port="2" to-layer="55" to-port="0"/>
  </edges>
  <meta_data>
    <MO_version value="snick &amp; sons"/>
    <cli_parameters><data_type value="FP32"/><unset unset_cli_parameters="batch, layout"/></cli_parameters>
  </meta_data>
  <rt_info><model_info><labels value="cat &lt;1&gt; dog"/><empty value=""/></model_info></rt_info>
</net>
"""


class FancyOp(ov.Op):
    """Lets OpenVINO read the unknown op while recording: doubles its first input."""

    class_type_info = ov.DiscreteTypeInfo("FancyOp", "custom_opset")

    def __init__(self, inputs=None):
        super().__init__(self, inputs)

    def get_type_info(self):
        return FancyOp.class_type_info

    def validate_and_infer_types(self):
        self.set_output_type(0, self.get_input_element_type(0), self.get_input_partial_shape(0))

    def visit_attributes(self, _visitor):
        return True

    def clone_with_new_inputs(self, inputs):
        return FancyOp(inputs)

    def evaluate(self, outputs, inputs):
        outputs[0].data[:] = inputs[0].data * 2
        return True

    def has_evaluate(self):
        return True


def v10_no_precision():
    weights = noise(10, 2, 6, scale=0.3)
    x = noise(11, 1, 4, 6)
    cut = np.maximum(x, 0)[:, 1:]
    power = np.exp(cut @ weights.T)

    def write(folder):
        text = V10.replace("\n", "\r\n")
        save_bytes(folder, text.encode(), np.array([0, 1], "<i8").tobytes() + weights.tobytes())

    shows = (
        "IR v10 as it is found in the wild: no XML declaration, CRLF, layers out of order, gaps in the\n"
        "ids, input ports without precision, output port ids that start at 1, escaped names (& < > \" '),\n"
        "`True`, masks as `1, 0` and \"\", StridedSlice without a stride port, two Consts at one offset,\n"
        "old layer names (ReLU, SoftMax), rt_info and meta_data to be kept, a tensor with two names.\n"
        "`FancyOp` of `custom_opset` is no known op: its declared ports are all there is to know.\n"
        "The Result `plain` can be run and is recorded; `fancy <out>` cannot and is not."
    )
    right = {"plain": (power / power.sum(-1, keepdims=True)).astype(np.float32)}
    return Recipe("v10_no_precision", shows, write, {'x/<a&b>:"0"': x}, right, [FancyOp], ("fancy <out>",))


# ---------------------------------------------------------------- models built with the API


def parameter(name, shape, type=np.float32):
    node = op.parameter(ov.PartialShape(shape), type, name=name)
    node.output(0).set_names({name})
    return node


def result(name, value):
    return op.result(value, name=name)


def ints(*values):
    return op.constant(np.array(values, np.int64))


def scalar(value):
    return op.constant(np.array(value, np.int64))


def save_model(folder, model):
    settle_names(model, "")
    folder.mkdir(exist_ok=True)
    ov.serialize(model, folder / "model.xml", folder / "model.bin")
    squeeze_ports(folder / "model.xml")


def squeeze_ports(path):
    """One port a line, indented by one space a level: fewer bytes, the same XML."""
    text = re.sub(r"\s+(<dim>|</port>)", r"\1", path.read_text(encoding="utf-8"))
    text = re.sub(r"^\t+", lambda tabs: " " * len(tabs[0]), text, flags=re.MULTILINE)
    path.write_text(text, encoding="utf-8", newline="\n")


def settle_names(model, prefix):
    """Names that OpenVINO counts through the whole process become counts per model, in lower case."""
    for k, node in enumerate(model.get_ordered_ops()):
        if node.get_friendly_name() == node.get_name():
            node.set_friendly_name(f"{prefix}{node.get_type_name().lower()}_{k}")
        for body_name, body in bodies(node):
            body.set_friendly_name(body_name)
            settle_names(body, f"{node.get_friendly_name()}/{body_name}/")


def bodies(node):
    if node.get_type_name() in ("TensorIterator", "Loop"):
        return [("body", node.get_function())]
    if node.get_type_name() == "If":
        return [("then", node.get_function(0)), ("else", node.get_function(1))]
    return []


def api_recipe(name, shows, build, inputs, right=None):
    """`build` gives results and parameters."""

    def write(folder):
        save_model(folder, ov.Model(*build(), name))

    return Recipe(name, shows, write, inputs, right or {})


# -- shapes computed from shapes


def dim_of(shape, axis):
    return op.gather(shape, ints(axis), scalar(0))


def shape_subgraph():
    def build():
        x = parameter("x", "2..10,?,6,4..8")
        shape = op.shape_of(x, name="shape")
        return [*reshapes(x, shape), *broadcasts(shape), *computed_slices(x, shape)], [x]

    shows = (
        "Shapes that are computed from shapes, on `x: [2..10,?,6,4..8]`.\n"
        "merged: Reshape to [b, -1, w] by ShapeOf, Gather, StridedSlice, Concat.\n"
        "tail_flat: Reshape to [b, s, -1] by Slice, Concat. reversed_dims: the shape itself, backward.\n"
        "spread: Broadcast of [6,1] to the last two dims, taken by StridedSlice; grid: to [w, b], by Gather.\n"
        "second_half: `x[:, s/2:]`; left_half: `x[..., :w/2]`; all_but_last: `x[:, :s-1]`, each by\n"
        "arithmetic on ShapeOf; every one of them keeps its link to a dim of x.\n"
        "The recorded shapes are what the runtime says; tighter ones are possible."
    )
    x = noise(20, 2, 5, 6, 7)
    right = {
        "merged": x.reshape(2, 30, 7),
        "tail_flat": x.reshape(2, 5, 42),
        "reversed_dims": np.array([7, 6, 5, 2]),
        "spread": np.repeat(noise(21, 6, 1), 7, 1),
        "grid": np.ones((7, 2), np.float32),
        "second_half": x[:, 2:],
        "all_but_last": x[:, :4],
        "left_half": x[..., :3],
    }
    return api_recipe("shape_subgraph", shows, build, {"x": x}, right)


def reshapes(x, shape):
    width = op.strided_slice(shape, ints(3), ints(0), ints(1), [0], [1], name="width")
    merged = op.concat([dim_of(shape, 0), ints(-1), width], 0, name="merged_target")
    front = op.slice(shape, ints(0), ints(2), ints(1), ints(0), name="front")
    flat = op.concat([front, ints(-1)], 0, name="flat_target")
    backward = op.slice(shape, ints(-1), ints(-I64_MAX - 1), ints(-1), ints(0), name="backward")
    return [
        result("merged", op.reshape(x, merged, False, name="merge")),
        result("tail_flat", op.reshape(x, flat, False, name="flatten")),
        result("reversed_dims", backward),
    ]


def broadcasts(shape):
    column = op.constant(noise(21, 6, 1), name="column")
    last_two = op.strided_slice(shape, ints(-2), ints(0), ints(1), [0], [1], name="last_two")
    picked = op.gather(shape, ints(3, 0), scalar(0), name="picked")
    one = op.constant(np.float32(1).reshape(1), name="one")
    return [
        result("spread", op.broadcast(column, last_two, broadcast_spec="NUMPY", name="spread_it")),
        result("grid", op.broadcast(one, picked, broadcast_spec="NUMPY", name="grid_it")),
    ]


def computed_slices(x, shape):
    half = op.divide(dim_of(shape, 1), ints(2), name="half")
    less = op.subtract(dim_of(shape, 1), ints(1), name="less")
    half_width = op.divide(dim_of(shape, 3), ints(2), name="half_width")
    end = op.concat([ints(0, 0, 0), half_width], 0, name="left_end")
    left = op.strided_slice(x, ints(0, 0, 0, 0), end, ints(1, 1, 1, 1), [1] * 4, [1, 1, 1, 0], name="left")
    return [
        result("second_half", op.slice(x, half, ints(I64_MAX), ints(1), ints(1), name="second")),
        result("all_but_last", op.slice(x, ints(0), less, ints(1), ints(1), name="but_last")),
        result("left_half", left),
    ]


# -- a small CNN


def focus_cnn():
    def build():
        image = parameter("image", "1,3,16..64,16..64")
        low = op.swish(conv("stem", focus(image), 12, 16, 3, 1), name="stem_swish")
        pooled = op.max_pool(low, [2, 2], [1, 1], [0, 0], [0, 0], [2, 2], "floor", "explicit", "i64", name="pool")
        deep = op.swish(conv("deep", pooled.output(0), 16, 24, 3, 2), name="deep_swish")
        joined = op.concat([resize_like(deep, pooled.output(0)), pooled.output(0)], 1, name="skip")
        scores = op.softmax(conv("head", joined, 40, 8, 1, 1), 1, name="softmax")
        return [result("scores", scores)], [image]

    shows = (
        "A small CNN with random weights on an image [1,3,16..64,16..64].\n"
        "It starts with a focus slice as in YOLO: four StridedSlices with step 2 take the pixels of each\n"
        "parity and Concat stacks them as channels (even sizes are assumed). Then convolutions, Swish,\n"
        "MaxPool, Interpolate-11 (nearest) to the size that ShapeOf and Slice read from the skip branch,\n"
        "Concat, a 1x1 convolution and Softmax over 8 classes."
    )
    return api_recipe("focus_cnn", shows, build, {"image": noise(30, 1, 3, 24, 32)})


def focus(image):
    parts = []
    for row, column in [(0, 0), (1, 0), (0, 1), (1, 1)]:
        begin, step = ints(0, 0, row, column), ints(1, 1, 2, 2)
        name = f"focus_{row}{column}"
        parts.append(op.strided_slice(image, begin, ints(0, 0, 0, 0), step, [1, 1, 0, 0], [1] * 4, name=name))
    return op.concat(parts, 1, name="focus")


def conv(name, x, channels_in, channels_out, size, stride):
    scale = (channels_in * size * size) ** -0.5
    seed = sum(name.encode())
    weights = op.constant(noise(seed, channels_out, channels_in, size, size, scale=scale), name=f"{name}_weights")
    bias = op.constant(noise(seed + 1, 1, channels_out, 1, 1, scale=0.1), name=f"{name}_bias")
    pad = [size // 2] * 2
    out = op.convolution(x, weights, [stride] * 2, pad, pad, [1, 1], name=f"{name}_conv")
    return op.add(out, bias, name=f"{name}_add")


def resize_like(x, like):
    shape = op.shape_of(like, name="skip_shape")
    size = op.slice(shape, ints(2), ints(4), ints(1), ints(0), name="skip_size")
    return op.interpolate(
        x, size, "nearest", "sizes", [0, 0, 0, 0], [0, 0, 0, 0],
        coordinate_transformation_mode="asymmetric", nearest_mode="floor",
        axes=ints(2, 3), name="resize",
    )


# -- rotary embedding

HEADS, HEAD_SIZE = 4, 8
WIDTH = HEADS * HEAD_SIZE


def rotary_embedding():
    def build():
        qkv = parameter("qkv", f"1..4,?,{3 * WIDTH}")
        parts = op.variadic_split(qkv, scalar(-1), ints(WIDTH, WIDTH, -1), name="split_qkv")
        q, k, v = (heads(name, parts.output(i)) for i, name in enumerate("qkv"))
        angles = rotary_angles(qkv)
        cos, sin = op.cos(angles, name="cos"), op.sin(angles, name="sin")
        q_out = rotated("q", q, turned_by_slices(q), cos, sin)
        k_out = rotated("k", k, turned_by_split(k), cos, sin)
        return [result("q_out", q_out), result("k_out", k_out), result("v_out", v)], [qkv]

    shows = (
        "Rotary position embedding on fused queries, keys and values [1..4,?,96], 4 heads of 8.\n"
        "VariadicSplit (with -1) parts them; angles are Range(sequence length) times constants.\n"
        "Queries turn their halves by two Slices, Negative and Concat; keys by Split: two ways of writing\n"
        "the same thing, which should end up the same. Then x*cos + turned*sin.\n"
        "Values only change their layout, as attention would want it."
    )
    return api_recipe("rotary_embedding", shows, build, {"qkv": noise(40, 2, 5, 3 * WIDTH)})


def heads(name, x):
    parted = op.reshape(x, ints(0, 0, HEADS, HEAD_SIZE), True, name=f"{name}_heads")
    return op.transpose(parted, ints(0, 2, 1, 3), name=f"{name}_transposed")


def rotary_angles(x):
    length = op.gather(op.shape_of(x, name="qkv_shape"), scalar(1), scalar(0), name="length")
    counted = op.range(scalar(0), length, scalar(1), "i64", name="positions")
    positions = op.convert(counted, "f32", name="positions_f32")
    frequency = (10000.0 ** (-2 * np.arange(HEAD_SIZE // 2) / HEAD_SIZE)).astype(np.float32)
    frequencies = op.constant(frequency.reshape(1, -1), name="frequencies")
    angles = op.multiply(op.unsqueeze(positions, ints(1), name="position_column"), frequencies, name="angles")
    return op.concat([angles, angles], -1, name="both_halves")


def turned_by_slices(x):
    half = HEAD_SIZE // 2
    first = op.slice(x, ints(0), ints(half), ints(1), ints(3), name="first_half")
    second = op.slice(x, ints(half), ints(I64_MAX), ints(1), ints(-1), name="second_half")
    return op.concat([op.negative(second, name="q_negative"), first], -1, name="q_turned")


def turned_by_split(x):
    halves = op.split(x, scalar(3), 2, name="k_halves")
    return op.concat([op.negative(halves.output(1), name="k_negative"), halves.output(0)], -1, name="k_turned")


def rotated(name, x, turned, cos, sin):
    straight = op.multiply(x, cos, name=f"{name}_cos")
    return op.add(straight, op.multiply(turned, sin, name=f"{name}_sin"), name=f"{name}_rotated")


# -- sub-graphs


def subgraphs_tensor_iterator():
    def build():
        x, start = parameter("x", "2,3..8,4"), parameter("h0", "2,5")
        step, forward, backward, state = iterator_body()
        new_state, new_slice = (out.output(0) for out in step.get_results())
        loop = op.tensor_iterator()
        loop.set_friendly_name("iterate")
        loop.set_body(step)
        loop.set_sliced_input(forward, x.output(0), 0, 1, 1, -1, 1)
        loop.set_sliced_input(backward, x.output(0), -1, -1, 1, 0, 1)
        loop.set_merged_input(state, start.output(0), new_state)
        last = loop.get_iter_value(new_state, -1)
        every = loop.get_concatenated_slices(new_slice, 0, 1, 1, -1, 1)
        return [result("last", last), result("every", every)], [x, start]

    shows = (
        "A TensorIterator over axis 1 of `x: [2,3..8,4]`: one step reads x forward and backward (stride -1),\n"
        "the state [2,5] is carried by a back edge. Results: the last state and all states joined."
    )
    inputs = {"x": noise(50, 2, 6, 4), "h0": noise(51, 2, 5)}
    return api_recipe("subgraphs_tensor_iterator", shows, build, inputs)


def iterator_body():
    forward, backward = parameter("x_forward", "2,1,4"), parameter("x_backward", "2,1,4")
    state = parameter("state", "2,5")
    both = op.concat([forward, backward], 2, name="both_ways")
    weights = op.constant(noise(52, 8, 5, scale=0.4), name="weights")
    seen = op.matmul(op.squeeze(both, ints(1), name="step_input"), weights, False, False, name="seen")
    new_state = op.tanh(op.add(seen, state, name="sum"), name="new_state")
    with_time = op.unsqueeze(new_state, ints(1), name="with_time")
    results = [result("state_out", new_state), result("slice_out", with_time)]
    return ov.Model(results, [forward, backward, state], "body"), forward, backward, state


def subgraphs_loop():
    def build():
        x, trips = parameter("x", "3..8,4"), parameter("trips", "", np.int64)
        body, total, rows = loop_body()
        _, total_out, row_out = (out.output(0) for out in body.get_results())
        loop = op.loop(trips, op.constant(np.array(True)))
        loop.set_friendly_name("loop")
        loop.set_function(body)
        loop.set_special_body_ports([0, 0])
        loop.set_invariant_input(rows, x.output(0))
        loop.set_merged_input(total, op.constant(np.zeros((1, 4), np.float32), name="zero").output(0), total_out)
        last = loop.get_iter_value(total_out, -1)
        every = loop.get_concatenated_slices(row_out, 0, 1, 1, -1, 0)
        return [result("last", last), result("every", every)], [x, trips]

    shows = (
        "A Loop with a trip count that is an input and a condition that may end it sooner. The body cuts row\n"
        "i out of `x: [3..8,4]` by a Slice whose start and stop are the iteration number, adds it to a carried\n"
        "total, and goes on while the total's sum is below 20: with the recorded input it ends after 4 of 6.\n"
        "Results: the last total, and all totals joined (a length nobody knows beforehand)."
    )
    inputs = {"x": iota(7, 4) * 0.25, "trips": np.array(6, np.int64)}
    totals = np.cumsum(inputs["x"], 0)[:4]
    return api_recipe("subgraphs_loop", shows, build, inputs, {"every": totals, "last": totals[3:]})


def loop_body():
    iteration = parameter("iteration", "1", np.int64)
    total, rows = parameter("total", "1,4"), parameter("rows", "3..8,4")
    next_row = op.add(iteration, ints(1), name="next")
    row = op.slice(rows, iteration, next_row, ints(1), ints(0), name="row")
    row = op.reshape(row, ints(1, 4), False, name="one_row")
    new_total = op.add(total, row, name="new_total")
    amount = op.reduce_sum(new_total, ints(0, 1), False, name="amount")
    going = op.less(amount, op.constant(np.float32(20)), name="going")
    results = [result("keep_going", going), result("total_out", new_total), result("row_out", new_total)]
    return ov.Model(results, [iteration, total, rows], "body"), total, rows


def subgraphs_if():
    def build():
        x, condition = parameter("x", "2,4..10"), parameter("even_columns", "", np.bool_)
        then_body, then_x = then_model()
        else_body, else_x = else_model()
        branch = op.if_op(condition)
        branch.set_friendly_name("branch")
        branch.set_then_body(then_body)
        branch.set_else_body(else_body)
        branch.set_input(x.output(0), then_x, else_x)
        out = branch.set_output(then_body.get_results()[0], else_body.get_results()[0])
        return [result("out", out)], [x, condition]

    shows = (
        "An If whose branches give different widths for `x: [2,4..10]`: the even columns `x[:, ::2]` by\n"
        "StridedSlice, or the first three reversed, `x[:, 2::-1]`, by Slice. The recorded input takes the first."
    )
    inputs = {"x": iota(2, 7), "even_columns": np.array(True)}
    return api_recipe("subgraphs_if", shows, build, inputs, {"out": inputs["x"][:, ::2]})


def then_model():
    x = parameter("then_x", "2,4..10")
    out = op.strided_slice(x, ints(0, 0), ints(0, 0), ints(1, 2), [1, 1], [1, 1], name="even")
    return ov.Model([result("then_out", out)], [x], "then"), x


def else_model():
    x = parameter("else_x", "2,4..10")
    out = op.slice(x, ints(2), ints(-I64_MAX - 1), ints(-1), ints(1), name="three_backward")
    return ov.Model([result("else_out", out)], [x], "else"), x


# -- splits


def split_family():
    def build():
        fixed, moving = parameter("fixed", "2,6,5"), parameter("moving", "4..12,?,3")
        parts = {
            "thirds": op.split(fixed, scalar(1), 3, name="split_thirds"),
            "rest_in_the_middle": op.variadic_split(fixed, scalar(-1), ints(1, -1, 2), name="variadic_fixed"),
            "halves": op.split(moving, op.constant(np.array(0, np.int32)), 2, name="split_moving"),
            "rest_at_the_end": op.variadic_split(moving, scalar(0), ints(1, 2, -1), name="variadic_moving"),
            "rest_of_unknown": op.variadic_split(moving, scalar(1), ints(-1, 2), name="variadic_unknown"),
        }
        results = []
        for name, node in parts.items():
            results += [result(f"{name}_{k}", out) for k, out in enumerate(node.outputs())]
        return results, [fixed, moving]

    shows = (
        "Split and VariadicSplit, each with many outputs.\n"
        "On a fixed axis: thirds, and lengths [1, -1, 2] on axis -1. On an axis 4..12: halves, and [1, 2, -1].\n"
        "On an axis of unknown length: [-1, 2]. The axis of `split_moving` is i32, the others i64."
    )
    fixed, moving = iota(2, 6, 5), iota(6, 4, 3) + np.float32(0.5)
    right = {}
    for name, pieces in {
        "thirds": np.split(fixed, 3, 1),
        "rest_in_the_middle": np.split(fixed, [1, 3], 2),
        "halves": np.split(moving, 2, 0),
        "rest_at_the_end": np.split(moving, [1, 3], 0),
        "rest_of_unknown": np.split(moving, [2], 1),
    }.items():
        right |= {f"{name}_{k}": piece for k, piece in enumerate(pieces)}
    return api_recipe("split_family", shows, build, {"fixed": fixed, "moving": moving}, right)


# ---------------------------------------------------------------- tokenizers


def tokenizer_pair():
    """A tokenizer and its detokenizer, trained on a few words."""
    from openvino_tokenizers import convert_tokenizer
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    words = ["a slice of a slice is a slice", "what a slice reads, a slice writes", "shapes and slices"]
    special = ["<pad>", "<s>", "</s>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=290, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    bpe.train_from_iterator(words, trainer)
    ids = [(token, bpe.token_to_id(token)) for token in special[1:]]
    bpe.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=ids)
    wrapped = PreTrainedTokenizerFast(tokenizer_object=bpe, pad_token="<pad>")
    return convert_tokenizer(wrapped, with_detokenizer=True)


def with_own_names(model):
    """The model with names that do not depend on what was made before it."""
    for k, node in enumerate(model.get_ordered_ops()):
        node.set_friendly_name(f"{node.get_type_name()}_{k}")
    for names, nodes in (("texts", model.get_parameters()), (("ids", "mask"), model.get_results())):
        names = [names] if isinstance(names, str) else names
        for name, node in zip(names, nodes):
            node.set_friendly_name(name)
    return model


def bpe_tokenizer():
    def write(folder):
        folder.mkdir(exist_ok=True)
        ov.save_model(with_own_names(tokenizer_pair()[0]), folder / "model.xml", compress_to_fp16=False)

    shows = (
        "A tokenizer as openvino_tokenizers writes it: byte pair encoding in the manner of GPT-2, with 290 tokens\n"
        "trained on three short texts, a token before and behind each text, and padding to the longest."
    )
    texts = np.array(["a slice of shapes", "", "slices, read & written: 中文"])
    return Recipe("bpe_tokenizer", shows, write, {"texts": texts})


def bpe_detokenizer():
    def write(folder):
        folder.mkdir(exist_ok=True)
        model = with_own_names(tokenizer_pair()[1])
        model.get_parameters()[0].set_friendly_name("ids")
        model.get_results()[0].set_friendly_name("texts")
        ov.save_model(model, folder / "model.xml", compress_to_fp16=False)

    shows = "The detokenizer that belongs to `bpe_tokenizer`: numbers of tokens to text."
    ids = np.array([[1, 67, 263, 280, 223, 285, 2, 0], [1, 163, 119, 258, 165, 400, -1, 2]], np.int64)
    return Recipe("bpe_detokenizer", shows, write, {"ids": ids})


# ---------------------------------------------------------------- recording


def read(core, folder):
    return core.read_model(folder / "model.xml", folder / "model.bin")


def describe(node):
    row = {"name": node.get_friendly_name(), "type": node.get_type_name()}
    row["outputs"] = [
        {"element_type": out.get_element_type().get_type_name(), "partial_shape": str(out.get_partial_shape())}
        for out in node.outputs()
    ]
    if bodies(node):
        row["bodies"] = [[describe(inner) for inner in named(body)] for _, body in bodies(node)]
    return row


def named(model):
    """The layers of the file in topological order, without what the runtime adds on reading."""
    return [node for node in model.get_ordered_ops() if node.get_friendly_name() != node.get_name()]


def record_shapes(folder, model):
    rows = ",\n".join(json.dumps(describe(node), ensure_ascii=False) for node in named(model))
    (folder / "expect" / "shapes.json").write_text(f"[\n{rows}\n]\n", encoding="utf-8", newline="\n")


def record_io(folder, core, model, recipe):
    names = [node.get_friendly_name() for node in model.get_parameters()]
    arrays = {f"in{k}": recipe.inputs[name] for k, name in enumerate(names)}
    answers = run(core, model, [recipe.inputs[name] for name in names])
    arrays |= recipe.inputs | {name: answers[name] for name in answers if name not in recipe.unrecorded}
    np.savez_compressed(folder / "expect" / "io.npz", **arrays)
    return arrays


def run(core, model, inputs):
    compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    request.infer(inputs)
    results = enumerate(model.get_results())
    return {node.get_friendly_name(): request.get_output_tensor(k).data.copy() for k, node in results}


def check(recipe, arrays):
    for name, answer in recipe.right.items():
        got, want = (arrays[name].dtype, arrays[name].shape), (answer.dtype, answer.shape)
        assert got == want, (recipe.name, name, got, want)
        np.testing.assert_allclose(arrays[name], answer, rtol=1e-6, err_msg=f"{recipe.name}: {name}")


def record_weights(folder, core, model, recipe):
    """The stored bits; each is compared with the CPU where the CPU hands it out unharmed."""
    for node in model.get_results():
        name = node.get_friendly_name()
        alone = ov.Model([op.result(node.input_value(0), name=name)], [], name)
        verdict = compare_bits(core, alone, recipe.right[name])
        print(f"  {name}: {verdict}")
    np.savez_compressed(folder / "expect" / "io.npz", **recipe.right)


def compare_bits(core, model, answer):
    try:
        request = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
        request.infer()
    except RuntimeError:
        return "refused by the CPU"
    tensor = request.get_output_tensor(0)
    if tensor.element_type == ov.Type.string:
        return "same" if np.array_equal(tensor.bytes_data, answer) else "differs"
    return "same" if tensor.data.tobytes() == answer.tobytes() else f"differs ({tensor.element_type})"


ABOUT = """\
# {name}

{shows}

Origin: made for snick by `models/make_models.py`, which also recorded `expect/`.
Licence: Apache-2.0 OR MIT, as the project.
"""


def make(recipe):
    folder = HERE / recipe.name
    recipe.write(folder)
    (folder / "expect").mkdir(exist_ok=True)
    about = ABOUT.format(name=recipe.name, shows=recipe.shows)
    (folder / "about.md").write_text(about, encoding="utf-8", newline="\n")
    core = ov.Core()
    for extension in recipe.extensions:
        core.add_extension(extension)
    model = read(core, folder)
    record_shapes(folder, model)
    if recipe.name == "weights_types":
        record_weights(folder, core, model, recipe)
    else:
        check(recipe, record_io(folder, core, model, recipe))


def all_recipes():
    singles = [
        shape_subgraph, focus_cnn, rotary_embedding, v10_no_precision, split_family, weights_types,
        subgraphs_tensor_iterator, subgraphs_loop, subgraphs_if, bpe_tokenizer, bpe_detokenizer,
    ]
    return [*slice8_recipes(), *strided_recipes(), *(make_recipe() for make_recipe in singles)]


def main(wanted):
    for recipe in all_recipes():
        if not wanted or recipe.name in wanted:
            print(recipe.name)
            make(recipe)


if __name__ == "__main__":
    main(sys.argv[1:])
