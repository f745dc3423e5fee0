//! Matrix multiplications and other contractions.

use super::code::parts;
use super::generic::{Access, Space};
use super::lowering::{Lowering, Result, result};
use super::scalar::combine;
use super::types::{Num, Tensor};
use crate::stablehlo::hlo::Op;

pub(super) fn lower(
    l: &mut Lowering,
    op: &Op,
    batch: &[Vec<usize>; 2],
    contracting: &[Vec<usize>; 2],
) -> Result<Tensor> {
    let (a, b, id) = (l.operand(op, 0)?, l.operand(op, 1)?, result(op)?);
    let ty = l.type_of(id);
    let own = |x: &Tensor, side: usize| -> Vec<usize> {
        (0..x.rank())
            .filter(|axis| !batch[side].contains(axis) && !contracting[side].contains(axis))
            .collect()
    };
    let (own_a, own_b) = (own(&a, 0), own(&b, 1));
    let sizes = batch[0].iter().chain(&own_a).map(|&axis| a.sizes[axis]);
    let sizes: Vec<Num> = sizes.chain(own_b.iter().map(|&axis| b.sizes[axis])).collect();
    let zero = l.scalar_constant(0.0, ty.element);
    let start = l.filled(zero, &ty, &sizes);
    if let Some(name) = named(&a, &b, batch, contracting) {
        let text = parts![
            name,
            " ins(",
            a.value,
            ", ",
            b.value,
            " : ",
            &a.ty,
            ", ",
            &b.ty,
            ") outs(",
            start.value,
            " : ",
            &ty,
            ") -> ",
            &ty
        ];
        let value = l.code.op(l.name(id), text);
        return Ok(Tensor { value, ..start });
    }
    // The axes of the result come first, then the contracted axes.
    let coordinate = |side: usize, axis: usize| {
        let place = |list: &[usize]| list.iter().position(|&own| own == axis);
        let own = if side == 0 { &own_a } else { &own_b };
        let first = batch[0].len() + if side == 0 { 0 } else { own_a.len() };
        place(&batch[side])
            .or_else(|| place(own).map(|place| first + place))
            .or_else(|| place(&contracting[side]).map(|place| ty.rank() + place))
            .unwrap_or(0)
    };
    let inputs = [&a, &b].into_iter().enumerate();
    let inputs = inputs.map(|(side, x)| Access::axes(x, (0..x.rank()).map(|axis| coordinate(side, axis))));
    let inputs: Vec<Access> = inputs.collect();
    let reduced = contracting[0].len();
    let space = Space { rank: ty.rank() + reduced, reduced };
    l.generic(l.name(id), &space, &inputs, &Access::same(&start), |l, values| {
        let &[x, y, sum] = values else { return Err(super::types::malformed("a product")) };
        let product = combine(l, "multiply", [x, y], ty.element)?;
        combine(l, "add", [sum, product], ty.element)
    })
}

/// The named operation for a contraction of matrices, if there is one.
fn named(
    a: &Tensor,
    b: &Tensor,
    batch: &[Vec<usize>; 2],
    contracting: &[Vec<usize>; 2],
) -> Option<&'static str> {
    let is = |list: &[Vec<usize>; 2], a: &[usize], b: &[usize]| list[0] == a && list[1] == b;
    match (a.rank(), b.rank()) {
        (2, 2) if is(batch, &[], &[]) && is(contracting, &[1], &[0]) => Some("linalg.matmul"),
        (3, 3) if is(batch, &[0], &[0]) && is(contracting, &[2], &[1]) => Some("linalg.batch_matmul"),
        _ => None,
    }
}
