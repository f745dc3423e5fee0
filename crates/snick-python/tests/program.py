"""A program with all calls, which `mypy --strict` checks and the tests run."""

from __future__ import annotations

import pathlib
import pickle
import tempfile
from typing import Any, Dict, List, Optional, Sequence

import numpy as np
import numpy.typing as npt

import snick

TEXT = b"""snick 1
graph "crop" {
  %x = Parameter-1 {element_type: f32, shape: "?,4"}
  %start = Const-1 i64[1] <1>
  %stop = Const-1 i64[1] <-1>
  %step = Const-1 i64[1] <1>
  %slice = Slice-8(%x, %start, %stop, %step)
  %y = Result-1(%slice)
}
"""


def main() -> None:
    """Makes the calls."""
    done: List[snick.Progress] = []
    model: snick.Model = snick.load(
        TEXT, weights=None, shapes={"x": ["N", 4]}, limits={"layers": 100, "time": 60}, progress=done.append
    )
    assert done[-1].layer == "y"
    for port in (*model.inputs, *model.outputs):
        name: str = port.name
        dims: List[Any] = list(port.shape)
        names: List[str] = [str(symbol) for symbol in port.symbols]
        assert name and len(dims) == 2 and names == ["N"] and port.dtype == np.float32
    inference: snick.Inference = model.infer(shapes="x[N,4]")
    assert inference.ok and inference.outputs[0].shape.rank == 2
    layer: snick.Layer = model.layers["slice"]
    assert layer.op == "Slice" and len(model.layers) == 6 and layer.outputs[0].shape.symbolic
    for one in model.layers[1:3]:
        consumers: List[str] = [consumer.name for consumer in one.consumers]
        assert consumers == ["slice"] and not one.bodies and one.outputs[0].value is not None
    source: Optional[snick.Source] = layer.inputs[0]
    assert source is not None and model.layers[source.index].name == source.layer
    again: Any = pickle.loads(pickle.dumps(layer))
    assert again == layer
    array: npt.NDArray[np.float32] = np.ones((5, 4), np.float32)
    outputs: Dict[str, npt.NDArray[Any]] = model.run({"x": array}, canon=True, threads=1)
    assert outputs["y"].shape == (3, 4)
    session: snick.Session = model.session()
    assert session.run({"x": array})["y"].sum() == 12
    certificate: snick.Certificate = model.certify(after=None)
    rules: List[str] = [rewrite.rule for rewrite in certificate.rewrites if rewrite.status == "refuted"]
    assert not rules and certificate.summary.refuted == 0
    certificate.check(model)
    for output in model.certify(after=model.copy()).outputs:
        found: Optional[snick.Counterexample] = output.counterexample
        assert output.status != "refuted" or (found and found.sizes["N"] and list(found.index))
    report: snick.Report = model.canonicalise(verify=True)
    verified: Optional[bool] = report.verified
    assert verified and report.slice_after == 1
    why: snick.Why = model.why("slice:0:0")
    assert why.dim and why.tree.role
    codes: List[str] = [finding.code for finding in model.check()]
    assert all(code.startswith("S") for code in codes)
    first: Sequence[snick.Finding] = model.check()[:1]
    assert all(finding.help and finding.layer for finding in first)
    cost: snick.Cost = model.cost()
    assert cost.parameters == 0
    difference: snick.Diff = snick.diff(model, model)
    assert difference.equal
    with tempfile.TemporaryDirectory() as folder:
        model.save(pathlib.Path(folder) / "model.xml")
        certificate.save(pathlib.Path(folder) / "proofs.json")
    text: str = model.text() + model.report()
    assert text
    try:
        model.run({"q": array})
    except snick.RunError as error:
        assert (error.code, error.layer, error.op, error.loc) == ("S054", None, None, None)
    caught: List[type[snick.Error]] = [snick.ReadError, snick.InferError, snick.RunError, snick.LimitError]
    assert all(issubclass(one, snick.Error) for one in caught)


if __name__ == "__main__":
    main()
