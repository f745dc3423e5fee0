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


def connected(net, op, opset, attributes, inputs, output):
    """Adds a layer with one output. An input is (port, source)."""
    added = net.layer(op, opset, attributes, [port for port, _ in inputs], [output])
    for number, (_, source) in enumerate(inputs):
        net.connect(*source, added, number)
    return added, len(inputs)


def decompression():
    """Weights whose difference from constants shows whether half floats are rounded."""
    net, port, half = Net(), ("f32", [4]), ("f16", [4])
    weights = connected(net, "Convert", "opset1", {"destination_type": "f16"}, [
        (("u8", [4]), net.constant("u8", [4], 0, 4))], half)
    scale = ("f16", [1]), net.constant("f16", [1], 4, 2)
    product = connected(net, "Multiply", "opset1", {"auto_broadcast": "numpy"}, [(half, weights), scale], half)
    wide = connected(net, "Convert", "opset1", {"destination_type": "f32"}, [(half, product)], port)
    close = port, net.constant("f32", [4], 8, 16)
    less = connected(net, "Subtract", "opset1", {"auto_broadcast": "numpy"}, [(port, wide), close], port)
    total = connected(net, "Add", "opset1", {"auto_broadcast": "numpy"}, [(port, less), (port, net.parameter(*port))],
                      port)
    net.result(*total, *port)
    return question(net, struct.pack("<4Be2x4f", 201, 203, 199, 177, 1.3, 261, 263, 258, 230), [array(*port)])


def dynamic_variable():
    """A variable of unknown size, whose initial value is empty, and that grows. The initial value is also an output,
    because some newer releases cannot compute a shape only for the initial value."""
    net = Net()
    ports = {"whole": ("f32", [-1, -1, 3]), "empty": ("f32", [-1, 0, 3]), "sizes": ("i64", [3])}
    axis = net.constant("i64", [], 0, 8)
    source = net.parameter("f32", [-1, 2, 3], "?,2,3")
    sizes = connected(net, "ShapeOf", "opset3", {"output_type": "i64"}, [(("f32", [-1, 2, 3]), source)], ports["sizes"])
    batch = connected(net, "Gather", "opset8", {"batch_dims": "0"}, [
        (ports["sizes"], sizes), (("i64", [1]), net.constant("i64", [1], 0, 8)), (("i64", []), axis)], ("i64", [1]))
    sizes = connected(net, "Concat", "opset1", {"axis": "0"}, [
        (("i64", [1]), batch), (("i64", [2]), net.constant("i64", [2], 0, 16))], ("i64", [3]))
    empty = connected(net, "Broadcast", "opset3", {"mode": "numpy"}, [
        (("f32", []), net.constant("f32", [], 0, 4)), (("i64", [3]), sizes)], ports["empty"])
    attributes = {"variable_id": "v", "variable_type": "f32", "variable_shape": "?,?,3"}
    read = connected(net, "ReadValue", "opset6", attributes, [(ports["empty"], empty)], ports["whole"])
    grown = connected(net, "Concat", "opset1", {"axis": "1"}, [
        (ports["whole"], read), (("f32", [-1, 2, 3]), source)], ports["whole"])
    net.assign(*grown, {"variable_id": "v"}, "opset6", "f32")
    net.result(*grown, *ports["whole"])
    net.result(*empty, *ports["empty"])
    return question(net, struct.pack("<2q", 0, 3), [array("f32", [1, 2, 3])])


def empty_at_run_time():
    """Empties an axis of a value of unknown size with indices that do not exist, as `convert --for` does."""
    net, unknown = Net(), ("f32", [-1, -1])
    zeros = [net.constant("i64", [2], 0, 16) for _ in range(2)]
    ones, zero = net.constant("i64", [2], 16, 16), net.constant("i64", [], 0, 8)
    source = net.parameter(*unknown, "?,?")
    whole, pair, none = (unknown, source), ("i64", [2]), ("i64", [-1])
    empty = connected(net, "Slice", "opset8", {}, [whole, (pair, zeros[0]), (pair, zeros[1]), (pair, ones)],
                      ("f32", [0, 0]))
    less = connected(net, "Less", "opset1", {"auto_broadcast": "numpy"}, [whole, whole], ("boolean", [-1, -1]))
    places = connected(net, "NonZero", "opset3", {"output_type": "i64"}, [(("boolean", [-1, -1]), less)],
                       ("i64", [2, -1]))
    gather, at = {"batch_dims": "0"}, (("i64", []), zero)
    row = connected(net, "Gather", "opset8", gather, [(("i64", [2, -1]), places), at, at], none)
    rows = connected(net, "Gather", "opset8", gather, [(("f32", [0, 0]), empty), (none, row), at], ("f32", [-1, 0]))
    one = (("i64", []), net.constant("i64", [], 16, 8))
    both = connected(net, "Gather", "opset8", gather, [(("f32", [-1, 0]), rows), (none, row), one], unknown)
    net.result(*both, *unknown)
    return question(net, struct.pack("<4q", 0, 0, 1, 1), [array("f32", [3, 4])])


def split():
    """The second part of a vector in a layer of dynamic shape."""
    net, parts, wide = Net(), [("f32", [1])] * 2, ("f32", [-1, 1])
    inputs = [(("f32", [2]), net.parameter("f32", [2])), (("i64", []), net.constant("i64", [], 0, 8))]
    added = net.layer("Split", "opset1", {"num_splits": "2"}, [port for port, _ in inputs], parts)
    for number, (_, source) in enumerate(inputs):
        net.connect(*source, added, number)
    other = net.parameter(*wide, "?,1")
    total = connected(net, "Add", "opset1", {"auto_broadcast": "numpy"}, [(wide, other), (parts[1], (added, 3))], wide)
    net.result(*total, *wide)
    return question(net, bytes(8), [array("f32", [2]), array("f32", [3, 1])])


def dynamic_slice(masks, step, output):
    """A question about a StridedSlice of a value of unknown size."""
    net, bounds = Net(), struct.pack("<6q", 0, 1, 0, 2, 1, step)
    ports = [("f32", [-1, -1]), *[("i64", [2])] * 3]
    sources = [net.parameter(*ports[0], "?,?"), *(net.constant("i64", [2], 16 * at, 16) for at in range(3))]
    sliced = connected(net, "StridedSlice", "opset1", masks, list(zip(ports, sources)), output)
    net.result(*sliced, *output)
    return question(net, bounds, [array("f32", [3, 4])])


def new_axes():
    """A question about a bound behind a new axis."""
    masks = {"begin_mask": "0,0", "end_mask": "0,0", "new_axis_mask": "1,0"}
    return dynamic_slice(masks, 1, ("f32", [1, -1, -1]))


def backward_masks():
    """A question about masked bounds of a negative step."""
    return dynamic_slice({"begin_mask": "1,1", "end_mask": "1,1"}, -1, ("f32", [-1, -1]))


def fake_convert():
    """A question about magnitudes above the largest one and below the smallest normal one."""
    net, numbers = Net(), [0.003, -0.003, 1e5, -1e5, 1.0]
    ports = [("f32", [len(numbers)]), ("f32", [1])]
    sources = [net.parameter(*ports[0]), net.constant("f32", [1], 0, 4)]
    for kind in "f8e4m3", "f8e5m2":
        converted = net.layer("FakeConvert", "opset13", {"destination_type": kind}, ports, ports[:1])
        for port, source in enumerate(sources):
            net.connect(*source, converted, port)
        net.result(converted, len(ports), *ports[0])
    return question(net, struct.pack("<f", 1), [["<f4", [len(numbers)], numbers]])


def boolean_not():
    """A question about BitwiseNot of booleans."""
    net, port = Net(), ("boolean", [2])
    inverted = net.layer("BitwiseNot", "opset13", {}, [port], [port])
    net.connect(*net.parameter(*port), inverted, 0)
    net.result(inverted, 1, *port)
    return question(net, inputs=[array(*port)])


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
    yield "variables of dynamic shape", dynamic_variable()
    yield "variables without initial value", question(variable("none"), inputs=[])
    yield "rt_info of layers", with_information('<attribute name="other" version="0" value="a"/>')
    yield "rt_info without version", with_information('<attribute name="other" value="a"/>')
    yield "rt_info without name", with_information('<other value="a"/>')
    short = question(chain(names=()), inputs=VALUES)
    yield "files below 512 bytes", {**short, "xml": short["xml"].replace(PADDING, "").replace("\n", "")}
    net = Net()
    net.result(*net.parameter("f32", [0]), "f32", [0])
    yield "inputs and outputs of size 0", question(net, inputs=[["<f4", [0], []]])
    yield "outputs of size 0 at run time", empty_at_run_time()
    yield "decompression in half floats without rounding", decompression()
    yield "StridedSlice with more bounds than axes", strided_slice()
    yield "StridedSlice with new axes before bounds of dynamic data", new_axes()
    yield "StridedSlice with masked bounds of negative steps of dynamic data", backward_masks()
    yield "parts of vectors in layers of dynamic shape", split()
    yield "FakeConvert of very small and very large magnitudes", fake_convert()
    yield "BitwiseNot of booleans", boolean_not()
    yield "broadcast masks of ScaledDotProductAttention", attention([1, 1, 1, 5])
    yield "boolean masks of ScaledDotProductAttention", attention([1, 1, 4, 5], "boolean")
