"""Questions about operation sets, attributes, element types and features of the format; see release_worker.py."""

import base64
import math
import struct
import xml.etree.ElementTree as ET

from release_models import PADDING, Net

SIZE = 24
# More bytes than any constant here needs. The first ones are 0 and 1, which are booleans.
WEIGHTS = bytes(index % 2 for index in range(SIZE)) + bytes(range(3, 3 + 7 * SIZE))
TEXTS = struct.pack("<4i", 2, 0, 2, 3) + b"abc"
TYPES = {"boolean": 8, "bf16": 16, "f16": 16, "f32": 32, "f64": 64, "f8e4m3": 8, "f8e5m2": 8, "f8e8m0": 8, "f4e2m1": 4,
         "nf4": 4, "u1": 1, "u2": 2, "u3": 3, "u4": 4, "u6": 6, "u8": 8, "u16": 16, "u32": 32, "u64": 64, "i4": 4,
         "i8": 8, "i16": 16, "i32": 32, "i64": 64, "string": None}
VALUES = [["<f4", [SIZE], [float(index % 3) for index in range(SIZE)]]]


def question(net, weights=b"", inputs=None):
    asked = {"xml": net.text(), "bin": base64.b64encode(weights).decode()}
    return asked if inputs is None else {**asked, "inputs": inputs}


def in_set(op, opset):
    """Whether a set contains an operation shows in the error: without inputs, no layer is valid."""
    net = Net()
    net.result(net.layer(op, opset, outputs=[("f32", [1])]), 0, "f32", [1])
    return question(net)


def is_refused(answer):
    return any(text in answer["error"] for text in ("unsupported opset", "doesn't contain the operation"))


def words(attribute):
    """The values of an attribute that `snick ops --format json` describes, if they are few, without the default: a
    release that ignores the default computes the same."""
    kind, values = attribute["type"], []
    if kind == "boolean":
        values = ["true", "false"]
    elif kind.startswith("one of "):
        values = kind[len("one of "):].split(", ")
    return [value for value in values if value != attribute.get("default")]


def attributes_of(op, reference):
    """The attributes of a version of an operation, such as `Pad-opset12`, with their values; see `words`."""
    name, opset = op.split("-", 1)
    number = opset.replace("opset", "")
    for attribute in reference[name]["attributes"]:
        if number.isdigit() and attribute.get("since", 0) <= int(number) < attribute.get("until", 1 << 8):
            yield attribute["name"], words(attribute)


def with_other_attributes(case, reference):
    """Variants of a case with another value of one attribute, by (attribute, value)."""
    for name, values in attributes_of(case.op, reference):
        for value in values:
            if value == case.attributes.get(name):
                continue
            root = ET.fromstring(case.question["xml"])
            layer = root.find("./layers/layer[@name='%s']" % case.question["layer"])
            data = layer.find("data")
            data = ET.SubElement(layer, "data") if data is None else data
            data.set(name, value)
            text = ET.tostring(root, encoding="unicode").replace(">", ">" + PADDING, 1)
            # Reading suffices: it shows whether the value is understood.
            asked = {part: each for part, each in case.question.items() if part != "inputs"}
            yield (name, value), {**asked, "xml": '<?xml version="1.0"?>\n' + text}


def of_types():
    """For each element type: an input of that type, a constant, and a conversion from f32."""
    for kind, bits in TYPES.items():
        net = Net()
        net.result(*net.parameter(kind, [SIZE]), kind, [SIZE])
        yield (kind, "type"), question(net)
        size = SIZE * bits // 8 if bits else len(TEXTS)
        net, dims = Net(), [SIZE] if bits else [2]
        source = net.constant(kind, dims, 0, size)
        if bits:  # strings have no conversion
            source = net.convert(*source, kind, "f32", dims)
        net.result(*source, "f32" if bits else kind, dims)
        yield (kind, "constant"), question(net, WEIGHTS if bits else TEXTS, [])
        net = Net()
        source = net.convert(*net.parameter("f32", [SIZE]), "f32", kind, [SIZE])
        net.result(*net.convert(*source, kind, "f32", [SIZE]), "f32", [SIZE])
        yield (kind, "conversion"), question(net, inputs=VALUES)


def chain(names=("relu",), port="f32", shape=None, version=11):
    """An input, ReLU layers with these names, and an output. `port` is the type that the ports declare."""
    net = Net(version)
    dims = [SIZE] if shape is None else None
    source = net.parameter("f32", dims, shape)
    for name in names:
        relu = net.layer("ReLU", "opset1", inputs=[(port, dims)], outputs=[(port, dims)], name=name)
        net.connect(*source, relu, 0)
        source = relu, 1
    net.result(*source, port, dims)
    return net


def variable(initial):
    """A variable with an initial value: `input`, `zero` or `none`."""
    net = Net()
    dims, attributes = [SIZE], {"variable_id": "v", "variable_type": "f32", "variable_shape": str(SIZE)}
    ports = [("f32", dims)]
    read = net.layer("ReadValue", "opset6", attributes, () if initial == "none" else ports, ports)
    if initial != "none":
        source = net.parameter("f32", dims) if initial == "input" else net.constant("f32", dims, 0, 4 * SIZE)
        net.connect(*source, read, 0)
    port = int(initial != "none")
    net.assign(read, port, {"variable_id": "v"}, "opset6", "f32")
    net.result(read, port, "f32", dims)
    return net


def attention(mask, kind="f32"):
    """A question about the shape and element type of a mask."""
    net, shapes = Net(), [[1, 2, 4, 8], [1, 2, 5, 8], [1, 2, 5, 8], mask]
    ports = list(zip(["f32", "f32", "f32", kind], shapes))
    sources = [net.parameter(*port) for port in ports]
    attended = net.layer("ScaledDotProductAttention", "opset13", {"causal": "false"}, ports, ports[:1])
    for port, source in enumerate(sources):
        net.connect(*source, attended, port)
    net.result(attended, len(ports), *ports[0])
    return question(net, inputs=[array(*port) for port in ports])


def array(kind, shape):
    size = math.prod(shape)
    if kind == "boolean":
        return ["|b1", shape, [index % 2 == 1 for index in range(size)]]
    return ["<f4", shape, [index % 7 / 7 for index in range(size)]]


def strided_slice():
    """A question about an ellipsis that stands for no axis."""
    net, dims, bounds = Net(), [2, 3], struct.pack("<9q", 0, 0, 0, 0, 2, 3, 1, 1, 1)
    ports = [("f32", dims), *[("i64", [3])] * 3]
    sources = [net.parameter(*ports[0]), *(net.constant("i64", [3], 24 * at, 24) for at in range(3))]
    masks = {"begin_mask": "0,0,0", "end_mask": "0,0,0", "ellipsis_mask": "1,0,0"}
    sliced = net.layer("StridedSlice", "opset1", masks, ports, ports[:1])
    for port, source in enumerate(sources):
        net.connect(*source, sliced, port)
    net.result(sliced, len(ports), *ports[0])
    return question(net, bounds, [array(*ports[0])])


def with_information(text):
    """A model whose ReLU has `rt_info`."""
    net = chain()
    net.layers[1].insert(0, ET.fromstring("<rt_info>%s</rt_info>" % text))
    return question(net)


def of_features():
    """Features of the format, by name."""
    yield "IR version 10", question(chain(version=10), inputs=VALUES)
    yield "IR version 11", question(chain(version=11), inputs=VALUES)
    yield "intervals in shapes", question(chain(shape="1..,3..8"), inputs=[["<f4", [2, 3], [1.0] * 6]])
    yield "ports of unspecified precision", question(chain(port="dynamic"), inputs=VALUES)
    yield "layers of equal names", question(chain(names=("relu", "relu")), inputs=VALUES)
    yield "variables", question(variable("zero"), bytes(4 * SIZE), [])
    yield "initial values of variables", question(variable("input"), inputs=VALUES)
    yield "variables without initial value", question(variable("none"), inputs=[])
    yield "rt_info of layers", with_information('<attribute name="other" version="0" value="a"/>')
    yield "rt_info without version", with_information('<attribute name="other" value="a"/>')
    yield "rt_info without name", with_information('<other value="a"/>')
    short = question(chain(names=()), inputs=VALUES)
    yield "files below 512 bytes", {**short, "xml": short["xml"].replace(PADDING, "").replace("\n", "")}
    net = Net()
    net.result(*net.parameter("f32", [0]), "f32", [0])
    yield "inputs and outputs of size 0", question(net)
    yield "StridedSlice with more bounds than axes", strided_slice()
    yield "broadcast masks of ScaledDotProductAttention", attention([1, 1, 1, 5])
    yield "boolean masks of ScaledDotProductAttention", attention([1, 1, 4, 5], "boolean")
