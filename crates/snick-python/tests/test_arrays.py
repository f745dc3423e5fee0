"""Arrays in and out: layouts, dtypes, ownership."""

import subprocess
import sys
import threading

import numpy as np
import pytest

import snick

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def _identity(graph, element_type, shape):
    return graph(
        f'  %x = Parameter-1 {{element_type: {element_type}, shape: "{shape}"}}\n  %y = Result-1(%x)\n'
        "  %z = Result-1(%x)"
    )


@pytest.mark.parametrize(
    "view",
    [
        X,
        X[::-1],
        X[::-1, ::-1],
        np.asfortranarray(X),
        np.repeat(X, 2, axis=1)[:, ::2],
        np.repeat(X, 3, axis=1)[:, ::-3],
        np.broadcast_to(np.arange(3, dtype=np.float32), (2, 3)),
        np.broadcast_to(np.float32(4), (2, 3)),
        np.zeros((0, 3), np.float32)[::-1],
        X[:1],
        np.frombuffer(b"\0" + X.tobytes(), np.float32, offset=1).reshape(2, 3),
        np.lib.stride_tricks.as_strided(np.arange(9, dtype=np.float32), (3, 3), (8, 4)),
        X.view(np.recarray).view(np.ndarray),
    ],
    ids=range(13),
)
def test_any_layout_is_read_as_numpy_reads_it(add, view):
    before = view.copy()
    np.testing.assert_array_equal(add.run({"x": view, "b": np.asfortranarray(view)})["y"], before + before)
    np.testing.assert_array_equal(view, before)


def test_fields_of_records_are_views(add):
    records = np.zeros((2, 3), dtype=[("a", "u1"), ("f", "<f4")])
    records["f"] = X
    np.testing.assert_array_equal(add.run({"x": records["f"], "b": X})["y"], X + X)


def test_inputs_are_read_where_they_are():
    resource = pytest.importorskip("resource")
    assert resource
    program = """
import resource, numpy as np, snick
lines = ['%x = Parameter-1 {element_type: f32, shape: "N"}']
lines += [f'%{name} = Const-1 i64[1] <{value}>' for name, value in (("a", 0), ("b", 2), ("c", 1))]
lines += ["%s = Slice-8(%x, %a, %b, %c)", "%y = Result-1(%s)"]
model = snick.parse('snick 1\\ngraph "g" {\\n' + chr(10).join(lines) + "\\n}\\n")
model.run({"x": np.ones(4, np.float32)})
big = np.ones(1 << 26, np.float32)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
outputs = model.run({"x": big[::-1]})["y"], model.session().run({"x": big[::2]})["y"]
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, [output.tolist() for output in outputs])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    grown, _, outputs = done.stdout.partition(" ")
    assert outputs == "[[1.0, 1.0], [1.0, 1.0]]\n", done.stderr
    # A copy would take 256 or 128 MiB.
    assert int(grown) < 32 << 10


def test_outputs_are_writable_and_share_nothing(graph):
    model = graph(
        '  %x = Parameter-1 {element_type: f32, shape: "2,3"}\n  %c = Const-1 f32[3] <1, 2, 3>\n'
        "  %r = ReLU-1(%x)\n  %a = Result-1(%x)\n  %b = Result-1(%r)\n  %d = Result-1(%r)\n  %e = Result-1(%c)"
    )
    outputs = model.run({"x": X})
    arrays = list(outputs.values())
    for at, array in enumerate(arrays):
        assert array.flags.writeable and array.flags.c_contiguous and array.flags.aligned
        assert not any(np.shares_memory(array, other) for other in [X, *arrays[at + 1 :]])
        array.fill(-1)
    assert X[0, 1] == 1
    again = model.run({"x": X})
    np.testing.assert_array_equal(again["e"], [1, 2, 3])
    np.testing.assert_array_equal(again["b"], X)


def test_outputs_outlive_the_model(graph):
    output = graph(
        '  %x = Parameter-1 {element_type: f32, shape: "N"}\n  %r = Abs-1(%x)\n  %y = Result-1(%r)'
    ).run({"x": -np.arange(100000, dtype=np.float32)})["y"]
    assert output.sum() == np.arange(100000, dtype=np.float32).sum() and output.base is not None


@pytest.mark.parametrize(
    ("element_type", "dtype"),
    [
        ("boolean", np.bool_),
        *((f"{kind}{8 * size}", np.dtype(f"{kind}{size}")) for kind in "iu" for size in (1, 2, 4, 8)),
        ("f16", np.float16),
        ("f32", np.float32),
        ("f64", np.float64),
    ],
)
def test_every_dtype_of_numpy(graph, element_type, dtype):
    model = _identity(graph, element_type, "?,2")
    array = np.array([[0, 1], [1, 0]]).astype(dtype)
    output = model.run({"x": array})["y"]
    assert output.dtype == dtype == model.inputs[0].dtype == model.outputs[0].dtype
    np.testing.assert_array_equal(output, array)
    for other in (np.float32, np.int64):
        if other != dtype:
            with pytest.raises(snick.RunError) as raised:
                model.run({"x": array.astype(other)})
            assert isinstance(raised.value, TypeError)
            assert (raised.value.layer, raised.value.op) == ("x", "Parameter")


def test_another_byte_order_is_another_dtype(add):
    with pytest.raises(snick.RunError, match="expected f32"):
        add.run({"x": X.astype(">f4"), "b": X})


@pytest.mark.parametrize(
    ("element_type", "name", "bits"),
    [
        ("bf16", "bfloat16", np.uint16),
        ("f8e4m3", "float8_e4m3fn", np.uint8),
        ("f8e5m2", "float8_e5m2", np.uint8),
        ("f8e8m0", "float8_e8m0fnu", np.uint8),
    ],
)
def test_small_floats_are_those_of_ml_dtypes_or_bits(graph, element_type, name, bits):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = np.dtype(getattr(ml_dtypes, name))
    model = _identity(graph, element_type, "?")
    array = np.array([1, 2, 4], np.float32).astype(dtype)
    for given in (array, array.view(bits), array[::-1][::-1]):
        output = model.run({"x": given})["y"]
        assert output.dtype == dtype and output.tobytes() == array.tobytes()
    assert model.inputs[0].dtype == dtype and model.inputs[0].dtype == name


@pytest.mark.parametrize(
    ("element_type", "name", "values", "packed"),
    [
        ("i4", "int4", [-1, 2, 7], [0x2F, 0x07]),
        ("u4", "uint4", [1, 2, 15], [0x21, 0x0F]),
        ("u2", "uint2", [1, 2, 3], [0b111001]),
        ("f4e2m1", "float4_e2m1fn", [1, 2, 0], [0x42, 0x00]),
    ],
)
def test_packed_types_are_their_bytes(graph, element_type, name, values, packed):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    model = _identity(graph, element_type, "3")
    expected = np.array(packed, np.uint8)
    for given in (expected, np.array(values, np.float32).astype(getattr(ml_dtypes, name))):
        output = model.run({"x": given})["y"]
        assert output.dtype == np.uint8
        np.testing.assert_array_equal(output, expected)
    with pytest.raises(snick.RunError, match="expected"):
        model.run({"x": np.zeros(5, np.uint8)})
    with pytest.raises(snick.RunError, match="known shape"):
        _identity(graph, element_type, "N").run({"x": expected})


def test_scalars_and_empty_arrays(graph):
    scalar = _identity(graph, "f32", "")
    for value in (np.float32(-3), np.array(-3, np.float32), np.full((2, 2), -3, np.float32)[0, 0]):
        output = scalar.run({"x": value})["y"]
        assert isinstance(output, np.ndarray) and output.shape == () and output == -3
    empty = _identity(graph, "i64", "?,0,3")
    assert empty.run({"x": np.zeros((2, 0, 3), np.int64)})["y"].shape == (2, 0, 3)


def test_strings(graph):
    model = _identity(graph, "string", "?,?")
    texts = [["a", ""], ["\u00fc\u20ac", "\U0001f600"]]
    for given in (np.array(texts), np.array(texts, object), np.asfortranarray(texts), texts):
        output = model.run({"x": given})["y"]
        assert output.tolist() == texts and output.dtype.kind == "U"
    # Numpy would drop the trailing NUL of a fixed-width string.
    output = model.run({"x": np.array([["a\0", "b"]], object)})["y"]
    assert output.tolist() == [["a\0", "b"]] and output.dtype == object
    long = np.array([["x" * (1 << 20)] + ["y"] * 99], object)
    assert model.run({"x": long})["y"].dtype == object
    assert model.run({"x": np.zeros((0, 2), str)})["y"].shape == (0, 2)
    for given in (np.array([[b"a"]]), np.array([[1, "a"]], object), np.array([[1]])):
        with pytest.raises(snick.RunError, match="expected string"):
            model.run({"x": given})


def test_dlpack(add):
    class Shared:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__()

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    np.testing.assert_array_equal(add.run({"x": Shared(X[::-1]), "b": X})["y"], X[::-1] + X)


def test_masked_arrays_are_refused(add):
    with pytest.raises(snick.RunError, match="masked"):
        add.run({"x": np.ma.masked_less(X, 2), "b": X})


def test_threads_run_at_once_and_give_the_same_bytes(models):
    model = snick.load(models / "focus_cnn")
    image = np.random.default_rng(0).random((1, 3, 64, 64), dtype=np.float32)
    expected = model.run({"image": image})["scores"].tobytes()
    results = []

    def work():
        session = model.session()
        results.extend(session.run({"image": image}, threads=2)["scores"].tobytes() for _ in range(5))

    workers = [threading.Thread(target=work) for _ in range(4)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    assert results == [expected] * 20
