"""The layers of OpenVINO that move elements. Their cases ask for shapes, not for a run."""

from .movement import data_name


def add_openvino_movement(model, case, kind, version):
    """Adds the inputs and the layer of a case."""
    inputs = []
    for i, shape in enumerate(case.get("shapes") or [case["shape"]]):
        inputs.append(data_name(i))
        model.add_data(inputs[-1], shape, None)

    def add(name, values, dims=None):
        model.add_list(name, values, "i64", False, dims)
        inputs.append(name)

    attributes, outputs = {}, ["y"]
    if kind == "Concat":
        attributes["axis"] = case["axis"]
    elif kind == "Reshape":
        attributes["special_zero"] = "true"
        add("shape", case["to"])
    elif kind == "Broadcast":
        attributes["mode"] = "bidirectional"
        add("target", case["to"])
    elif kind == "Gather":
        attributes["batch_dims"] = 0
        add("indices", case["index"], case["index_shape"])
        add("axis", [case["axis"]], [])
    elif kind == "VariadicSplit":
        outputs = [f"y{i}" for i in range(case["parts"])]
        add("axis", [case["axis"]], [])
        add("lengths", case["split"])
    elif kind == "Pad":
        attributes["pad_mode"] = case["mode"]
        rank = len(case["pads"]) // 2
        add("begins", case["pads"][:rank])
        add("ends", case["pads"][rank:])
    model.outputs[outputs[case.get("output", 0)]] = None
    model.add_layer(kind, version, inputs, outputs, attributes)
