//! Contractions (`dot_general`), as used by other operations.

use snick_shape::SymExpr;
use snick_tensor::Tensor;

use super::emitter::{Emitter, OpKind, Operand, Result};

/// Contracts the `shared` axes for each index of the `batch` axes. The result has the batch axes, then the
/// remaining axes of `a`, then the remaining axes of `b`.
pub(super) fn contract(
    e: &mut Emitter,
    a: &Operand,
    b: &Operand,
    batch: [&[usize]; 2],
    shared: [&[usize]; 2],
) -> Result<Operand> {
    let others = |x: &Operand, side: usize| {
        let own = x.ty.dims.iter().enumerate();
        let own = own.filter(|(axis, _)| !batch[side].contains(axis) && !shared[side].contains(axis));
        own.map(|(_, dim)| dim.clone()).collect::<Vec<SymExpr>>()
    };
    let lead = batch[0].iter().filter_map(|&axis| a.ty.dims.get(axis).cloned()).collect();
    let ty = a.ty.sized([lead, others(a, 0), others(b, 1)].concat());
    let [batch, contracting] = [batch, shared].map(|axes| axes.map(<[usize]>::to_vec));
    let precision = e.function.precision;
    Ok(e.op(OpKind::DotGeneral { batch, contracting, precision }, &[a, b], ty))
}

/// Multiplies the vectors along an axis of `x` by the matrix `weights` of shape `[output, input]`.
pub(super) fn sums(e: &mut Emitter, x: &Operand, axis: usize, weights: &Tensor) -> Result<Operand> {
    let weights = e.constant(&weights.cast(x.ty.element)?)?;
    let sums = contract(e, x, &weights, [&[], &[]], [&[axis], &[1]])?;
    // The contraction puts the new axis last, so it is moved back.
    let last = x.ty.rank() - 1;
    let order: Vec<usize> = (0..axis).chain([last]).chain(axis..last).collect();
    Ok(e.transpose(&sums, &order))
}
