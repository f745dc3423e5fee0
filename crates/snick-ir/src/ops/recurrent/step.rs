//! Single steps of recurrent networks.

use snick_shape::Shape;
use snick_tensor::Tensor;

use super::cell::{Cell, CellKind};
use super::shapes::sizes;
use super::unroll::{Unroll, unroll};
use crate::{Fact, Facts, Infer, OpError};

/// Infers the states after one step.
pub(super) fn infer_step(cx: &mut Infer, kind: CellKind) -> Result<Facts, OpError> {
    let sizes = sizes(cx, kind, None, cx.len())?;
    let state = Fact::new(sizes.element_type, Shape::ranked([sizes.batch, sizes.hidden]));
    Ok(std::iter::repeat_n(state, kind.states()).collect())
}

/// Computes the states after one step, as a sequence of one step in one direction.
pub(super) fn eval_step(cell: &Cell, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
    let (data, weights) = inputs.split_at(1 + cell.kind.states());
    let mut weights = weights.to_vec();
    if let [_, r] = weights.as_slice() {
        let rows = r.dims().first().copied().unwrap_or(0);
        weights.push(Tensor::zeros(r.element_type(), &[rows])?);
    }
    let with_axis = |tensors: &[Tensor], axis: usize| {
        let with_axis = |t: &Tensor| match t.rank() {
            0 => Err(OpError::rank("an input", 0, "1 or 2")),
            _ => Ok(t.unsqueeze(axis)?),
        };
        tensors.iter().map(with_axis).collect::<Result<Vec<_>, _>>()
    };
    let (data, weights) = (with_axis(data, 1)?, with_axis(&weights, 0)?);
    let given =
        Unroll { x: &data[0], states: &data[1..], lengths: None, weights: &weights, reversed: &[false] };
    let outputs = unroll(cell, &given)?;
    outputs.iter().skip(1).map(|state| Ok(state.squeeze(1)?)).collect()
}
