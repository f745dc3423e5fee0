//! Reductions, as used by other operations.

use snick_ir::OpError;
use snick_tensor::ElementType;

use super::emitter::{Emitter, Operand, Result};

/// The axes that input `i` lists, in ascending order.
pub(super) fn axes(e: &Emitter, i: usize, rank: usize) -> Result<Vec<usize>, OpError> {
    let axes = e.fixed(i, "axes")?;
    let axes = axes.iter().map(|&axis| snick_ir::normalize_axis(axis, rank));
    let mut axes = axes.collect::<Result<Vec<usize>, OpError>>()?;
    axes.sort_unstable();
    axes.dedup();
    Ok(axes)
}

pub(super) fn folded(
    e: &mut Emitter,
    x: &Operand,
    axes: &[usize],
    combine: &'static str,
    start: f64,
) -> Result<Operand> {
    let start = e.full(start, &x.ty.sized(&[]))?;
    Ok(e.reduce(x, axes, combine, &start))
}

/// The sum over axes, without these axes in the result.
pub(super) fn sum(e: &mut Emitter, x: &Operand, axes: &[usize]) -> Result<Operand> {
    folded(e, x, axes, "add", 0.0)
}

/// The maximum over axes, without these axes in the result.
pub(super) fn maximum(e: &mut Emitter, x: &Operand, axes: &[usize]) -> Result<Operand> {
    folded(e, x, axes, "maximum", extreme(x, -1.0))
}

/// The mean over axes, without these axes in the result.
pub(super) fn mean(e: &mut Emitter, x: &Operand, axes: &[usize]) -> Result<Operand> {
    let sum = sum(e, x, axes)?;
    let count = e.product(axes.iter().filter_map(|&axis| x.ty.dims.get(axis)))?;
    let count = match count.as_const() {
        Some(count) => e.full(count as f64, &sum.ty)?,
        None => {
            let count = e.number(&count)?;
            let count = e.convert(&count, sum.ty.element);
            e.spread(&count, &[], &sum.ty.dims)?
        }
    };
    Ok(e.same("divide", &[&sum, &count]))
}

/// The largest number of a type, or the smallest if `sign` is negative.
pub(super) fn extreme(x: &Operand, sign: f64) -> f64 {
    match x.ty.element.integer_range() {
        Some((low, high)) if x.ty.element != ElementType::Boolean => {
            if sign < 0.0 {
                low as f64
            } else {
                high as f64
            }
        }
        _ => sign * f64::INFINITY,
    }
}
