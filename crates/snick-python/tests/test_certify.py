"""Certificates: what is proved, saved and checked."""

import pickle

import pytest

import snick


def _sliced(graph, stop):
    """A model that slices its input twice."""
    return graph(
        f"""  %x = Parameter-1 {{element_type: f32, shape: "N,4"}}
  %start = Const-1 i64[1] <1>
  %stop = Const-1 i64[1] <{stop}>
  %step = Const-1 i64[1] <1>
  %a = Slice-8(%x, %start, %stop, %step)
  %b = Slice-8(%a, %start, %stop, %step)
  %y = Result-1(%b)
  %z = Result-1(%x)"""
    )


def test_rewrites_are_those_of_the_canonical_form(graph):
    model = _sliced(graph, -1)
    text = model.text()
    certificate = model.certify()
    assert model.text() == text
    report = model.copy().canonicalise()
    assert certificate.schema == "snick.certify/1" and len(certificate.rewrites) == report.rewrites > 1
    first = certificate.rewrites[0]
    assert (first.rule, first.op, first.layer, first.loc) == ("lower-slices", "Slice", "a", "7:3")
    statuses = [rewrite.status for rewrite in certificate.rewrites]
    counts = {status: statuses.count(status) for status in ("proved", "sampled", "refuted")}
    assert certificate.summary == {"applied": len(statuses), **counts} and counts["refuted"] == 0
    assert certificate.is_proved == (counts["proved"] == len(statuses))
    assert all((rewrite.status == "proved") == (rewrite.reason is None) for rewrite in certificate.rewrites)
    assert certificate.outputs == [] and certificate.summary.undecided is None
    assert str(certificate).splitlines()[-1].startswith(f"{len(statuses)} rewrites: ")


def test_models_that_differ_are_not_proved_equal(graph):
    certificate = _sliced(graph, -1).certify(_sliced(graph, -2))
    y, z = certificate.outputs
    assert (y.name, z.name) == ("y", "z") and y.status != "proved" and z.status != "refuted"
    for output in (y, z):
        assert (output.status == "refuted") == (output.counterexample is not None)
        assert (output.status == "proved") == (output.reason is None)
    assert not certificate.is_proved and certificate.rewrites == [] and certificate.summary.applied is None
    if y.counterexample:
        assert y.counterexample.sizes["N"] >= 0 and y.counterexample.before != y.counterexample.after


def test_a_certificate_is_checked_against_its_models(graph, tmp_path):
    model, other = _sliced(graph, -1), _sliced(graph, -2)
    one, both = model.certify(), model.certify(other)
    one.check(model)
    both.check(model, other)
    path = tmp_path / "one.json"
    pickle.loads(pickle.dumps(one)).save(path)
    model.check_certificate(path)
    (tmp_path / "damaged.json").write_bytes(path.read_bytes()[1:])
    for check in (
        lambda: one.check(other),
        lambda: one.check(model, other),
        lambda: both.check(model),
        lambda: both.check(other, model),
        lambda: other.check_certificate(path),
        lambda: model.check_certificate(tmp_path / "damaged.json"),
    ):
        with pytest.raises(snick.Error) as raised:
            check()
        assert raised.value.code == "S047"
    with pytest.raises(FileNotFoundError):
        model.check_certificate(tmp_path / "gone.json")


def test_obligations_are_written_to_a_folder(graph, tmp_path):
    certificate = _sliced(graph, -1).certify(smt=tmp_path / "new" / "smt")
    names = sorted(path.name for path in (tmp_path / "new" / "smt").iterdir())
    assert [name[:4] for name in names] == [f"{number:03}-" for number in range(1, len(names) + 1)]
    assert all(name.endswith(".smt2") for name in names) and certificate.rewrites


def test_progress_can_stop_the_work(graph):
    def stop(progress):
        raise RuntimeError(progress.layer)

    with pytest.raises(RuntimeError):
        _sliced(graph, -1).certify(progress=stop)
