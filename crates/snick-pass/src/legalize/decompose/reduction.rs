//! Norms as sums.

use snick_ir::Op;
use snick_ir::ops::ReduceSum;
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_tensor::kernels::ReduceOp;

use super::helpers::{Result, is_integer};

pub(crate) const RULE: Rule = Rule::exact("decompose-norm", norm).may_round_within(1e-5, 0.0);

fn norm(p: &mut Patch) -> Result<RewriteResult> {
    let Op::Reduce(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let (x, axes) = (p.input(0)?, p.input(1)?);
    let sum = ReduceSum { keep_dims: op.keep_dims };
    match op.function {
        ReduceOp::L1 => {
            let sizes = p.abs(x)?;
            p.add_op(sum, &[sizes, axes]).map(RewriteResult::one)
        }
        ReduceOp::L2 if !is_integer(p)? => {
            let squares = p.multiply(x, x)?;
            let sum = p.add_op(sum, &[squares, axes])?;
            p.sqrt(sum).map(RewriteResult::one)
        }
        _ => Ok(RewriteResult::NoMatch),
    }
}
