"""Edits of models, parts of models, inner values, and comparisons of runs."""

import pickle

import numpy as np
import pytest

import snick

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def model(graph):
    """`y = relu(x) * w`, with a convertible input and an unused output of the ReLU as a tensor name."""
    return graph(
        """  %x = Parameter-1 {element_type: f32, shape: "N,3"}
  %relu = ReLU-1(%x) : _ "hidden"
  %w = Const-1 f32[3] <1, 2, 3>
  %soft = Softmax-8(%relu) {axis: 1}
  %sum = Multiply-1(%soft, %w) {auto_broadcast: "numpy"} : _ "logits"
  %y = Result-1(%sum)"""
    )


def _state(model):
    """All that an edit may change."""
    return model.text(), model._model.__reduce__()[1]


def test_rename(model):
    with model.edit() as e:
        e.rename("x", "image")
        e.rename("y", "scores")
        e.rename("hidden", "features")
        e.rename("soft", "probabilities")
    assert model.inputs[0].name == "image" and "features" in model.layers["relu"].outputs[0].names
    assert model.run({"image": X})["scores"].shape == (2, 3) and model.layers["probabilities"].inputs[0].layer == "relu"


def test_set(model):
    expected = np.exp(X) / np.exp(X).sum(axis=0) * [1, 2, 3]
    with model.edit() as e:
        e.set("soft", axis=0)
    np.testing.assert_allclose(model.run({"x": X})["y"], expected, rtol=1e-5)
    with model.edit() as e:
        # Several attributes at once, as numpy numbers and as answers of snick.
        e.set("x", shape=model.inputs[0].shape, element_type=model.inputs[0].dtype)
        e.set("soft", axis=np.int64(1))
    for shape, expected in (([5, 3], "[5,3]"), (("B", 3), "[B,3]"), ("N,3", "[N,3]")):
        with model.edit() as e:
            e.set("x", shape=shape)
        assert model.inputs[0].shape.symbolic == expected
    assert model.inputs[0].shape.symbolic == "[N,3]" and model.layers["soft"].attrs["axis"] == 1


def test_lists_as_attributes(graph):
    model = graph(
        '  %x = Parameter-1 {element_type: f32, shape: "1,1,4,4"}\n'
        "  %p = MaxPool-1(%x) {strides: [1, 1], pads_begin: [0, 0], pads_end: [0, 0], kernel: [2, 2]}\n"
        "  %y = Result-1(%p)"
    )
    for kernel, size in (([4, 4], 1), ((3, 3), 2), (np.array([1, 1]), 4), ("2,2", 3)):
        with model.edit() as e:
            e.set("p", kernel=kernel, strides=[1, 1])
        assert model.outputs[0].shape == (1, 1, size, size)
    for wrong in ({}, None, [1, "a"], object()):
        with pytest.raises(TypeError), model.edit() as e:
            e.set("p", kernel=wrong)


def test_replace_constant(model):
    given = np.array([5, 6, 7], np.float32)
    with model.edit() as e:
        e.replace_constant("w", given)
        given.fill(0)
    assert model.layers["w"].outputs[0].value.tolist() == [5, 6, 7]
    with model.edit() as e:
        e.replace_constant("w", np.ones((3, 6), np.float32)[:, ::2][:1])
    assert model.layers["w"].shape == (1, 3)
    before = _state(model)
    for wrong in (np.ones(5, np.float32), np.ones(3, np.float16)):
        with pytest.raises(snick.InferError) as raised, model.edit() as e:
            e.replace_constant("w", wrong)
        assert raised.value.layer == "sum" and _state(model) == before
    with pytest.raises(snick.Error), model.edit() as e:
        e.replace_constant("relu", np.ones(3, np.float32))


def test_constants_of_types_that_numpy_lacks(graph):
    model = graph("  %c = Const-1 bf16[2] <1, 2>\n  %p = Const-1 u4[3] <0x2101>\n  %y = Result-1(%c)\n  %z = Result-1(%p)")
    with model.edit() as e:
        e.replace_constant("c", np.array([0x4040, 0x4080], np.uint16))
        e.replace_constant("p", np.array([0x43, 0x05], np.uint8))
    assert model.layers["c"].dtype == "bf16" and model.layers["p"].dtype == "u4" and model.layers["p"].shape == (3,)
    assert model.layers["p"].outputs[0].value.tolist() == [0x43, 0x05]
    with model.edit() as e:
        e.replace_constant("p", np.array([[1, 2]], np.int64))
    assert model.layers["p"].dtype == "i64" and model.outputs["z"].shape == (1, 2)


def test_remove_insert_and_redirect(model):
    with model.edit() as e:
        e.remove("soft")
        name = e.insert_after("relu", "Clamp", min=0.0, max=2.0)
        assert e.insert_after("sum", "Negative", name="minus") == "minus"
    assert model.layers[name].op == "Clamp" and model.layers["minus"].op == "Negative"
    np.testing.assert_array_equal(model.run({"x": X})["y"], -np.clip(X, 0, 2) * [1, 2, 3])
    with model.edit() as e:
        e.redirect("minus", "relu")
    np.testing.assert_array_equal(model.run({"x": X})["y"], X)
    assert name not in model.layers


def test_outputs_and_types(model):
    with model.edit() as e:
        e.set_outputs(["relu", "logits"])
        e.set_type("x", "f16")
    assert [port.shape.symbolic for port in model.outputs] == ["[N,3]", "[N,3]"] and model.inputs[0].dtype == "f16"
    outputs = model.run({"x": X.astype(np.float16)})
    np.testing.assert_array_equal(outputs["hidden"], X)
    with model.edit() as e:
        e.set_type("x", snick.DType("f64"))
    assert model.inputs[0].dtype == np.float64


@pytest.mark.parametrize(
    ("edit", "also"),
    [
        (lambda e: e.rename("q", "z"), KeyError),
        (lambda e: e.rename("x", "relu"), snick.Error),
        (lambda e: e.set("q", axis=1), KeyError),
        (lambda e: e.set("soft", axes=1), snick.Error),
        (lambda e: e.set("soft", axis=7), snick.InferError),
        (lambda e: e.set("soft", axis="first"), snick.Error),
        (lambda e: e.remove("sum"), snick.Error),
        (lambda e: e.remove("q"), KeyError),
        (lambda e: e.insert_after("relu", "Relu6"), snick.Error),
        (lambda e: e.insert_after("relu", "Clamp", minimum=1), snick.Error),
        (lambda e: e.insert_after("relu", "Add"), snick.Error),
        (lambda e: e.insert_after("q", "ReLU"), KeyError),
        (lambda e: e.insert_after("relu", "ReLU", name="soft"), snick.Error),
        (lambda e: e.redirect("q", "x"), KeyError),
        (lambda e: e.redirect("relu", "w:3"), KeyError),
        (lambda e: e.set_outputs(["q"]), KeyError),
        (lambda e: e.set_type("q", "f16"), KeyError),
        (lambda e: e.set_type("x", "f15"), TypeError),
    ],
    ids=range(18),
)
def test_a_failed_edit_leaves_the_model(model, edit, also):
    before = _state(model)
    with pytest.raises(also) as raised:
        with model.edit() as e:
            e.rename("x", "image")
            e.remove("soft") if also is TypeError else None
            edit(e)
    assert _state(model) == before and isinstance(raised.value, (snick.Error, TypeError))
    assert type(pickle.loads(pickle.dumps(raised.value))) is type(raised.value)
    # A failed edit that the block handles has no effect, and the others stay.
    with model.edit() as e:
        e.rename("x", "image")
        with pytest.raises(also):
            edit(e)
        e.rename("y", "out")
    assert [port.name for port in (*model.inputs, *model.outputs)] == ["image", "out"]


def test_a_failed_edit_is_named(model):
    for attributes, names in (({"axis": 7}, ["axis"]), ({"shape": "N,4", "element_type": "f16"}, ["shape", "element_type"])):
        layer = "soft" if "axis" in attributes else "x"
        with pytest.raises(snick.InferError) as raised, model.edit() as e:
            e.set(layer, **attributes)
        # The edit with its layer and attributes, and the layer that contradicts it.
        assert all(f"`{name}`" in str(raised.value) for name in [layer, *names])
        assert raised.value.layer in ("soft", "sum") and raised.value.loc


def test_edits_that_only_infer_together(model):
    before, wider = _state(model), np.ones(4, np.float32)
    with pytest.raises(snick.InferError), model.edit() as e:
        e.replace_constant("w", wider)
    with pytest.raises(snick.InferError), model.edit() as e:
        with e.together():
            e.replace_constant("w", wider)
    with pytest.raises(ZeroDivisionError), model.edit() as e:
        with e.together():
            e.rename("x", "image")
            raise ZeroDivisionError
    assert _state(model) == before
    with model.edit() as e:
        with pytest.raises(snick.InferError), e.together():
            e.rename("x", "image")
            e.replace_constant("w", wider)
        e.rename("y", "out")
        with e.together():
            e.replace_constant("w", wider)
            with e.together():
                e.set("x", shape="N,4", element_type="f32")
    assert [port.name for port in (*model.inputs, *model.outputs)] == ["x", "out"]
    assert model.outputs[0].shape.symbolic == "[N,4]"


def test_any_exception_leaves_the_model(model):
    before = _state(model)
    for error in (ZeroDivisionError, KeyboardInterrupt):
        with pytest.raises(error), model.edit() as e:
            e.rename("x", "image")
            raise error
        assert _state(model) == before


def test_edits_outside_of_the_block(model):
    before = _state(model)
    editor = model.edit()
    with pytest.raises(RuntimeError):
        editor.rename("x", "image")
    with editor as e:
        pass
    with pytest.raises(RuntimeError):
        e.rename("x", "image")
    assert _state(model) == before
    with pytest.raises(RuntimeError), model.edit() as e:
        e.rename("x", "image")
        model.infer("x[5,3]")
    assert model.inputs[0].shape == (5, 3) and model.inputs[0].name == "x"
    with pytest.raises(TypeError):
        pickle.dumps(editor)


def test_answers_from_before_an_edit(model):
    inference, copy = model.infer(), model.copy()
    session = model.session()
    layer = model.layers["soft"]
    with model.edit() as e:
        e.remove("soft")
        # The model changes when the block ends.
        assert "soft" in model.layers
    assert "soft" in inference.layers and "soft" in copy.layers and layer.shape == "[N,3]"
    assert not np.array_equal(session.run({"x": X})["y"], model.run({"x": X})["y"])
    assert pickle.loads(pickle.dumps(model)) == model != copy


def test_extract(model):
    part = model.extract(inputs=["hidden"], outputs=["sum"])
    assert [port.name for port in part.inputs] == ["hidden"] and part.inputs[0].shape.symbolic == "[N,3]"
    hidden = model.run({"x": X}, layers=["hidden"])["hidden"]
    output = next(iter(part.run({"hidden": hidden}).values()))
    assert output.tobytes() == model.run({"x": X})["y"].tobytes()
    assert len(model.extract(outputs=["relu"]).layers) == 3 and model.extract("soft").inputs[0].name == "soft"
    assert pickle.loads(pickle.dumps(part)) == part and "soft" in model.layers
    for wrong in (
        lambda: model.extract(["hiden"], ["sum"]),
        lambda: model.extract(["sum"], ["relu"]),
        lambda: model.extract(outputs=["q"]),
    ):
        with pytest.raises(snick.Error) as raised:
            wrong()
        assert isinstance(raised.value, KeyError)


def test_inner_values(model):
    outputs = model.run({"x": X}, layers=["relu", "soft:0", "logits"], threads=2)
    assert list(outputs) == ["y", "relu", "soft:0", "logits"] and np.array_equal(outputs["logits"], outputs["y"])
    np.testing.assert_array_equal(outputs["relu"], X)
    np.testing.assert_allclose(outputs["soft:0"].sum(axis=1), 1, rtol=1e-6)
    assert not np.shares_memory(outputs["relu"], X) and outputs["relu"].flags.writeable
    session = model.session()
    assert list(session.run({"x": X}, layers=["w"])) == ["y", "w"] and list(session.run({"x": X})) == ["y"]
    assert list(model.run({"x": X}, canon=True, layers="relu")) == ["y", "relu"]
    for run in (model.run, session.run):
        with pytest.raises(snick.Error) as raised:
            run({"x": X}, layers=["reluu"])
        assert isinstance(raised.value, KeyError)


def test_comparing_runs(model):
    other = model.copy()
    with other.edit() as e:
        e.set("soft", axis=0)
    delta = snick.diff(model, other, run={"x": X})
    assert not delta.equal and delta.run is not None and delta.first_difference is not None
    (output,) = delta.run
    before, after = (one.run({"x": X})["y"] for one in (model, other))
    assert (output.name, output.ok) == ("logits", False)
    assert output.max_abs == pytest.approx(np.abs(before - after).max(), rel=1e-5)
    assert (delta.first_difference.a, delta.first_difference.b) == ("soft", "soft")
    assert "soft" in delta._repr_html_() and pickle.loads(pickle.dumps(delta)) == delta
    # Without a run, and with random inputs.
    assert snick.diff(model, other).run is None and snick.diff(model, other).first_difference is None
    same = model.diff(model.copy(), run={})
    assert same.equal and [one.ok for one in same.run] == [True] and same.first_difference is None
    for wrong, also in (({"q": X}, KeyError), ({"x": X.astype(np.float64)}, TypeError), (X, TypeError)):
        with pytest.raises(snick.RunError) as raised:
            snick.diff(model, other, run=wrong)
        assert isinstance(raised.value, also)
