"""A case as a graph of one or more layers, independent of the file format."""

from dataclasses import dataclass, field
from math import prod

from .movement import add_movement
from .openvino_movement import add_openvino_movement

MASKS = ["begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask", "ellipsis_mask"]
DATA_TYPE = "f32"
# What is done to a size, in this order, and the key with the number.
STEPS = [("Mul", "times"), ("Div", "over"), ("Add", "plus")]


@dataclass
class Array:
    """Values in row-major order."""

    element_type: str
    dims: list
    values: list


@dataclass
class Layer:
    """`kind` and `version` as in the operation set; an input that is omitted is `""`."""

    kind: str
    version: int
    inputs: list
    outputs: list
    attributes: dict = field(default_factory=dict)


@dataclass
class Model:
    """`inputs` maps a name to its element type and declared shape, `feeds` to the array of a run."""

    dialect: str
    inputs: dict = field(default_factory=dict)
    constants: dict = field(default_factory=dict)
    feeds: dict = field(default_factory=dict)
    layers: list = field(default_factory=list)
    # Each output with its rank, or `None` if the case does not say.
    outputs: dict = field(default_factory=dict)
    output_type: str = DATA_TYPE

    def add_data(self, name, shape, sizes, first=0):
        """Data whose elements are numbered; `sizes` are the dims in a run, or `None` if the case is not run."""
        self.inputs[name] = DATA_TYPE, shape
        if sizes is not None:
            values = [float(first + i) for i in range(prod(sizes))]
            self.feeds[name] = Array(DATA_TYPE, sizes, values)

    def add_list(self, name, values, element_type, is_late, dims=None):
        """Indices: a constant, or an input if its values are known only at run time. Without dims, a list."""
        if any(isinstance(value, dict) for value in values):
            self.add_computed(name, values)
            return
        array = Array(element_type, [len(values)] if dims is None else dims, values)
        if is_late:
            self.inputs[name] = element_type, array.dims
            self.feeds[name] = array
        else:
            self.constants[name] = array

    def add_computed(self, name, values):
        """A list in which some entries are computed from the sizes of the data, as `size * times / over + plus`."""
        self.add_layer("Shape", 13, ["data"], [f"{name}.sizes"])
        parts = []
        for i, value in enumerate(values):
            parts.append(f"{name}.{i}")
            if not isinstance(value, dict):
                self.constants[parts[-1]] = Array("i64", [1], [value])
                continue
            steps = [("Gather", value["axis"])]
            steps += [(kind, value[key]) for kind, key in STEPS if key in value]
            source = f"{name}.sizes"
            for at, (kind, number) in enumerate(steps):
                output = parts[-1] if at == len(steps) - 1 else f"{name}.{i}.{kind}"
                self.constants[f"{output}.by"] = Array("i64", [1], [number])
                self.add_layer(kind, 13, [source, f"{output}.by"], [output])
                source = output
        self.add_layer("Concat", 13, parts, [name], {"axis": 0})

    def add_scalar(self, name, value):
        """A constant of the type of the data."""
        self.constants[name] = Array(DATA_TYPE, [], [value])

    def add_layer(self, *arguments):
        """Adds a `Layer` with these fields."""
        self.layers.append(Layer(*arguments))

    @property
    def opset(self):
        """The operation set of ONNX that has these versions."""
        # Version 1 of an operator is current up to the set that has its second version.
        version = max(layer.version for layer in self.layers)
        return 9 if version == 1 else version


def run_sizes(case):
    """The dims of the data in a run, or `None` if the case only asks for shapes."""
    sizes = case.get("sizes", case.get("shape"))
    return sizes if all(isinstance(size, int) for size in sizes) else None


def build(case):
    """The model of a case."""
    name, version = case["op"].rsplit("-", 1)
    dialect, kind = name.split(".") if "." in name else ("openvino", name)
    model = Model(dialect)
    if kind.endswith("Slice"):
        add_slice(model, case, kind, int(version))
    elif dialect == "onnx":
        add_movement(model, case, kind, int(version))
    else:
        add_openvino_movement(model, case, kind, int(version))
    return model


def add_slice(model, case, kind, version):
    model.add_data("data", case["shape"], run_sizes(case))
    model.outputs["y"] = len(case["shape"]) if kind == "Slice" else None
    if kind == "StridedSlice":
        names, file_names = ["begin", "end", "stride"], ["begin", "end", "stride"]
        attributes = {name: case[name] for name in MASKS}
    else:
        names, file_names = ["start", "stop", "axes", "step"], ["starts", "ends", "axes", "steps"]
        attributes = {}
    if model.dialect == "openvino" and kind == "Slice":
        names = file_names = ["start", "stop", "step", "axes"]
    if model.dialect == "onnx" and version == 1:
        attributes = {out: case[name] for name, out in zip(names, file_names) if name in case}
        model.add_layer(kind, version, ["data"], ["y"], attributes)
        return
    inputs = ["data"]
    for name, file_name in zip(names, file_names):
        if name in case:
            model.add_list(file_name, case[name], case["index_type"], name in case.get("at_run_time", []))
        inputs.append(file_name if name in case else "")
    while inputs[-1] == "":
        inputs.pop()
    model.add_layer(kind, version, inputs, ["y"], attributes)
