//! Reductions of axes.

use super::code::parts;
use super::lowering::{Lowering, Result, result};
use super::scalar::operation;
use super::types::{Num, Tensor, malformed};
use crate::stablehlo::hlo::Op;

pub(super) fn lower(l: &mut Lowering, op: &Op, combine: &str, axes: &[usize]) -> Result<Tensor> {
    let (x, id) = (l.operand(op, 0)?, result(op)?);
    if axes.is_empty() {
        return Ok(x);
    }
    let start = l.scalar(*op.operands.get(1).ok_or_else(|| malformed("a reduction"))?)?;
    let ty = l.type_of(id);
    let kept = (0..x.rank()).filter(|axis| !axes.contains(axis));
    let sizes: Vec<Num> = kept.map(|axis| x.sizes[axis]).collect();
    let out = l.filled(start, &ty, &sizes);
    let operation = operation(combine, ty.element).ok_or_else(|| malformed(combine))?;
    let text = parts![
        format!("linalg.reduce {{ {operation} }} ins("),
        x.value,
        " : ",
        &x.ty,
        ") outs(",
        out.value,
        " : ",
        &ty,
        format!(") dimensions = {axes:?}")
    ];
    let value = l.code.op(l.name(id), text);
    Ok(Tensor { value, ..out })
}
