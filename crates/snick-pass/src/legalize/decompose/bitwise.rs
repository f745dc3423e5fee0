//! Bitwise functions of booleans as logical ones.

use snick_ir::Op;
use snick_ir::ops::Logical;
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_tensor::ElementType;
use snick_tensor::kernels::{BitwiseOp, LogicalOp};

use super::helpers::{Result, all_inputs};

pub(crate) const RULE: Rule = Rule::exact("bitwise-to-logical", logical);
pub(crate) const NOT: Rule = Rule::exact("decompose-bitwise-not", not);

fn logical(p: &mut Patch) -> Result<RewriteResult> {
    let Op::Bitwise(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let inputs = all_inputs(p)?;
    let function = match op.function {
        _ if p.element_type(inputs[0])? != ElementType::Boolean => return Ok(RewriteResult::NoMatch),
        BitwiseOp::And => LogicalOp::And,
        BitwiseOp::Or => LogicalOp::Or,
        BitwiseOp::Xor => LogicalOp::Xor,
        BitwiseOp::LeftShift | BitwiseOp::RightShift => return Ok(RewriteResult::NoMatch),
    };
    p.add_op(Logical { function, broadcast: op.broadcast }, &inputs).map(RewriteResult::one)
}

/// Computes `-1 - x`, or the largest integer minus `x` if there are no negative integers.
fn not(p: &mut Patch) -> Result<RewriteResult> {
    let Op::BitwiseNot(_) = p.node().op() else { return Ok(RewriteResult::NoMatch) };
    let x = p.input(0)?;
    let element_type = p.element_type(x)?;
    if element_type == ElementType::Boolean {
        return p.logical_not(x).map(RewriteResult::one);
    }
    let ones = match element_type.integer_range_f64() {
        Some((min, _)) if min < 0.0 => -1.0,
        // The largest u64 is not a float.
        Some((_, max)) if element_type != ElementType::U64 => max,
        _ => return Ok(RewriteResult::NoMatch),
    };
    let ones = p.scalar(element_type, ones)?;
    p.subtract(ones, x).map(RewriteResult::one)
}
