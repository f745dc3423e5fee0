"""Answers about layers: read-only, with consumers, bodies and values in place."""

import json
import pickle

import numpy as np
import pytest

import snick


def _answers(model):
    """An answer of each class."""
    layer = model.layers["s"]
    finding = snick.Finding(code="S016", name="unused-input", severity="warning", layer=None, origins=["x"])
    why = model.why("s:0:0")
    return [
        model,
        model.infer(),
        model.inputs,
        model.outputs,
        model.layers,
        model.inputs[0],
        model.inputs[0].names,
        model.inputs[0].dtype,
        model.inputs[0].shape,
        model.inputs[0].shape[0],
        model.inputs[0].symbols,
        layer,
        layer.attributes,
        layer.inputs,
        layer.inputs[0],
        layer.outputs,
        layer.outputs[0],
        layer.bodies,
        layer.consumers,
        why,
        why.tree,
        why.suggest,
        model.cost(),
        model.cost().layers,
        finding,
        finding.origins,
        model.check(),
        model.check().summary,
        snick.diff(model, model),
        snick.diff(model, model).layers,
        model.copy().canonicalise(),
        model.certify(),
        model.certify(after=model).outputs[0],
        model.edit(),
    ]


@pytest.mark.parametrize("at", range(34))
def test_answers_are_read_only(add, at):
    answers = _answers(add)
    assert len(answers) == 34
    answer = answers[at]
    names = [name for name in dir(answer) if not name.startswith("_") and not callable(getattr(answer, name, None))]
    for name in [*names, "name", "a_new_attribute"]:
        with pytest.raises(AttributeError, match=r"edit\(\)"):
            setattr(answer, name, 1)
        with pytest.raises(AttributeError, match=r"edit\(\)"):
            delattr(answer, name)
    for key in (0, "x", slice(0, 1)):
        with pytest.raises((AttributeError, TypeError)):
            answer[key] = 1
        with pytest.raises((AttributeError, TypeError)):
            del answer[key]


def test_attributes_and_lists_are_read_only(graph):
    model = graph(
        '  %x = Parameter-1 {element_type: f32, shape: "1,1,4,4"}\n'
        "  %p = MaxPool-1(%x) {strides: [1, 1], pads_begin: [0, 0], pads_end: [0, 0], kernel: [2, 2]}\n"
        "  %y = Result-1(%p)"
    )
    attributes = model.layers["p"].attrs
    before = dict(attributes)
    assert before["kernel"] == [2, 2] and json.loads(json.dumps(attributes))["kernel"] == [2, 2]
    lists = [attributes["kernel"], model.layers["p"].inputs, model.layers["p"].outputs, model.files, model.errors]
    for change in (
        lambda: attributes.__setitem__("kernel", [3, 3]),
        lambda: attributes.__delitem__("kernel"),
        lambda: attributes.update(kernel=[3, 3]),
        lambda: attributes.setdefault("q", 1),
        lambda: attributes.pop("kernel"),
        lambda: attributes.popitem(),
        lambda: attributes.clear(),
        lambda: attributes.__ior__({"q": 1}),
        *(lambda one=one: one.append(1) for one in lists),
        *(lambda one=one: one.extend([1]) for one in lists),
        *(lambda one=one: one.insert(0, 1) for one in lists),
        *(lambda one=one: one.__iadd__([1]) for one in lists),
        *(lambda one=one: one.clear() for one in lists),
        *(lambda one=one: one.sort() for one in lists),
        *(lambda one=one: one.reverse() for one in lists),
        *(lambda one=one: one.__setitem__(slice(None), []) for one in lists),
        lambda: lists[0].pop(),
        lambda: lists[0].remove(2),
    ):
        with pytest.raises(snick.ReadOnlyError):
            change()
    assert attributes == before and lists[0] == [2, 2]
    own = attributes.copy()
    own["kernel"] = lists[0].copy()
    own["kernel"].append(3)
    assert type(own) is dict and attributes == before


def test_consumers_and_indices(graph):
    model = graph(
        '  %x = Parameter-1 {element_type: f32, shape: "N,4"}\n  %axis = Const-1 i64[] <1>\n'
        "  %parts = Split-1(%x, %axis) {num_splits: 2} : (_, _)\n  %sum = Add-1(%parts:1, %parts)\n"
        "  %r = ReLU-1(%parts:1)\n  %y = Result-1(%sum)\n  %z = Result-1(%r)"
    )
    parts = model.layers["parts"]
    # Each layer once, although `sum` reads both outputs.
    assert [layer.name for layer in parts.consumers] == ["sum", "r"] and parts.consumers[1].op == "ReLU"
    assert model.layers["y"].consumers == [] and model.layers["axis"].consumers == [parts]
    source = model.layers["sum"].inputs[0]
    layer, port = source
    assert (layer, port, source.index, source) == ("parts", 3, parts.index, ("parts", 3))
    for layer in model.layers:
        assert all(model.layers[source.index].name == source.layer for source in layer.inputs)
        assert all(layer.index in [source.index for source in one.inputs] for one in layer.consumers)


def test_layers_of_tensor_names(add):
    assert add.layers["sum"].name == "s" and add.layers["bias"] == add.layers["b"] and "sum" in add.layers


@pytest.mark.parametrize(
    ("name", "roles"),
    [
        ("subgraphs_if", ["then_body", "else_body"]),
        ("subgraphs_loop", ["body"]),
        ("subgraphs_tensor_iterator", ["body"]),
    ],
)
def test_bodies(models, name, roles):
    model = snick.load(models / name)
    (layer,) = [layer for layer in model.layers if layer.bodies]
    assert [body.role for body in layer.bodies] == roles and layer.bodies[roles[-1]] == layer.bodies[-1]
    (node,) = [node for node in model.infer()["nodes"] if node["name"] == layer.name]
    for body, expected in zip(layer.bodies, node["bodies"]):
        assert [(one.name, one.op) for one in body.layers] == [(one["name"], one["op"]) for one in expected["nodes"]]
        for one, known in zip(body.layers, expected["nodes"]):
            assert [str(output.shape) for output in one.outputs] == [output["shape"] for output in known["outputs"]]
            assert all(body.layers[source.index].name == source.layer for source in one.inputs)
        ops = [one.op for one in body.layers]
        assert (len(body.inputs), len(body.outputs)) == (ops.count("Parameter"), ops.count("Result"))
        for port in (*body.inputs, *body.outputs):
            assert body.layers[port.name].dtype == port.dtype and body.layers[port.name].shape == port.shape
        constants = [one for one in body.layers if one.op == "Const"]
        assert all(one.outputs[0].value is not None for one in constants)
    assert [one for one in model.layers if one.bodies] == [layer]
    with pytest.raises(snick.Error) as raised:
        layer.bodies["q"]
    assert isinstance(raised.value, KeyError)


def test_bodies_in_bodies(graph):
    inner = """then_body graph "" {
          %x = Parameter-1 {element_type: f32, shape: "?"}
          %deep = ReLU-1(%x)
          %y = Result-1(%deep)
        }
        else_body graph "" {
          %x = Parameter-1 {element_type: f32, shape: "?"}
          %y = Result-1(%x)
        }"""
    links = '{inputs: ["1 -> 0"], outputs: ["0 -> 0"], back_edges: [], else_inputs: ["1 -> 0"], '
    links += 'else_outputs: ["0 -> 0"], else_back_edges: []}'
    model = graph(
        f"""  %c = Parameter-1 {{element_type: boolean, shape: ""}}
  %x = Parameter-1 {{element_type: f32, shape: "W"}}
  %outer = If-8(%c, %x) {links}
    then_body graph "" {{
      %x = Parameter-1 {{element_type: f32, shape: "?"}}
      %yes = Const-1 boolean[] <1>
      %inner = If-8(%yes, %x) {links}
        {inner}
      %y = Result-1(%inner)
    }}
    else_body graph "" {{
      %x = Parameter-1 {{element_type: f32, shape: "?"}}
      %y = Result-1(%x)
    }}
  %y = Result-1(%outer)"""
    )
    inner = model.layers["outer"].bodies[0].layers["inner"]
    deep = inner.bodies["then_body"].layers["deep"]
    assert [one.name for one in deep.consumers] == ["y"] and deep.inputs[0].index == 0
    assert pickle.loads(pickle.dumps(deep)).consumers[0].name == "y"


def test_values_are_not_copied(tmp_path):
    weights = np.arange(1 << 20, dtype=np.float32)
    weights.tofile(tmp_path / "model.bin")
    shape = f'<dim>{weights.size}</dim></port>'
    layers = [
        f'<layer id="0" name="w" type="Const" version="opset1"><data element_type="f32" shape="{weights.size}" '
        f'offset="0" size="{weights.nbytes}"/><output><port id="0" precision="FP32">{shape}</output></layer>',
        f'<layer id="1" name="y" type="Result" version="opset1"><input><port id="0">{shape}</input></layer>',
    ]
    edge = '<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>'
    (tmp_path / "model.xml").write_text(
        f'<net name="g" version="11"><layers>{"".join(layers)}</layers><edges>{edge}</edges></net>'
    )
    model = snick.load(tmp_path)
    first, second = (model.layers["w"].outputs[0].value for _ in range(2))
    assert np.shares_memory(first, second) and np.shares_memory(first, model.copy().layers["w"].outputs[0].value)
    assert not first.flags.writeable and not first.flags.owndata
    with pytest.raises(ValueError):
        first[0] = 1
    with pytest.raises(ValueError):
        first.flags.writeable = True
    # The value that inference passes on shares its memory, and outputs of runs do not.
    assert np.shares_memory(first, model.layers["y"].outputs[0].value)
    assert not np.shares_memory(first, model.run()["y"])
    del model, second
    np.testing.assert_array_equal(first, weights)


def test_values_of_views_keep_their_strides(graph):
    model = graph(
        "  %c = Const-1 i32[2,3] <1, 2, 3, 4, 5, 6>\n  %order = Const-1 i64[2] <1, 0>\n"
        "  %t = Transpose-1(%c, %order)\n  %y = Result-1(%t)"
    )
    constant, turned = (model.layers[name].outputs[0].value for name in ("c", "t"))
    np.testing.assert_array_equal(turned, [[1, 4], [2, 5], [3, 6]])
    assert turned.flags.aligned and not turned.flags.writeable
    assert constant.flags.c_contiguous and constant.flags.aligned and constant.dtype == np.int32


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        ("boolean[3] <1, 0, 1>", [True, False, True]),
        ("boolean[3] <0x020001>", [True, False, True]),
        ("u4[3] <0x210f>", [0x21, 0x0F]),
        ('string[2] <"a", "b">', ["a", "b"]),
        ("f64[] <2.5>", 2.5),
        ("i64[0] <>", []),
    ],
)
def test_values_of_any_type(graph, literal, expected):
    value = graph(f"  %c = Const-1 {literal}\n  %y = Result-1(%c)").layers["c"].outputs[0].value
    assert value.tolist() == expected and not value.flags.writeable


def test_unknown_names(add):
    for items, near in [
        (add.layers, "ss"),
        (add.layers, "nosuch"),
        (add.inputs, "bia"),
        (add.outputs, "z"),
        (add.infer().outputs, "z"),
        (add.inputs[0].symbols, "M"),
        (add.run({"x": np.zeros((1, 3), np.float32), "b": np.zeros((1, 3), np.float32)}), "suum"),
    ]:
        with pytest.raises(snick.Error) as raised:
            items[near]
        assert isinstance(raised.value, KeyError) and raised.value.code == "S054"
        other = pickle.loads(pickle.dumps(raised.value))
        assert type(other) is type(raised.value) and str(other) == str(raised.value) and other.code == "S054"
    with pytest.raises(snick.Error, match="`bias`"):
        add.inputs["bia"]
    with pytest.raises(snick.Error, match="`sum`"):
        add.run({"x": np.zeros((1, 3), np.float32), "b": np.zeros((1, 3), np.float32)})["suum"]


def test_key_completion(add):
    outputs = add.run({"x": np.zeros((1, 3), np.float32), "b": np.zeros((1, 3), np.float32)})
    for items, names in [
        (add.layers, ["x", "b", "s", "y"]),
        (add.inputs, ["x", "b", "bias"]),
        (add.outputs, ["y", "sum"]),
        (add.inputs[0].symbols, ["N"]),
        (outputs, ["y", "sum"]),
        (add.layers[0].bodies, []),
        (add.check(), ["schema", "models", "findings", "summary"]),
        (add.infer(), list(add.infer().to_dict())),
    ]:
        assert items._ipython_key_completions_() == names
        for name in names:
            items[name]
    why = add.why("s:0:0")
    assert {"schema", "tree", "dim", "to_dict"} <= set(dir(why))
    assert {"role", "from_"} <= set(dir(add.why("s").parts[0].tree)) and "from" not in dir(why.tree)


def test_inner_objects_of_answers_have_classes(add, models):
    why = snick.load(models / "focus_cnn").why("scores:0:2")
    assert type(why.tree) is snick.WhyNode and type(why.target) is snick.WhyTarget
    assert type(why.tree.from_[0].from_[0]) is snick.WhyNode
    assert type(add.cost().layers[0]) is snick.LayerCost and type(snick.diff(add, add).layers) is snick.LayerChanges
    assert type(add.check()[0:1]) is list and type(add.infer()["nodes"][0]) is snick.Data
    # What the command line leaves out is None.
    input = add.why("x:0:0").tree
    assert "reason" not in input and input.reason is None and list(input.from_) == []
    with pytest.raises(AttributeError):
        input.nosuch
