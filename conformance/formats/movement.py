"""The layers of ONNX that move elements."""

LISTS = {"Reshape": [("to", "shape")], "Expand": [("to", "shape")], "Pad": [("pads", "pads")], "Concat": [],
         "Split": [("split", "split")], "Gather": [("index", "indices")]}
ATTRIBUTES = ["allowzero", "axis", "mode", "num_outputs"]


def add_movement(model, case, kind, version):
    """Adds the inputs and the layer of a case."""
    shapes = case.get("shapes") or [case["shape"]]
    sizes = shapes
    if "sizes" in case:
        sizes = case["sizes"] if "shapes" in case else [case["sizes"]]
    is_run = all(isinstance(size, int) for shape in sizes for size in shape)
    inputs, first = [], 0
    for i, shape in enumerate(shapes):
        inputs.append(data_name(i))
        model.add_data(inputs[-1], shape, sizes[i] if is_run else None, first)
        first += len(model.feeds[inputs[-1]].values) if is_run else 0
    for name, file_name in LISTS[kind]:
        if name in case:
            dims = case["index_shape"] if kind == "Gather" else [len(case[name])]
            model.add_list(file_name, case[name], "i64", name in case.get("at_run_time", []), dims)
            inputs.append(file_name)
    if kind == "Pad":
        # Padding is no element of the data.
        model.add_scalar("padding", -1.0)
        inputs.append("padding")
        if "axes" in case:
            model.add_list("axes", case["axes"], "i64", False)
            inputs.append("axes")
    outputs = [f"y{i}" for i in range(case.get("parts", 1))]
    model.outputs[outputs[case.get("output", 0)]] = output_rank(kind, case, len(shapes[0]))
    attributes = {name: case[name] for name in ATTRIBUTES if name in case}
    model.add_layer(kind, version, inputs, outputs, attributes)


def data_name(i):
    """The name of a data input."""
    return f"data{i}" if i else "data"


def output_rank(kind, case, rank):
    """The rank of the output for data of a rank."""
    if kind == "Reshape":
        return len(case["to"])
    if kind == "Expand":
        return max(rank, len(case["to"]))
    return rank - 1 + len(case["index_shape"]) if kind == "Gather" else rank
