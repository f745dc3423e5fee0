"""`.xml` and `.bin` files of OpenVINO IR version 11."""

from .onnx_file import raw

PRECISIONS = {"f32": "FP32"}


def openvino_texts(model):
    """The text of the `.xml` file and the bytes of the `.bin` file."""
    layers, edges, weights = [], [], b""
    ports = {}

    def add(names, kind, opset, data, inputs, output):
        layer_id, name = len(layers), names[0]
        attributes = "".join(f' {key}="{value}"' for key, value in data.items())
        lines = [f'<layer id="{layer_id}" name="{name}" type="{kind}" version="{opset}">']
        if data:
            lines.append(f"<data{attributes}/>")
        if inputs:
            lines.append("<input>")
            for port, source in enumerate(inputs):
                lines.append(f'<port id="{port}">{ports[source][2]}</port>')
                from_layer, from_port, _ = ports[source]
                edges.append((from_layer, from_port, layer_id, port))
            lines.append("</input>")
        if output is not None:
            element_type, dims = output
            dims = "" if dims is None else "".join(f"<dim>{dim}</dim>" for dim in dims)
            precision = PRECISIONS.get(element_type, element_type.upper())
            lines.append("<output>")
            for port, output_name in enumerate(names, len(inputs)):
                lines.append(f'<port id="{port}" precision="{precision}">{dims}</port>')
                ports[output_name] = layer_id, port, dims
            lines.append("</output>")
        layers.append("".join(lines) + "</layer>")

    for name, (element_type, shape) in model.inputs.items():
        text = ",".join(str(size) for size in shape)
        dims = [size if isinstance(size, int) else -1 for size in shape]
        add([name], "Parameter", "opset1", {"shape": text, "element_type": element_type}, [], (element_type, dims))
    for name, array in model.constants.items():
        content = raw(array)
        shape = ",".join(str(dim) for dim in array.dims)
        data = {"element_type": array.element_type, "shape": shape, "offset": len(weights), "size": len(content)}
        weights += content
        add([name], "Const", "opset1", data, [], (array.element_type, array.dims))
    for layer in model.layers:
        data = {name: attribute(value) for name, value in layer.attributes.items()}
        inputs = [name for name in layer.inputs if name]
        # Readers infer the dims of the output.
        add(layer.outputs, layer.kind, f"opset{layer.version}", data, inputs, ("f32", None))
    add(["result"], "Result", "opset1", {}, list(model.outputs), None)
    keys = ("from-layer", "from-port", "to-layer", "to-port")
    lines = ['<?xml version="1.0"?>', '<net name="case" version="11">', "<layers>", *layers, "</layers>", "<edges>"]
    lines += ["<edge " + " ".join(f'{key}="{at}"' for key, at in zip(keys, edge)) + "/>" for edge in edges]
    return "\n".join([*lines, "</edges>", "</net>", ""]), weights


def attribute(value):
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
