"""`.onnx` files: just enough protobuf. Field numbers are those of `onnx.proto`."""

import struct

TYPES = {"f32": 1, "u8": 2, "i8": 3, "u16": 4, "i16": 5, "i32": 6, "i64": 7, "bool": 9, "u32": 12, "u64": 13}
CODES = {"f32": "f", "u8": "B", "i8": "b", "u16": "H", "i16": "h", "i32": "i", "i64": "q", "u32": "I", "u64": "Q"}
IR_VERSION = 7


def raw(array):
    """The elements of an array as little-endian bytes."""
    return struct.pack(f"<{len(array.values)}{CODES[array.element_type]}", *array.values)


def varint(value):
    value &= 2**64 - 1
    found = bytearray()
    while True:
        found.append(value & 127 | (128 if value > 127 else 0))
        value >>= 7
        if not value:
            return bytes(found)


def number(tag, value):
    return varint(tag << 3) + varint(value)


def block(tag, content):
    """A nested message, text or bytes."""
    content = content.encode() if isinstance(content, str) else content
    return varint(tag << 3 | 2) + varint(len(content)) + content


def tensor(name, array):
    dims = b"".join(number(1, dim) for dim in array.dims)
    return dims + number(2, TYPES[array.element_type]) + block(8, name) + block(9, raw(array))


def value_info(name, element_type, shape):
    """`shape` is `None` for an unknown rank. A name in it is a symbol; `"?"` is a size without a name."""
    content = number(1, TYPES[element_type])
    if shape is not None:
        content += block(2, b"".join(block(1, dimension(size)) for size in shape))
    return block(1, name) + block(2, block(1, content))


def dimension(size):
    if isinstance(size, int):
        return number(1, size)
    if size == "?":
        return b""
    if not size.isidentifier():
        raise ValueError(f"ONNX cannot declare a size {size}")
    return block(2, size)


def attribute(name, value):
    if isinstance(value, int):
        return block(1, name) + number(3, value) + number(20, 2)
    if isinstance(value, str):
        return block(1, name) + block(4, value) + number(20, 3)
    return block(1, name) + b"".join(number(8, item) for item in value) + number(20, 7)


def node(layer):
    found = b"".join(block(1, name) for name in layer.inputs) + b"".join(block(2, name) for name in layer.outputs)
    found += block(3, layer.outputs[0]) + block(4, layer.kind)
    return found + b"".join(block(5, attribute(*item)) for item in layer.attributes.items())


def onnx_bytes(model):
    """The file of a model whose dialect is ONNX."""
    graph = b"".join(block(1, node(layer)) for layer in model.layers) + block(2, "case")
    graph += b"".join(block(5, tensor(*item)) for item in model.constants.items())
    graph += b"".join(block(11, value_info(name, *declared)) for name, declared in model.inputs.items())
    for name, rank in model.outputs.items():
        graph += block(12, value_info(name, model.output_type, None if rank is None else ["?"] * rank))
    opset = block(1, "") + number(2, model.opset)
    return number(1, IR_VERSION) + block(2, "conformance") + block(7, graph) + block(8, opset)
