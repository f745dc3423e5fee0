"""Models of one layer each, cut out of the models in `tests/cases/ops` and `release_cases.snick`.

snick converts each of these models to an IR and runs it, so the inputs of each layer are known and valid. The small
model keeps the constant inputs of a layer. The others become inputs of fixed sizes. In further variants the last ones
become constants, because the CPU plug-ins of some releases want constants."""

import base64
import copy
import pathlib
import subprocess
import tempfile
import xml.etree.ElementTree as ET
from dataclasses import dataclass

import numpy as np

from release_models import Net, element_type, is_in_numpy

# Layers that only carry values.
CARRIERS = ("Parameter", "Const", "Result", "Assign")


@dataclass
class Case:
    """A model of one layer."""

    op: str
    """The operation and its operation set, as `Pad-opset12`."""
    name: str
    """The name of the layer, after that of its model, and the variant."""
    is_variant: bool
    input_count: int
    attributes: dict
    question: dict
    """See release_worker.py."""
    expected: list
    """The outputs that snick computes."""


def to_array(value):
    value = np.asarray(value)
    return [value.dtype.str, list(value.shape), value.reshape(-1).tolist()]


class Cutter:
    """Builds the model of one layer."""

    def __init__(self, tested, weights):
        self.net, self.tested, self.weights, self.constants, self.inputs = Net(), tested, weights, {}, []
        self.tested_id = self.net.add(tested)

    def keep(self, const, source_port, target_port):
        if const.get("id") not in self.constants:
            kept = copy.deepcopy(const)
            kept.set("name", "constant%d" % len(self.constants))  # older releases refuse equal names
            self.constants[const.get("id")] = self.net.add(kept)
        self.net.connect(self.constants[const.get("id")], source_port, self.tested_id, target_port)

    def feed(self, value, kind, target_port, is_constant):
        """Feeds a value to the layer. Types that numpy lacks are fed as f32 and converted."""
        taken = kind if is_in_numpy(kind) else "f32"
        value = value.astype({"boolean": "?"}.get(taken, value.dtype) if taken == kind else "f4")
        if is_constant and kind != "string":
            source = self.net.constant(taken, value.shape, len(self.weights), value.nbytes)
            self.weights += value.tobytes()
        else:
            source = self.net.parameter(taken, value.shape)
            self.inputs.append(to_array(value))
        if taken != kind:
            source = self.net.convert(*source, taken, kind, value.shape)
        self.net.connect(*source, self.tested_id, target_port)

    def result(self, source_port):
        kind, source = element_type(source_port), (self.tested_id, int(source_port.get("id")))
        dims = [int(dim.text) for dim in source_port.findall("dim")]
        # Some releases lose the names of integer outputs, so these are converted, too.
        if kind not in ("f32", "f64", "f16", "boolean", "string"):
            source, kind = self.net.convert(*source, kind, "f32", dims), "f32"
        self.net.result(*source, kind, dims)

    def assign(self, source_port):
        """Adds the Assign that each ReadValue needs."""
        self.net.assign(self.tested_id, int(source_port.get("id")), self.tested.find("data").attrib,
                        self.tested.get("version"), element_type(source_port))


class Model:
    """An IR that snick has written, with the values of all layers."""

    def __init__(self, snick, source, folder):
        path, arrays = folder / (source.stem + ".xml"), folder / (source.stem + ".npz")
        run(snick, "convert", source, "-o", path)
        root = ET.parse(path).getroot()
        self.name, self.weights = source.stem, path.with_suffix(".bin").read_bytes()
        self.layers = root.findall("./layers/layer")
        by_id, self.sources, keys = {found.get("id"): found for found in self.layers}, {}, {}
        for found in root.findall("./edges/edge"):
            owner = by_id[found.get("from-layer")]
            port = owner.find("./output/port[@id='%s']" % found.get("from-port"))
            self.sources[found.get("to-layer"), found.get("to-port")] = (owner, port)
        for found in self.layers:
            ports = found.findall("./output/port")
            if found.get("type") not in ("Result", "Assign"):
                keys.update({found.get("name") + (":%d" % at if len(ports) > 1 else ""): port
                             for at, port in enumerate(ports)})
        run(snick, "run", path, "--layers", ",".join(keys), "--keep-going", "-o", arrays)
        with np.load(arrays, allow_pickle=False) as loaded:
            self.values = {id(port): loaded[key] for key, port in keys.items() if key in loaded}

    def cut(self, tested, first_constant):
        """The question and the expected outputs of one layer, with constants from an input on."""
        cutter = Cutter(copy.deepcopy(tested), self.weights)
        for at, port in enumerate(tested.findall("./input/port")):
            source, source_port = self.sources[tested.get("id"), port.get("id")]
            if source.get("type") == "Const":
                cutter.keep(source, int(source_port.get("id")), int(port.get("id")))
            else:
                cutter.feed(self.values[id(source_port)], element_type(source_port), int(port.get("id")),
                            at >= first_constant)
        outputs = tested.findall("./output/port")
        for port in outputs:
            cutter.result(port)
        if tested.get("type") == "ReadValue":
            cutter.assign(outputs[0])
        question = {"xml": cutter.net.text(), "bin": base64.b64encode(cutter.weights).decode(),
                    "layer": tested.get("name"), "inputs": cutter.inputs}
        expected = [self.values[id(port)] for port in outputs if id(port) in self.values]
        return question, list(map(to_array, expected))

    def cases(self):
        for tested in self.layers:
            # Where two layers have the same name, only the value of one is known.
            ports = [self.sources[tested.get("id"), port.get("id")] for port in tested.findall("./input/port")]
            is_known = all(source.get("type") == "Const" or id(port) in self.values for source, port in ports)
            if tested.get("type") in CARRIERS or not is_known:
                continue
            data, asked = tested.find("data"), []
            for first_constant in range(len(ports), 0, -1):
                question, expected = self.cut(tested, first_constant)
                if question in asked:
                    continue
                variant = "/%d" % first_constant if asked else ""
                yield Case(tested.get("type") + "-" + tested.get("version"),
                           self.name + "/" + tested.get("name") + variant, bool(asked), len(ports),
                           {} if data is None else dict(data.attrib), question, expected)
                asked.append(question)


def run(snick, *arguments):
    subprocess.run([snick, *map(str, arguments), "--quiet"], check=True, capture_output=True)


def cases(snick, root):
    """All cases."""
    sources = [*sorted((root / "tests/cases/ops").glob("*.snick")), root / "tests/comparison/release_cases.snick"]
    with tempfile.TemporaryDirectory() as folder:
        return [case for source in sources for case in Model(snick, source, pathlib.Path(folder)).cases()]
