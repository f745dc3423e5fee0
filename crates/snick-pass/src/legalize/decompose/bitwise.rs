//! Bitwise functions of booleans as logical ones.

use snick_ir::Op;
use snick_ir::ops::{Logical, LogicalNot};
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_tensor::ElementType;
use snick_tensor::kernels::{BitwiseOp, LogicalOp};

use super::helpers::{Result, all_inputs};

pub(crate) const RULE: Rule = Rule::exact("bitwise-to-logical", logical);
pub(crate) const NOT: Rule = Rule::exact("decompose-bitwise-not", not);

fn logical(p: &mut Patch) -> Result<RewriteResult> {
    let element_type = p.input_facts()?.first().map(|fact| fact.element_type);
    match element_type.and_then(|element_type| as_logical(p.node().op(), element_type)) {
        Some(op) => p.add_op(op, &all_inputs(p)?).map(RewriteResult::one),
        None => Ok(RewriteResult::NoMatch),
    }
}

/// The logical function that a bitwise function of this element type is.
pub(crate) fn as_logical(op: &Op, element_type: ElementType) -> Option<Op> {
    let (function, broadcast) = match op {
        _ if element_type != ElementType::Boolean => return None,
        Op::BitwiseNot(_) => return Some(LogicalNot.into()),
        Op::Bitwise(op) => match op.function {
            BitwiseOp::And => (LogicalOp::And, op.broadcast),
            BitwiseOp::Or => (LogicalOp::Or, op.broadcast),
            BitwiseOp::Xor => (LogicalOp::Xor, op.broadcast),
            BitwiseOp::LeftShift | BitwiseOp::RightShift => return None,
        },
        _ => return None,
    };
    Some(Logical { function, broadcast }.into())
}

/// Computes `-1 - x`, or the largest integer minus `x` if there are no negative integers.
fn not(p: &mut Patch) -> Result<RewriteResult> {
    let Op::BitwiseNot(_) = p.node().op() else { return Ok(RewriteResult::NoMatch) };
    let x = p.input(0)?;
    let element_type = p.element_type(x)?;
    let ones = match element_type.integer_range_f64() {
        Some((min, _)) if min < 0.0 => -1.0,
        // The largest u64 is not a float.
        Some((_, max)) if element_type != ElementType::U64 => max,
        _ => return Ok(RewriteResult::NoMatch),
    };
    let ones = p.scalar(element_type, ones)?;
    p.subtract(ones, x).map(RewriteResult::one)
}
