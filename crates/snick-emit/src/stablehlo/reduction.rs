//! Reductions.

use snick_ir::Op;
use snick_tensor::kernels::ReduceOp;

use super::emitter::{Emitter, Operand, Result};
use super::reduce::{axes, extreme, folded, maximum, mean, sum};
use super::row::OpRow;

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    let Op::Reduce(op) = op else { return None };
    let fold =
        |combine, start| OpRow::new(move |e| reduce(e, |e, x, axes| folded(e, x, axes, combine, start)));
    Some(match op.function {
        ReduceOp::LogicalAnd => fold("and", 1.0),
        ReduceOp::LogicalOr => fold("or", 0.0),
        ReduceOp::Max => OpRow::new(|e| reduce(e, maximum)),
        ReduceOp::Mean => OpRow::new(|e| reduce(e, mean)),
        ReduceOp::Min => {
            OpRow::new(|e| reduce(e, |e, x, axes| folded(e, x, axes, "minimum", extreme(x, 1.0))))
        }
        ReduceOp::Prod => fold("multiply", 1.0),
        ReduceOp::Sum => OpRow::new(|e| reduce(e, sum)),
        ReduceOp::L1 | ReduceOp::L2 => return None,
    })
}

fn reduce(e: &mut Emitter, function: impl Fn(&mut Emitter, &Operand, &[usize]) -> Result<Operand>) -> Result {
    let x = e.input(0)?;
    let axes = axes(e, 1, x.ty.rank())?;
    let y = function(e, &x, &axes)?;
    let dims = e.output(0)?.dims;
    let y = e.reshape(&y, dims)?;
    e.give(0, y)
}
