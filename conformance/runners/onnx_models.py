"""What the runners for `.onnx` files share."""

import numpy

from formats import build, onnx_bytes

from . import NotOffered

DTYPES = {"f32": "float32"}
LONG = {"i": "int", "u": "uint"}


def onnx_model(case, declares_rank=True):
    """The model of a case, and the bytes of its file; `declares_rank` is for the rank of the output."""
    model = build(case)
    if model.dialect != "onnx":
        raise NotOffered("operations of OpenVINO")
    if not declares_rank:
        model.outputs = dict.fromkeys(model.outputs)
    try:
        return model, onnx_bytes(model)
    except ValueError as error:
        raise NotOffered(str(error)) from error


def numpy_array(array):
    """An array of a model for numpy."""
    name = array.element_type
    dtype = DTYPES.get(name) or LONG[name[0]] + name[1:]
    return numpy.array(array.values, dtype=dtype).reshape(array.dims)


def feeds(model):
    """The inputs of a run by name."""
    return {name: numpy_array(array) for name, array in model.feeds.items()}


def answer(array):
    """The dims and elements of an output."""
    array = numpy.asarray(array)
    return [list(array.shape), [int(value) for value in array.flatten()]]


def declared_dims(value_info):
    """The dims of a value of an ONNX graph."""
    tensor = value_info.type.tensor_type
    if not tensor.HasField("shape"):
        return None
    found = []
    for dim in tensor.shape.dim:
        kind = dim.WhichOneof("value")
        found.append("?" if kind is None else getattr(dim, kind) or ("?" if kind == "dim_param" else 0))
    return found


def without_declared_shape(model):
    """Removes the rank that the file declares for its outputs, so that an answer is inferred."""
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    return model


def split_dims(text):
    """The dims of a shape; commas inside parentheses do not separate."""
    dims, depth = [""], 0
    for char in text:
        depth += {"(": 1, ")": -1}.get(char, 0)
        if char == "," and depth == 0:
            dims.append("")
        else:
            dims[-1] += char
    return [dim.strip() for dim in dims if dim.strip()]
