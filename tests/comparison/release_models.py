"""Small IRs as text."""

import xml.etree.ElementTree as ET

PRECISIONS = {"f32": "FP32", "f16": "FP16", "f64": "FP64", "boolean": "BOOL", "dynamic": "UNSPECIFIED"}
NUMPY_TYPES = {"f32", "f64", "f16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "boolean", "string"}
# Some releases look for the end of `<net>` in the first 512 bytes, and do not read a shorter file.
PADDING = " " * 512


def is_in_numpy(kind):
    return kind in NUMPY_TYPES


def element_type(port):
    """The element type of a port, such as `f32` for FP32."""
    precision = port.get("precision")
    return next((kind for kind, name in PRECISIONS.items() if name == precision), precision.lower())


class Net:
    """A model under construction. A source is (layer, port)."""

    def __init__(self, version=11):
        self.version, self.layers, self.edges = version, [], []

    def add(self, layer):
        """Adds a layer and returns its number."""
        layer.set("id", str(len(self.layers)))
        self.layers.append(layer)
        return len(self.layers) - 1

    def layer(self, op, opset, attributes=None, inputs=(), outputs=(), name=None):
        """Adds a layer with ports given as (type, dims), and returns its number. The dims None are not written."""
        layer = ET.Element("layer", name=name or "l%d" % len(self.layers), type=op, version=opset)
        if attributes:
            ET.SubElement(layer, "data", attributes)
        number = 0
        for tag, ports in ("input", inputs), ("output", outputs):
            parent = ET.SubElement(layer, tag) if ports else None
            for kind, dims in ports:
                port = ET.SubElement(parent, "port", id=str(number), precision=PRECISIONS.get(kind, kind.upper()))
                for dim in dims or ():
                    ET.SubElement(port, "dim").text = str(dim)
                number += 1
        return self.add(layer)

    def connect(self, source, source_port, target, target_port):
        ends = {"from-layer": source, "from-port": source_port, "to-layer": target, "to-port": target_port}
        self.edges.append(ET.Element("edge", {key: str(value) for key, value in ends.items()}))

    def parameter(self, kind, dims, shape=None):
        shape = ",".join(map(str, dims)) if shape is None else shape
        return self.layer("Parameter", "opset1", {"shape": shape, "element_type": kind}, outputs=[(kind, dims)]), 0

    def constant(self, kind, dims, offset, size):
        attributes = {"element_type": kind, "shape": ",".join(map(str, dims)), "offset": str(offset), "size": str(size)}
        return self.layer("Const", "opset1", attributes, outputs=[(kind, dims)]), 0

    def convert(self, source, port, before, after, dims):
        number = self.layer("Convert", "opset1", {"destination_type": after}, [(before, dims)], [(after, dims)])
        self.connect(source, port, number, 0)
        return number, 1

    def result(self, source, port, kind, dims, attributes=None):
        number = self.layer("Result", "opset1", attributes, [(kind, dims)])
        self.connect(source, port, number, 0)

    def assign(self, source, port, attributes, opset, kind):
        number = self.layer("Assign", opset, dict(attributes), [(kind, None)], [(kind, None)])
        self.connect(source, port, number, 0)

    def text(self):
        head = '<?xml version="1.0"?>\n<net name="model" version="%d">%s\n' % (self.version, PADDING)
        layers, edges = ("".join(ET.tostring(part, encoding="unicode") + "\n" for part in parts)
                         for parts in (self.layers, self.edges))
        return head + "<layers>\n" + layers + "</layers>\n<edges>\n" + edges + "</edges>\n</net>\n"
