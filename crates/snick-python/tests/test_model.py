"""The methods of models."""

import copy
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import snick

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_inputs_and_outputs(add):
    assert [port.name for port in add.inputs] == ["x", "b"] and len(add.inputs) == 2
    port = add.inputs[0]
    assert (port.dtype, str(port.dtype), port.element_type) == ("f32", "f32", "f32")
    assert port.dtype == np.float32 and np.zeros(1, port.dtype).dtype == np.float32
    assert port.dtype == np.dtype("float32") and np.dtype("float32") == port.dtype and port.dtype != "f16"
    assert tuple(port.shape) == ("N", 3) and port.shape == "[?,3]" and port.shape == "[N,3]"
    assert str(port.shape) == "[?,3]" and port.shape.symbolic == "[N,3]" and port.shape.rank == 2
    assert list(port.symbols) == ["N"] and "N" in port.symbols and port.symbols["N"].interval == (0, None)
    assert snick.DType("f64") != None and snick.DType("bf16") != "f32"  # noqa: E711
    assert (port.shape == None, port.shape != None, port.shape == "[N-1,3]") == (False, True, False)  # noqa: E711
    for value in (port.shape, port.dtype, port.symbols["N"]):
        other = pickle.loads(pickle.dumps(copy.deepcopy(value)))
        assert (other, type(other), str(other)) == (value, type(value), str(value))
    assert add.inputs["bias"] == add.inputs["b"] == add.inputs[-1] and "q" not in add.inputs
    assert add.inputs.get("q") is None and add.outputs["sum"].public_name == "sum"
    with pytest.raises(KeyError):
        add.inputs["q"]
    with pytest.raises(IndexError):
        add.inputs[2]


def test_shapes_of_unknown_rank(graph):
    shape = graph('  %x = Parameter-1 {element_type: f32, shape: "..."}\n  %y = Result-1(%x)').inputs[0].shape
    assert tuple(shape) == (...,) and shape.rank is None and not shape.is_static and str(shape) == "[...]"


@pytest.mark.parametrize(
    "shapes",
    [
        "x[2,3],b[2,3]",
        {"x": [2, 3], "b": (2, 3)},
        {"x": "[2,3]", "bias": "2,3"},
        {0: np.array([2, 3]), "1": np.zeros((2, 3)).shape},
    ],
)
def test_shapes_are_given_in_any_form(add, shapes):
    inference = add.infer(shapes=shapes)
    assert inference.outputs[0].shape == (2, 3) == tuple(add.outputs["y"].shape)
    assert inference.ok and inference.errors == [] and inference["nodes"][2]["outputs"][0]["shape"] == "[2,3]"
    assert add.layers["s"].shape.is_static


def test_open_dims_of_shapes(add):
    shape = add.infer(shapes={"x": ["K", (1, 8)], "b": [None, -1]}).inputs["x"].shape
    assert str(shape) == "[?,1..8]" and shape[0] == "K" and shape[1].interval == (1, 8)


def test_an_inference_stays_when_the_model_changes(add):
    first = add.infer(shapes="x[2,3],b[2,3]")
    second = add.infer(shapes="x[5,3],b[5,3]")
    assert (first.layers["s"].shape, second.layers["s"].shape) == ((2, 3), (5, 3))
    assert first["nodes"][0]["outputs"][0]["shape"] == "[2,3]"


@pytest.mark.parametrize(
    ("shapes", "also"),
    [("x[3..1]", ValueError), ({"q": [1]}, KeyError), ({"x": object()}, ValueError), (7.5, ValueError)],
)
def test_shapes_that_cannot_be_set(add, shapes, also):
    with pytest.raises(snick.InferError) as raised:
        add.infer(shapes=shapes)
    assert isinstance(raised.value, also) and raised.value.code in ("S054", "S055")
    assert add.inputs["x"].shape == "[N,3]"


@pytest.mark.parametrize("shapes", ["x[2,3],b[5,3]", {"x": [2, 4]}, "x[7],b[2,2]", {"x": [2, 3], "q": [1]}, "x[3..1]"])
def test_a_failed_inference_leaves_the_shapes(add, shapes):
    add.infer(shapes="x[M,3],b[M,3]")
    text = add.text()
    for infer in (add.infer, add.reshape):
        with pytest.raises(snick.InferError):
            infer(shapes)
    assert add.text() == text and 'shape: "M,3"' in text
    assert add.infer().ok and add.run({"x": X, "b": X})["y"].shape == (2, 3)
    assert not add.infer(shapes="x[2,3],b[5,3]", check=False).ok and add.inputs["x"].shape == (2, 3)


def test_errors_of_inference(graph):
    model = graph(
        '  %x = Parameter-1 {element_type: f32, shape: "2,3"}\n  %w = Parameter-1 {element_type: f32, shape: "4"}\n'
        "  %sum = Add-1(%x, %w)\n  %y = Result-1(%sum)"
    )
    with pytest.raises(snick.InferError) as raised:
        model.infer()
    error = raised.value
    assert (error.code, error.layer, error.op, error.loc) == ("S020", "sum", "Add", "5:3")
    assert "cannot broadcast [2,3] with [4]" in str(error) and len(error.errors) == 1
    assert [found.layer for found in model.errors] == ["sum"] and not model.infer(check=False).ok
    assert model.why(error=1).error.name == "sum" and len(model.why(error=1).operands) == 2
    with pytest.raises(IndexError):
        model.why(error=2)
    with pytest.raises(snick.RunError):
        model.run({"x": X, "w": np.zeros(4, np.float32)})
    other = pickle.loads(pickle.dumps(error))
    assert type(other) is type(error) and (other.args, other.__dict__) == (error.args, error.__dict__)


@pytest.mark.parametrize(
    ("inputs", "code", "also"),
    [
        ({"q": X, "b": X}, "S054", KeyError),
        ({"b": X}, "S052", ValueError),
        ({"x": X, "0": X, "b": X}, "S054", ValueError),
        ({"x": X[:, :2], "b": X}, "S020", ValueError),
        ({"x": X[0], "b": X}, "S020", ValueError),
        ({"x": X, "b": X[:1]}, "S020", ValueError),
        ({"x": X.astype(np.float64), "b": X}, "S020", TypeError),
        ({"x": None, "b": X}, "S020", TypeError),
        (X, "S054", TypeError),
    ],
)
def test_inputs_that_do_not_fit(add, inputs, code, also):
    for run in (add.run, add.session().run):
        with pytest.raises(snick.RunError) as raised:
            run(inputs)
        assert raised.value.code == code and isinstance(raised.value, also)
        assert type(pickle.loads(pickle.dumps(raised.value))) is type(raised.value)


def test_outputs_by_name(add):
    outputs = add.run({"x": X, "bias": X}, canon=True, threads=2)
    assert list(outputs) == ["y"] and isinstance(outputs, dict) and len(outputs) == 1
    assert outputs["sum"] is outputs["y"] is outputs.get("sum") and "sum" in outputs and outputs.get("q") is None
    with pytest.raises(KeyError, match="the model has y"):
        outputs["q"]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(outputs))["sum"], X + X)


def test_sessions_keep_variables(graph):
    model = graph(
        '  %x = Parameter-1 {element_type: f32, shape: "3"}\n'
        '  %old = ReadValue-6(%x) {variable_id: "v", variable_type: f32, variable_shape: "3"}\n'
        '  %put = Assign-6(%x) {variable_id: "v"}\n  %y = Result-1(%old)'
    )
    session, given = model.session(), X[0].copy()
    session.run({"x": given})
    # The kept value does not share the caller's array.
    given.fill(9)
    np.testing.assert_array_equal(session.run({"x": X[1]})["y"], X[0])
    np.testing.assert_array_equal(session.state["v"], X[1])
    session.state["v"].fill(7)
    np.testing.assert_array_equal(session.state["v"], X[1])
    session.state = {"v": X[0]}
    np.testing.assert_array_equal(session.run({"x": X[1]})["y"], X[0])
    with pytest.raises(snick.RunError):
        session.state = {"q": X[0]}
    with pytest.raises(snick.RunError):
        session.state = {"v": X[0].astype(np.float64)}
    session.reset()
    assert session.state == {}
    # Runs of the model itself keep no variables.
    np.testing.assert_array_equal(model.run({"x": X[0]})["y"], X[0])
    np.testing.assert_array_equal(model.run({"x": X[1]})["y"], X[1])


def test_layers(add):
    assert len(add.layers) == 4 and [layer.op for layer in add.layers] == ["Parameter", "Parameter", "Add", "Result"]
    layer = add.layers["s"]
    assert (layer.name, layer.type, layer.version, layer.loc, layer.index) == ("s", "Add", "opset1", "5:3", 2)
    assert layer == add.layers[2] == add.layers[-2] and [one.name for one in add.layers[1:3]] == ["b", "s"]
    assert layer.inputs[1].layer == "b" and layer.outputs[0].names == ["sum"] and not layer.opaque
    assert layer.attributes == {"auto_broadcast": "numpy"} and layer.dtype == "f32" and layer.shape == "[N,3]"
    assert "s" in add.layers and "q" not in add.layers and layer.outputs[0].value is None
    with pytest.raises(KeyError):
        add.layers["q"]
    with pytest.raises(IndexError):
        add.layers[4]


def test_values_of_constants(graph):
    constant = graph("  %c = Const-1 i64[2] <3, 4>\n  %y = Result-1(%c)").layers["c"].outputs[0]
    assert constant.value.tolist() == [3, 4] and not constant.value.flags.writeable


def test_tables(add):
    pandas = pytest.importorskip("pandas")
    table = add.layers.to_pandas()
    assert isinstance(table, pandas.DataFrame) and table["op"].tolist()[2] == "Add" and len(table) == 4


def test_notebooks_escape_names(graph):
    model = graph('  %"<b>&" = Parameter-1 {element_type: f32, shape: "N"}\n  %y = Result-1(%"<b>&")')
    for text in (
        model._repr_html_(),
        model.layers._repr_html_(),
        model.why("<b>&:0:0")._repr_html_(),
        model.check()._repr_html_(),
        snick.diff(model, graph("  %c = Const-1 i64[1] <3>\n  %y = Result-1(%c)"))._repr_html_(),
        model.report(),
    ):
        assert "<b>&" not in text
    assert "&lt;b&gt;&amp;" in model._repr_html_() and "<svg" in model._repr_html_()
    report = model.report()
    assert report.startswith("<!DOCTYPE html>") and "://" not in report.replace("http://www.w3.org", "")
    assert '"diff":null' in report and '"equal":true' in model.report(diff=model)


def test_why(add):
    why = add.why("s:0:0")
    assert why.schema == why["schema"] == "snick.why/1" and why.dim == "N" and why.target.axis == 0
    assert why.tree.layer == "s" or why.tree.layer == "x"
    assert add.why("s").parts[1].dim == "3" and add.why("s", 0, 1) == add.why(add.layers["s"], axis=1)
    unknown = add.why(unknown=True)
    assert unknown.dims == 4 and unknown.origins[0].kind == "input" and "no upper bound" in str(unknown)
    assert pickle.loads(pickle.dumps(why)) == why and str(pickle.loads(pickle.dumps(why))) == str(why)
    for target in ("q", "s:9", "s:0:9"):
        with pytest.raises(snick.Error) as raised:
            add.why(target)
        assert raised.value.code == "S054" and isinstance(raised.value, KeyError)
    with pytest.raises(TypeError):
        add.why()


def test_canonicalise(models):
    model = snick.load(models / "slice8_01_basic" / "model.xml")
    expected = model.run({"data": np.arange(10, dtype=np.float32)})
    report = model.canonicalise(verify=True)
    assert (report.slice_like_before, report.slice_after, report["left"], report.verified) == (1, 1, [], True)
    assert "slice(" in model.text() and model.canonicalise().verified is None
    after = model.run({"data": np.arange(10, dtype=np.float32)})
    assert [a.tobytes() for a in after.values()] == [a.tobytes() for a in expected.values()]


def test_check(tmp_path, graph):
    model = graph(
        '  %x = Parameter-1 {element_type: f32, shape: "2"}\n  %q = Parameter-1 {element_type: f32, shape: "2"}\n'
        "  %y = Result-1(%x)"
    )
    findings = model.check()
    assert [(f.code, f["name"], f.severity, f.layer) for f in findings] == [("S016", "unused-input", "warning", "q")]
    assert findings.status == "warning" and findings["summary"]["warnings"] == 1 and findings.findings[0].help
    assert model.check(ignore=["S016"]) == [] and model.check(select="S016,S02") == findings
    with pytest.raises(ValueError):
        model.check(select=["S99"])
    # A finding that only shows in the file.
    model.save(tmp_path / "model.xml")
    with open(tmp_path / "model.bin", "wb") as weights:
        weights.write(bytes(8192))
    assert "S004" in [f.code for f in snick.load(tmp_path).check()]


def test_cost(graph):
    model = graph(
        '  %x = Parameter-1 {element_type: f32, shape: "N,4"}\n  %w = Const-1 f32[4,2] <1, 2, 3, 4, 5, 6, 7, 8>\n'
        "  %p = MatMul-1(%x, %w) {transpose_a: false, transpose_b: false}\n  %y = Result-1(%p)"
    )
    cost = model.cost()
    assert (cost.parameters, cost.weights_bytes, cost["macs"], cost.layers[0].name) == (8, 32, "8*N", "p")
    assert model.cost(shapes={"x": [3, 4]}).macs == 24 and model.inputs[0].shape == "[N,4]"


def test_diff(add, models, tmp_path):
    other = add.copy()
    other.save(tmp_path / "other.snick")
    assert snick.diff(add, tmp_path / "other.snick").equal and not snick.diff(add, other)
    delta = snick.diff(models / "slice8_01_basic" / "model.xml", add)
    assert delta.equal is False and delta and delta.layers.added and "different" in str(delta)


def test_copies_change_on_their_own(add):
    for other in (add.copy(), copy.copy(add), copy.deepcopy(add)):
        assert other == add
        other.infer(shapes="x[1,3],b[1,3]")
        assert add.inputs[0].shape == "[N,3]" and other.inputs[0].shape == (1, 3)


def test_reading(models, tmp_path, monkeypatch):
    path = models / "focus_cnn" / "model.xml"
    xml, weights = path.read_bytes(), path.with_suffix(".bin").read_bytes()
    model = snick.load(str(path))
    for other in (
        snick.load(path),
        snick.load(path.parent),
        snick.load(xml, weights),
        snick.load(bytearray(xml), weights=path.with_suffix(".bin")),
        snick.load(memoryview(xml), weights=memoryview(weights)),
        snick.load(path, weights=str(path.with_suffix(".bin"))),
        snick.load(path, weights=weights),
    ):
        assert other == model and snick.diff(other, model).equal
    assert [pathlib.Path(file).name for file in model.files] == ["model.xml", "model.bin"]
    assert snick.load(path, shapes={"image": [1, 3, 32, 32]}).outputs[0].shape == (1, 8, 8, 8)
    model.save(tmp_path / "a.onnx")
    assert snick.load((tmp_path / "a.onnx").read_bytes()).inputs[0].name == "image"
    text = model.text().encode()
    assert snick.load(text).name == model.name
    monkeypatch.chdir(path.parent)
    assert snick.load("model.xml") == model


@pytest.mark.parametrize(
    ("given", "code"),
    [(b"", "S001"), (b"garbage", "S001"), (b"<html/>", "S001"), (b"{}", "S001"), (b"snick 2", "S001"), ("q.xml", "S001")],
)
def test_what_is_no_model(given, code):
    with pytest.raises(snick.ReadError) as raised:
        snick.load(given)
    assert raised.value.code == code and raised.value.layer is None


def test_files_that_are_missing(add):
    with pytest.raises(FileNotFoundError):
        snick.load("missing.xml")
    with pytest.raises(FileNotFoundError):
        snick.load("missing.xml", weights=b"")
    with pytest.raises(FileNotFoundError):
        add.save("missing/folder/model.xml")
    with pytest.raises(snick.Error) as raised:
        add.save("model.foo")
    assert raised.value.code == "S056" and isinstance(raised.value, ValueError)
    with pytest.raises(TypeError):
        snick.load(3)


def test_what_a_format_cannot_say_names_the_layer(graph, tmp_path):
    model = graph('  %x = Parameter-1 {element_type: u1, shape: "8"}\n  %y = Result-1(%x)')
    with pytest.raises(snick.Error) as raised:
        model.save(tmp_path / "model.onnx")
    assert raised.value.code == "S051" and raised.value.layer in ("x", "y") and list(tmp_path.iterdir()) == []


def test_the_target_is_a_release_or_an_opset(graph, tmp_path):
    model = graph(
        '  %x = Parameter-1 {element_type: f32, shape: "2,3"}\n'
        '  %y = Einsum-7(%x, %x) {equation: "ij,kj->ik"}\n  %z = Result-1(%y)'
    )
    with pytest.raises(snick.Error) as raised:
        model.save(tmp_path / "model.onnx", target="onnx=11")
    assert raised.value.code == "S051" and raised.value.layer == "y" and "opset 12" in str(raised.value)
    for target in ("onnx=10", "openvino", "onnx=new"):
        with pytest.raises(ValueError):
            model.save(tmp_path / "model.onnx", target=target)
    assert list(tmp_path.iterdir()) == []
    model.save(tmp_path / "model.onnx", target="onnx=12")
    assert snick.load(tmp_path / "model.onnx").outputs[0].shape == (2, 2)


def test_limits(add):
    text = add.text().encode()
    with pytest.raises(snick.LimitError) as raised:
        snick.load(text, limits={"layers": 2})
    assert raised.value.code == "S008" and raised.value.layer is not None
    with pytest.raises(snick.LimitError):
        snick.load(text, limits={"time": 0}).infer()
    small = snick.load(text, limits={"memory": 1000, "time": 60})
    big = np.zeros((1000, 3), np.float32)
    with pytest.raises(snick.LimitError) as raised:
        small.run({"x": big, "b": big})
    assert (raised.value.layer, raised.value.op, raised.value.loc) == ("s", "Add", "5:3")
    kept = [small.run({"x": X, "b": X}) for _ in range(100)]
    assert len(kept) == 100
    for limits in ({"foo": 1}, {"time": -1}, {"memory": -5}, {"time": float("nan")}):
        with pytest.raises(ValueError):
            snick.load(text, limits=limits)


def test_onnx_models(add, tmp_path):
    onnx = pytest.importorskip("onnx")
    add.save(tmp_path / "model.onnx")
    model = snick.load(onnx.load(tmp_path / "model.onnx"))
    np.testing.assert_array_equal(next(iter(model.run({"x": X, "bias": X}).values())), X + X)


def test_openvino_models(add):
    openvino = pytest.importorskip("openvino")
    given = snick.to_openvino(add)
    assert isinstance(given, openvino.Model)
    model = snick.load(given)
    np.testing.assert_array_equal(next(iter(model.run({"x": X, "b": X}).values())), X + X)


def test_control_c_ends_a_run():
    if not hasattr(signal, "pthread_kill") or threading.current_thread() is not threading.main_thread():
        pytest.skip("no signals to this thread")
    # A shell starts background jobs with this signal ignored.
    program = """
import threading, signal, numpy as np, snick
signal.signal(signal.SIGINT, signal.default_int_handler)
lines = ['  %x = Parameter-1 {element_type: f32, shape: "1000,1000"}', '  %m0 = MatMul-1(%x, %x)']
lines += [f'  %m{i} = MatMul-1(%m{i - 1}, %x)' for i in range(1, 3000)]
model = snick.parse('snick 1\\ngraph "g" {\\n' + chr(10).join(lines) + '\\n  %y = Result-1(%m2999)\\n}\\n')
model.infer()
threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGINT)).start()
try:
    model.run({"x": np.zeros((1000, 1000), np.float32)})
    print("completed")
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.stdout == "interrupted\n", done.stderr


def test_the_command_line_is_in_the_package(models):
    def run(*args):
        return subprocess.run(
            [sys.executable, "-m", "snick", *args], capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"}
        )

    # The commit may follow.
    assert run("--version").stdout.split()[:2] == ["snick", snick.__version__]
    inspected = run(str(models / "focus_cnn" / "model.xml"))
    assert inspected.returncode == 0 and "focus_cnn" in inspected.stdout
    assert run("infer", "missing.xml").returncode == 2
    assert run("run", "--nonsense").returncode == 2
