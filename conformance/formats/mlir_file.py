"""`.mlir` files: the operators of ONNX as torch-mlir and IREE import them. Sizes of results are left open."""


def mlir_text(model):
    """The text of a model whose dialect is ONNX."""
    types, lines = {}, []
    for name, (element_type, shape) in model.inputs.items():
        if any(isinstance(size, str) and size != "?" and not size.isidentifier() for size in shape):
            raise ValueError("MLIR cannot declare an interval of sizes")
        types[name] = element_type, ["?" if isinstance(size, str) else size for size in shape]
    for name, array in model.constants.items():
        types[name] = array.element_type, array.dims
        literal = f"dense<{nested(array.values, array.dims)}> : {builtin_type(*types[name])}"
        attributes = f"{{torch.onnx.value = {literal}}}"
        lines.append(f'%{name} = torch.operator "onnx.Constant"() {attributes} : () -> {tensor_type(*types[name])}')
    if any("" in layer.inputs for layer in model.layers):
        types[""] = None
        lines.append("%omitted = torch.constant.none")
    for layer in model.layers:
        types |= result_types(layer, types, model)
        lines.append(operation(layer, types))
    output, = model.outputs
    result = tensor_type(*types[output])
    arguments = ", ".join(f"%{name}: {tensor_type(*types[name])}" for name in model.inputs)
    opset = f"torch.onnx_meta.opset_version = {model.opset} : si64"
    return "\n".join([
        f"func.func @case({arguments}) -> {result} attributes {{{opset}}} {{",
        *(f"  {line}" for line in lines),
        f"  return %{output} : {result}",
        "}",
        "",
    ])


def element(element_type):
    return element_type if element_type == "f32" else element_type.replace("i", "si").replace("u", "ui")


def tensor_type(element_type, dims):
    return f"!torch.vtensor<[{','.join(map(str, dims))}],{element(element_type)}>"


def builtin_type(element_type, dims):
    return f"tensor<{''.join(f'{dim}x' for dim in dims)}{element(element_type)}>"


def nested(values, dims):
    """The content of `dense<>`."""
    if not dims:
        return str(values[0])
    if not values:
        return ""
    length = len(values) // dims[0]
    return f"[{', '.join(nested(values[i * length:(i + 1) * length], dims[1:]) for i in range(dims[0]))}]"


def result_types(layer, types, model):
    """The types of the outputs of a layer."""
    if layer.outputs[0] in model.outputs or len(layer.outputs) > 1:
        rank, = model.outputs.values()
        return {name: (model.output_type, ["?"] * rank) for name in layer.outputs}
    # These layers compute a list from sizes.
    if layer.kind == "Shape":
        count = len(types[layer.inputs[0]][1])
    elif layer.kind == "Concat":
        count = sum(types[name][1][0] for name in layer.inputs)
    else:
        count = 1
    return {layer.outputs[0]: ("i64", [count])}


def operation(layer, types):
    operands = ", ".join(f"%{name or 'omitted'}" for name in layer.inputs)
    operand_types = ", ".join(tensor_type(*types[name]) if name else "!torch.none" for name in layer.inputs)
    attributes = ", ".join(f"torch.onnx.{name} = {attribute(value)}" for name, value in layer.attributes.items())
    result_list = [tensor_type(*types[name]) for name in layer.outputs]
    results = result_list[0] if len(result_list) == 1 else f"({', '.join(result_list)})"
    names = ", ".join(f"%{name}" for name in layer.outputs)
    block = f" {{{attributes}}}" if attributes else ""
    return f'{names} = torch.operator "onnx.{layer.kind}"({operands}){block} : ({operand_types}) -> {results}'


def attribute(value):
    if isinstance(value, int):
        return f"{value} : si64"
    if isinstance(value, str):
        return f'"{value}"'
    return f"[{', '.join(f'{item} : si64' for item in value)}]"
