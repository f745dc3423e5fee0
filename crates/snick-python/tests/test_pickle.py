"""Pickles of models and answers."""

import copy
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest

import snick


def _again(value, protocol=pickle.HIGHEST_PROTOCOL):
    return pickle.loads(pickle.dumps(value, protocol))


def _paths(models):
    return sorted(path.parent for path in models.glob("*/model.xml"))


def _assert_same(model, other):
    """The models are the same, down to the order and the places of layers."""
    assert other == model and other.name == model.name and other.text() == model.text()
    assert (other.files, other.notes) == (model.files, model.notes)
    assert other.infer(check=False).to_dict() == model.infer(check=False).to_dict()
    assert [(one.name, one.op, one.version, one.loc, one.attrs) for one in other.layers] == [
        (one.name, one.op, one.version, one.loc, one.attrs) for one in model.layers
    ]
    for mine, theirs in zip(model.layers, other.layers):
        assert mine.inputs == theirs.inputs and [one.index for one in mine.inputs if one] == [
            one.index for one in theirs.inputs if one
        ]
        for before, after in zip(mine.outputs, theirs.outputs):
            assert before == after
            if before.value is not None:
                assert after.value.dtype == before.value.dtype and after.value.tobytes() == before.value.tobytes()


def test_models_of_the_repository(models):
    paths = _paths(models)
    assert len(paths) > 25
    for path in paths:
        model = snick.load(path)
        before = _again(model)
        model.infer(check=False)
        for other in (before, _again(model), _again(_again(model))):
            _assert_same(model, other)
        of_graph = [finding for finding in model.check() if finding.code not in ("S004", "S009")]
        assert [dict(one) for one in other.check() if one.code not in ("S004", "S009")] == [dict(f) for f in of_graph]


def test_unpickled_models_run(models):
    model = snick.load(models / "focus_cnn")
    model.infer("image[1,3,H=32..64,48]")
    image = np.random.default_rng(0).random((1, 3, 40, 48), dtype=np.float32)
    expected = model.run({"image": image})["scores"]
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        other = _again(model, protocol)
        assert other.inputs[0].shape.symbolic == "[1,3,H,48]" and other.inputs[0].symbols["H"].interval == (32, 64)
        assert other.run({"image": image})["scores"].tobytes() == expected.tobytes()
        assert other.outputs["scores"].shape == model.outputs["scores"].shape
    canonical = model.copy()
    canonical.canonicalise()
    other = _again(canonical)
    _assert_same(canonical, other)
    assert other.run({"image": image})["scores"].tobytes() == expected.tobytes()


def test_another_process_reads_a_pickle(models, tmp_path):
    model = snick.load(models / "subgraphs_loop")
    (tmp_path / "layers").write_bytes(pickle.dumps([model.layers, model.layers[0], model.inputs[0], model]))
    program = (
        "import pickle, sys; layers, layer, port, model = pickle.load(open(sys.argv[1], 'rb'));"
        "print(len(layers), layer.name, port.name, model.infer().ok)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "layers"], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stdout.split() == [str(len(model.layers)), model.layers[0].name, model.inputs[0].name, "True"], done.stderr


def test_constants_without_values_stay_so(graph):
    model = graph("  %w = Const-1 f32[1000] #0000000000000000\n  %v = Const-1 f32[2] #absent\n  %y = Result-1(%w)")
    other = _again(model)
    assert other == model and [layer.outputs[0].value for layer in other.layers] == [None] * 3


def test_files_may_be_gone(models, tmp_path):
    for name in ("model.xml", "model.bin"):
        (tmp_path / name).write_bytes((models / "focus_cnn" / name).read_bytes())
    model = snick.load(tmp_path)
    pickled = pickle.dumps(model)
    for path in tmp_path.iterdir():
        path.write_bytes(b"")
        path.unlink()
    other = pickle.loads(pickled)
    assert other.files == [str(tmp_path / "model.xml"), str(tmp_path / "model.bin")]
    image = np.zeros((1, 3, 32, 32), np.float32)
    expected = snick.load(models / "focus_cnn").run({"image": image})["scores"]
    assert other.run({"image": image})["scores"].tobytes() == expected.tobytes()


def test_missing_weights_stay_missing(models, tmp_path):
    (tmp_path / "model.xml").write_bytes((models / "focus_cnn" / "model.xml").read_bytes())
    model = snick.load(tmp_path)
    other = _again(model)
    assert model.notes and other.notes == model.notes
    assert [f.code for f in other.check()] == [f.code for f in model.check()]
    _assert_same(model, other)


def test_errors_stay(tmp_path, graph):
    model = graph(
        '  %x = Parameter-1 {element_type: f32, shape: "2,3"}\n  %w = Parameter-1 {element_type: f32, shape: "4"}\n'
        "  %sum = Add-1(%x, %w)\n  %y = Result-1(%sum)"
    )
    assert _again(model).errors == model.errors and len(model.errors) == 1
    # An attribute that the reader refuses.
    graph('  %x = Parameter-1 {element_type: f32, shape: "2,3"}\n  %r = Softmax-1(%x) {axis: 1}\n  %y = Result-1(%r)').save(
        tmp_path / "model.xml"
    )
    xml = (tmp_path / "model.xml").read_text()
    assert 'axis="1"' in xml
    (tmp_path / "model.xml").write_text(xml.replace('axis="1"', 'axis="first"'))
    model = snick.load(tmp_path)
    other = _again(model)
    assert len(model.errors) == 1 and other.errors == model.errors and other.errors[0].loc == model.errors[0].loc
    assert other.layers["r"].opaque and _again(other).errors == model.errors


def test_custom_operations(tmp_path):
    ops = pathlib.Path(tmp_path / "ops.toml")
    ops.write_text(
        '[[op]]\nopset = "my.ops"\ntype = "FancyPad"\ninputs = ["...,W"]\noutputs = ["...,W+2*by"]\n'
        "attributes = { by = 1 }\n"
    )
    text = (
        'snick 1\ngraph "g" {\n  %x = Parameter-1 {element_type: f32, shape: "N,6"}\n'
        '  %p = FancyPad-"my.ops"(%x) {by: 2}\n  %y = Result-1(%p)\n}\n'
    )
    (tmp_path / "model.snick").write_text(text)
    for model in (snick.load(tmp_path / "model.snick", ops=ops), snick.load(text.encode(), ops=ops)):
        assert model.outputs[0].shape.symbolic == "[N,10]"
        other = _again(model)
        other.infer("x[5,6]")
        assert other.outputs[0].shape == (5, 10)


def test_limits_stay(add):
    limited = snick.load(add.text().encode(), limits={"memory": 1000, "time": 60})
    big = np.zeros((1000, 3), np.float32)
    with pytest.raises(snick.LimitError):
        _again(limited).run({"x": big, "b": big})


def test_answers(add, models):
    layer = add.layers["s"]
    inference = add.infer()
    if_layer = next(layer for layer in snick.load(models / "subgraphs_if").layers if layer.bodies)
    for value in (
        add.layers,
        layer,
        layer.inputs,
        layer.inputs[0],
        layer.outputs[0],
        layer.attributes,
        layer.consumers,
        if_layer,
        if_layer.bodies,
        if_layer.bodies[0],
        add.inputs,
        add.inputs[0],
        add.outputs,
        add.inputs[0].symbols,
        add.why("s"),
        add.why("s:0:0").tree,
        add.why(unknown=True),
        add.cost(),
        add.cost().layers,
        add.check(),
        snick.diff(add, if_layer._graph and add),
        add.copy().canonicalise(),
        inference.errors,
        snick.Progress(1, 2, "x"),
    ):
        for other in (_again(value), copy.copy(value), copy.deepcopy(value)):
            assert other == value and type(other) is type(value) and repr(other) == repr(value)
            assert str(other) == str(value)
    assert [source.index for source in _again(layer.inputs)] == [0, 1] and _again(layer).inputs[1].index == 1
    assert [one.name for one in _again(layer).consumers] == ["y"]
    assert _again(inference).to_dict() == inference.to_dict()
    findings = _again(add.check())
    assert findings.status == add.check().status and findings.to_dict() == add.check().to_dict()


def test_a_pickled_layer_keeps_its_facts(add):
    layer = add.layers["s"]
    add.infer("x[2,3],b[2,3]")
    assert layer.shape == "[N,3]" == _again(layer).shape and add.layers["s"].shape == (2, 3)


def test_sessions_are_not_pickled(add):
    with pytest.raises(TypeError, match="session"):
        pickle.dumps(add.session())
    with pytest.raises(TypeError):
        copy.deepcopy(add.session())


def test_damaged_pickles(add):
    _, (data,) = add._model.__reduce__()
    (text, weights, layers), origin, limits, ops = data
    unpickled = snick._snick.unpickled
    for other in (
        ((text[:-3], weights, layers), origin, limits, ops),
        (("", weights, layers), origin, limits, ops),
        ((text, weights, layers), origin, limits, "q"),
    ):
        with pytest.raises(ValueError):
            unpickled(other)
    # Lists that do not fit the text cause no panic.
    for changed in ([], layers[:1], layers * 3, [(9, 1, 1, [], [[]])] * 4):
        unpickled(((text, weights, changed), origin, limits, ops)).infer_json()
    with pytest.raises(TypeError):
        unpickled(None)
