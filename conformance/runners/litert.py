"""LiteRT, once TensorFlow Lite: its interpreter, with its default delegate, on `.tflite` files of one operator."""

from importlib.metadata import version as package_version

import flatbuffers
import numpy
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter

from formats import build

from . import NotOffered
from .onnx_models import answer, feeds
from .tensorflow_operations import late_names, operation_of, shapes_of

PACKAGES = ["ai-edge-litert"]
# It takes over the operations of TensorFlow.
DIALECT = "numpy"
# The name of the operator and of its options, its version, and its inputs after or before the data.
OPERATORS = {
    "StridedSlice": ("STRIDED_SLICE", "StridedSlice", 6, ["data", "begin", "end", "stride"]),
    "Reshape": ("RESHAPE", "Reshape", 1, ["data", "to"]),
    "Concat": ("CONCATENATION", "Concatenation", 1, ["data"]),
    "Split": ("SPLIT", "Split", 1, ["axis", "data"]),
    "SplitV": ("SPLIT_V", "SplitV", 1, ["data", "split", "axis"]),
    "Gather": ("GATHER", "Gather", 1, ["data", "index"]),
    "Pad": ("PADV2", "PadV2", 1, ["data", "paddings", "padding"]),
    "MirrorPad": ("MIRROR_PAD", "MirrorPad", 1, ["data", "paddings"]),
    "BroadcastTo": ("BROADCAST_TO", "BroadcastTo", 2, ["data", "to"]),
}
PLACEHOLDER = schema.BuiltinOperator.PLACEHOLDER_FOR_GREATER_OP_CODES


def version():
    return package_version("ai-edge-litert")


class File:
    """A `.tflite` file, and the arrays of its inputs."""

    def __init__(self):
        self.buffers, self.tensors, self.inputs, self.feeds = [schema.BufferT()], [], [], []

    def add_tensor(self, dims, dtype="float32", constant=None):
        """Adds a tensor; an open size is `"?"`."""
        tensor = schema.TensorT(type=getattr(schema.TensorType, dtype.upper()), name=f"t{len(self.tensors)}")
        tensor.shape, tensor.hasRank = [1 if size == "?" else size for size in dims], True
        if "?" in dims:
            tensor.shapeSignature = [-1 if size == "?" else size for size in dims]
        if constant is not None:
            tensor.buffer = len(self.buffers)
            self.buffers.append(schema.BufferT(data=list(constant.tobytes())))
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def add_input(self, dims, array):
        self.inputs.append(self.add_tensor(dims, str(array.dtype)))
        self.feeds.append(array)
        return self.inputs[-1]

    def add_constant(self, array):
        return self.add_tensor(array.shape, str(array.dtype), array)

    def content(self, operation, inputs):
        """The bytes of the file for an operation of these tensors."""
        name, options_name, operator_version, _ = OPERATORS[operation.kind]
        options = getattr(schema, f"{options_name}OptionsT")()
        for key, value in [*operation.attributes.items(), ("num_splits", operation.parts)]:
            first, *rest = key.split("_")
            field = first + "".join(word.title() for word in rest)
            if hasattr(options, field):
                setattr(options, field, value)
        outputs = [self.add_tensor([]) for _ in range(operation.parts or 1)]
        operator = schema.OperatorT(inputs=inputs, outputs=outputs, builtinOptions=options)
        operator.builtinOptionsType = getattr(schema.BuiltinOptions, f"{options_name}Options")
        graph = schema.SubGraphT(self.tensors, self.inputs, [outputs[operation.output]], [operator])
        number = getattr(schema.BuiltinOperator, name)
        code = schema.OperatorCodeT(min(number, PLACEHOLDER), None, operator_version, number)
        builder = flatbuffers.Builder()
        model = schema.ModelT(version=3, operatorCodes=[code], subgraphs=[graph], buffers=self.buffers)
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def index_array(values):
    """An index input as 32-bit integers, the only type that the operators take."""
    if isinstance(values, list):
        raise NotOffered("models of several operators")
    found = values.astype("int32")
    if (found != values).any():
        raise NotOffered("64-bit indices")
    return found


def load(case):
    """An interpreter whose inputs have the shapes of a run, and their arrays."""
    operation, file = operation_of(case), File()
    if operation.kind == "StridedSlice" and not 1 <= len(case["shape"]) <= 5:
        # "StridedSlice op only supports 1D-5D input arrays."
        raise NotOffered("slices of 0 or 6 axes")
    arrays, late, inputs = feeds(build(case)), late_names(case), []
    for name in OPERATORS[operation.kind][3]:
        if name == "data":
            data = [array for key, array in arrays.items() if key.startswith("data")]
            inputs += [file.add_input(shape, array) for shape, array in zip(shapes_of(case), data, strict=True)]
        elif name in ("axis", "padding"):
            value = numpy.int32(operation.attributes["axis"]) if name == "axis" else numpy.float32(-1)
            inputs.append(file.add_constant(numpy.asarray(value)))
        else:
            array = index_array(operation.lists[name])
            inputs.append(file.add_input(array.shape, array) if name in late else file.add_constant(array))
    interpreter = Interpreter(model_content=file.content(operation, inputs), num_threads=1)
    details = interpreter.get_input_details()
    for detail, array in zip(details, file.feeds):
        if -1 in detail["shape_signature"]:
            interpreter.resize_tensor_input(detail["index"], array.shape)
    interpreter.allocate_tensors()
    return interpreter, [(detail["index"], array) for detail, array in zip(details, file.feeds)]


def infer(case):
    if "sizes" in case or not all(isinstance(size, int) for shape in shapes_of(case) for size in shape):
        raise NotOffered("shapes before the sizes and inputs of a run are known")
    interpreter, _ = load(case)
    return [int(size) for size in interpreter.get_output_details()[0]["shape"]]


def run(case):
    interpreter, given = load(case)
    for index, array in given:
        interpreter.set_tensor(index, array)
    interpreter.invoke()
    output = interpreter.get_output_details()[0]
    if 0 in output["shape"]:
        # `get_tensor` refuses outputs without elements whose shape depends on an input.
        return answer(numpy.zeros(output["shape"]))
    return answer(interpreter.get_tensor(output["index"]))
