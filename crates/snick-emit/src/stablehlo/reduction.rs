//! Many elements to one.

use super::emitter::{Emitter, Operand, Result};
use super::reduce::{axes, extreme, folded, maximum, mean, sum};
use super::rule::EmitRule::Custom;
use super::rule::OpRow;

pub(super) const ROWS: &[OpRow] = &[
    OpRow::new("ReduceLogicalAnd", Custom(|e| reduce(e, |e, x, axes| folded(e, x, axes, "and", 1.0)))),
    OpRow::new("ReduceLogicalOr", Custom(|e| reduce(e, |e, x, axes| folded(e, x, axes, "or", 0.0)))),
    OpRow::new("ReduceMax", Custom(|e| reduce(e, maximum))),
    OpRow::new("ReduceMean", Custom(|e| reduce(e, mean))),
    OpRow::new(
        "ReduceMin",
        Custom(|e| reduce(e, |e, x, axes| folded(e, x, axes, "minimum", extreme(x, 1.0)))),
    ),
    OpRow::new("ReduceProd", Custom(|e| reduce(e, |e, x, axes| folded(e, x, axes, "multiply", 1.0)))),
    OpRow::new("ReduceSum", Custom(|e| reduce(e, sum))),
];

fn reduce(e: &mut Emitter, function: impl Fn(&mut Emitter, &Operand, &[usize]) -> Result<Operand>) -> Result {
    let x = e.input(0)?;
    let axes = axes(e, 1, x.ty.rank())?;
    let y = function(e, &x, &axes)?;
    let dims = e.output(0)?.dims;
    let y = e.reshape(&y, dims)?;
    e.give(0, y)
}
