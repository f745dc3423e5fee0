"""TensorFlow on the CPU: the values of eager operations, and the shapes that tracing a function infers."""

import tensorflow as tf

from formats import build

from . import NotOffered
from .onnx_models import answer, feeds
from .tensorflow_operations import late_names, operation_of, shapes_of

PACKAGES = ["tensorflow-cpu"]
# Its text clamps a bound below the axis to -1 if the stride is negative, like Python.
DIALECT = "numpy"
INDEX_TYPES = ["int16", "int32", "int64"]
FUNCTIONS = {
    "StridedSlice": lambda data, begin, end, stride, **masks: tf.strided_slice(data[0], begin, end, stride, **masks),
    "Reshape": lambda data, to: tf.reshape(data[0], to),
    "Concat": tf.concat,
    "Split": lambda data, parts, axis: tf.split(data[0], parts, axis),
    "SplitV": lambda data, split, axis: tf.split(data[0], split, axis),
    "Gather": lambda data, index, axis: tf.gather(data[0], index, axis=axis),
    "Pad": lambda data, paddings: tf.pad(data[0], paddings, constant_values=-1),
    "MirrorPad": lambda data, paddings: tf.pad(data[0], paddings, "REFLECT"),
    "BroadcastTo": lambda data, to: tf.broadcast_to(data[0], to),
}


def version():
    return tf.__version__


def infer(case):
    operation = operation_of(case)
    # TensorFlow has no names and no intervals of sizes.
    shapes = [[size if isinstance(size, int) else None for size in shape] for shape in shapes_of(case)]
    data = [tf.TensorSpec(shape, tf.float32) for shape in shapes]
    late = {name: operation.lists[name] for name in late_names(case)}
    late = {name: tf.TensorSpec(array.shape, array.dtype) for name, array in late.items()}
    traced = tf.function(lambda data, late: call(operation, data, late), autograph=False)
    found = traced.get_concrete_function(data, late).structured_outputs.shape
    return None if found.rank is None else ["?" if size is None else size for size in found]


def run(case):
    arrays = feeds(build(case))
    return answer(call(operation_of(case), [tf.constant(arrays[name]) for name in arrays if name.startswith("data")]))


def call(operation, data, late=()):
    """The output for tensors of the data and of index inputs that are given at run time."""
    given = {name: late[name] if name in late else tensor(operation.lists[name], data) for name in operation.lists}
    if operation.kind == "Split":
        given["parts"] = operation.parts
    found = FUNCTIONS[operation.kind](data, **given, **operation.attributes)
    return found if operation.parts is None else found[operation.output]


def tensor(values, data):
    """The tensor of an index input; some entries may be computed from the sizes of the data."""
    if isinstance(values, list):
        sizes = tf.shape(data[0], tf.int64)
        return tf.stack([computed(item, sizes) if isinstance(item, dict) else item for item in values])
    if values.dtype not in INDEX_TYPES:
        raise NotOffered("index types")
    return tf.constant(values)


def computed(item, sizes):
    return sizes[item["axis"]] * item.get("times", 1) // item.get("over", 1) + item.get("plus", 0)
