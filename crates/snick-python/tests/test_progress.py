"""Progress callbacks."""

import threading

import numpy as np
import pytest

import snick

X = np.zeros((2, 3), np.float32)


class Stop(Exception):
    """Raised by a callback."""


def _calls(models):
    """Each call that takes a callback, and the number of layers that it reports at least."""
    path = models / "focus_cnn"
    model = snick.load(path)
    image = np.zeros((1, 3, 32, 32), np.float32)
    count = len(model.layers)
    return [
        (lambda progress: snick.load(path, progress=progress), count),
        (lambda progress: snick.load((path / "model.xml").read_bytes(), progress=progress), count),
        (lambda progress: model.infer(progress=progress), count),
        (lambda progress: model.infer("image[1,3,32,32]", progress=progress), count),
        (lambda progress: model.infer("image[1,3,32,32]", check=False, progress=progress), count),
        (lambda progress: model.reshape("image[1,3,32,32]", progress=progress), count),
        (lambda progress: model.run({"image": image}, progress=progress), 5),
        (lambda progress: model.session().run({"image": image}, progress=progress), 5),
        (lambda progress: model.copy().canonicalise(progress=progress), 1),
    ]


@pytest.mark.parametrize("at", range(9))
def test_progress_of_each_call(models, at):
    calls = _calls(models)
    assert len(calls) == 9
    call, least = calls[at]
    seen = []
    call(seen.append)
    assert len(seen) >= least and all(type(one) is snick.Progress for one in seen)
    assert all(isinstance(one.layer, str) and 0 < one.done for one in seen)
    # The value that a callback returns has no effect.
    call(lambda progress: False)


@pytest.mark.parametrize("at", range(9))
@pytest.mark.parametrize("error", [Stop("enough"), KeyboardInterrupt(), SystemExit(3), KeyError("q")], ids=repr)
def test_an_exception_stops_the_call(models, at, error):
    call, _ = _calls(models)[at]
    seen = []

    def stop(progress):
        seen.append(progress)
        raise error

    with pytest.raises(type(error)) as raised:
        call(stop)
    assert raised.value is error and len(seen) == 1


def test_a_stopped_call_leaves_the_model(add):
    def stop(progress):
        raise Stop

    before = add.text()
    for call in (
        lambda: add.infer("x[2,3],b[2,3]", progress=stop),
        lambda: add.infer(progress=stop),
        lambda: add.canonicalise(progress=stop),
    ):
        with pytest.raises(Stop):
            call()
        assert add.text() == before and add.inputs["x"].shape == "[N,3]"
    assert add.run({"x": X, "b": X})["y"].shape == (2, 3)


def test_a_callback_may_use_the_model(add):
    shapes = []

    def look(progress):
        shapes.append((add.inputs["x"].shape.symbolic, add.run({"x": X, "b": X})["y"].shape))

    def work():
        add.infer("x[2,3],b[2,3]", progress=look)
        add.infer(progress=look)
        add.canonicalise(progress=look)
        add.run({"x": X, "b": X}, progress=look)
        done.append(True)

    done = []
    # In a thread, so that a deadlock fails the test.
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(60)
    assert done and shapes[0] == ("[N,3]", (2, 3)) and shapes[-1] == ("[2,3]", (2, 3))


def test_a_callback_that_cannot_be_called(add):
    with pytest.raises(TypeError):
        add.infer(progress=3)
    assert add.infer().ok


def test_progress_of_an_inference_keeps_earlier_inferences(add):
    first = add.infer("x[2,3],b[2,3]")
    add.infer("x[5,3],b[5,3]", progress=lambda progress: None)
    assert first.layers["s"].shape == (2, 3)


def test_files_are_still_checked_after_progress(models):
    model = snick.load(models / "focus_cnn")
    before = [finding.code for finding in model.check()]
    model.infer(progress=lambda progress: None)
    assert [finding.code for finding in model.check()] == before
