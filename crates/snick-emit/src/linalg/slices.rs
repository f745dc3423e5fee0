//! Slices, and updates of slices.

use super::code::parts;
use super::lowering::{Lowering, Result, result};
use super::types::{AxisSlice, Num, Tensor, TensorType, malformed};
use crate::stablehlo::hlo::{Op, OpKind};

pub(super) fn lower(l: &mut Lowering, op: &Op) -> Result<Tensor> {
    let (x, id) = (l.operand(op, 0)?, result(op)?);
    let mut axes = Vec::with_capacity(x.rank());
    match &op.kind {
        OpKind::Slice(ranges) => {
            for &[first, end, step] in ranges {
                let size = end.saturating_sub(first).div_ceil(step.max(1));
                let [first, size, step] = [first, size, step].map(|number| Num::Const(number as i64));
                axes.push(AxisSlice { first, size, step });
            }
        }
        OpKind::DynamicSlice(sizes) => {
            let sizes: Vec<Num> = sizes.iter().map(|&size| Num::Const(size as i64)).collect();
            for (axis, first) in starts(l, op, 1, &x, &sizes)?.into_iter().enumerate() {
                axes.push(AxisSlice { first, size: sizes[axis], step: Num::Const(1) });
            }
        }
        _ => {
            let [starts, ends, steps] =
                [l.operand_numbers(op, 1)?, l.operand_numbers(op, 2)?, l.operand_numbers(op, 3)?];
            for ((&first, &end), &step) in starts.iter().zip(&ends).zip(&steps) {
                let span = l.code.subtract(end, first);
                let size = match step {
                    Num::Const(1) => span,
                    _ => {
                        let last = l.code.add(span, step);
                        let last = l.code.subtract(last, Num::Const(1));
                        l.code.divide(last, step)
                    }
                };
                axes.push(AxisSlice { first, size, step });
            }
        }
    }
    let ty = l.type_of(id);
    let y = slice(l, l.name(id), &x, &axes, &ty);
    l.slices.insert(id, (x, axes));
    Ok(y)
}

/// The starts of a dynamic slice, which are moved into the data.
fn starts(l: &mut Lowering, op: &Op, first: usize, x: &Tensor, sizes: &[Num]) -> Result<Vec<Num>> {
    if op.operands.len() != first + x.rank() || sizes.len() != x.rank() {
        return Err(malformed("a slice"));
    }
    let mut starts = Vec::with_capacity(x.rank());
    for (axis, &size) in sizes.iter().enumerate() {
        let start = l.number(op, first + axis)?;
        if start == Num::Const(0) {
            starts.push(start);
            continue;
        }
        let last = l.code.subtract(x.sizes[axis], size);
        let start = l.code.minimum(start, last);
        starts.push(l.code.maximum(start, Num::Const(0)));
    }
    Ok(starts)
}

/// A slice with positive steps.
pub(super) fn slice(l: &mut Lowering, name: &str, x: &Tensor, axes: &[AxisSlice], ty: &TensorType) -> Tensor {
    let all = |of: fn(&AxisSlice) -> Num| axes.iter().map(of).collect::<Vec<Num>>();
    let (first, size, step) = (all(|axis| axis.first), all(|axis| axis.size), all(|axis| axis.step));
    // A dim is static if its size is a number in the text.
    let own = ty.with_dims(size.iter().map(|size| size.as_const()).collect());
    let text = parts![
        "tensor.extract_slice ",
        x.value,
        "[",
        &first,
        "] [",
        &size,
        "] [",
        &step,
        "] : ",
        &x.ty,
        " to ",
        &own
    ];
    let value = l.code.op(name, text);
    let slice = Tensor { value, ty: own, sizes: size };
    l.cast(&slice, ty)
}

/// Replaces a slice.
pub(super) fn update(l: &mut Lowering, op: &Op) -> Result<Tensor> {
    let (x, part) = (l.operand(op, 0)?, l.operand(op, 1)?);
    let starts = starts(l, op, 2, &x, &part.sizes)?;
    Ok(insert(l, l.name(result(op)?), &part, &x, &starts))
}

/// Writes `part` into `x`.
pub(super) fn insert(l: &mut Lowering, name: &str, part: &Tensor, x: &Tensor, starts: &[Num]) -> Tensor {
    let sizes: Vec<Num> = part.ty.dims.iter().zip(&part.sizes).map(|(_, &size)| size).collect();
    // Dims and sizes in the text must agree in which of them are static.
    let own = part.ty.with_dims(sizes.iter().map(|size| size.as_const()).collect());
    let part = l.cast(part, &own);
    let steps = vec![Num::Const(1); x.rank()];
    let text = parts![
        "tensor.insert_slice ",
        part.value,
        " into ",
        x.value,
        "[",
        starts,
        "] [",
        &sizes,
        "] [",
        &steps,
        "] : ",
        &own,
        " into ",
        &x.ty
    ];
    let value = l.code.op(name, text);
    Tensor { value, ..x.clone() }
}
