//! Many elements to one.

use snick_ir::OpError;
use snick_tensor::ElementType;

use super::elementwise::size;
use super::emitter::{Emitter, Operand, Result};
use super::table::EmitRule::{self, Custom};

pub(super) const RULES: &[(&str, EmitRule)] = &[
    (
        "ReduceL1",
        Custom(|e| {
            reduce(e, |e, x, axes| {
                let sizes = size(e, x);
                sum(e, &sizes, axes)
            })
        }),
    ),
    (
        "ReduceL2",
        Custom(|e| {
            reduce(e, |e, x, axes| {
                if !x.ty.element.is_float() {
                    return Err(OpError::unsupported("a root of integers in StableHLO"));
                }
                let squares = e.same("stablehlo.multiply", &[x, x]);
                let sum = sum(e, &squares, axes)?;
                Ok(e.same("stablehlo.sqrt", &[&sum]))
            })
        }),
    ),
    ("ReduceLogicalAnd", Custom(|e| reduce(e, |e, x, axes| folded(e, x, axes, "and", 1.0)))),
    ("ReduceLogicalOr", Custom(|e| reduce(e, |e, x, axes| folded(e, x, axes, "or", 0.0)))),
    ("ReduceMax", Custom(|e| reduce(e, maximum))),
    ("ReduceMean", Custom(|e| reduce(e, mean))),
    ("ReduceMin", Custom(|e| reduce(e, |e, x, axes| folded(e, x, axes, "minimum", extreme(x, 1.0))))),
    ("ReduceProd", Custom(|e| reduce(e, |e, x, axes| folded(e, x, axes, "multiply", 1.0)))),
    ("ReduceSum", Custom(|e| reduce(e, sum))),
];

fn reduce(e: &mut Emitter, function: impl Fn(&mut Emitter, &Operand, &[usize]) -> Result<Operand>) -> Result {
    let x = e.input(0)?;
    let axes = axes(e, 1, x.ty.rank())?;
    let y = function(e, &x, &axes)?;
    let dims = e.output(0)?.dims;
    let y = e.reshape(&y, dims)?;
    e.give(0, y)
}

/// The axes that input `i` names, ascending.
pub(super) fn axes(e: &Emitter, i: usize, rank: usize) -> Result<Vec<usize>, OpError> {
    let axes = e.fixed(i, "axes")?;
    let axes = axes.iter().map(|&axis| snick_ir::normalize_axis(axis, rank));
    let mut axes = axes.collect::<Result<Vec<usize>, OpError>>()?;
    axes.sort_unstable();
    axes.dedup();
    Ok(axes)
}

fn folded(e: &mut Emitter, x: &Operand, axes: &[usize], combine: &str, start: f64) -> Result<Operand> {
    let start = e.full(start, &x.ty.sized(&[]))?;
    Ok(e.reduce(x, axes, combine, &start))
}

/// The sum over axes, which fall away.
pub(super) fn sum(e: &mut Emitter, x: &Operand, axes: &[usize]) -> Result<Operand> {
    folded(e, x, axes, "add", 0.0)
}

/// The largest over axes, which fall away.
pub(super) fn maximum(e: &mut Emitter, x: &Operand, axes: &[usize]) -> Result<Operand> {
    folded(e, x, axes, "maximum", extreme(x, -1.0))
}

/// The mean over axes, which fall away.
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
    Ok(e.same("stablehlo.divide", &[&sum, &count]))
}

/// The largest number of a type, or with a negative sign the least.
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
