//! Remainders, rounding and tests in terms of basic arithmetic.

use snick_ir::Op;
use snick_ir::ops::elementwise::round::RoundMode;
use snick_ir::ops::{AutoBroadcast, Divide, FloorMod, IsInf, IsNaN, SquaredDifference, TruncatedDivide};
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_tensor::ElementType;
use snick_tensor::kernels::BinaryOp;

use super::helpers::{Result, is_integer};

pub(crate) const EXTREME: Rule = Rule::exact("decompose-extreme", extreme);
pub(crate) const CLAMP: Rule = Rule::exact("decompose-clamp", clamp);
pub(crate) const FLOOR_DIVIDE: Rule = Rule::exact("decompose-floor-divide", floor_divide);
pub(crate) const FLOOR_MOD: Rule = Rule::exact("decompose-floor-mod", floor_mod).may_round_within(1e-5, 0.0);
pub(crate) const IS_FINITE: Rule = Rule::exact("decompose-is-finite", is_finite);
pub(crate) const ROUND: Rule = Rule::exact("decompose-round", round).may_round_within(1e-5, 0.0);
pub(crate) const SQUARED_DIFFERENCE: Rule =
    Rule::exact("decompose-squared-difference", squared_difference).may_round_within(1e-5, 0.0);

/// Selects the larger or the smaller of two integers.
fn extreme(p: &mut Patch) -> Result<RewriteResult> {
    let Op::Arithmetic(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    if !is_integer(p)? || matches!(op.broadcast, AutoBroadcast::Pdpd { .. }) {
        return Ok(RewriteResult::NoMatch);
    }
    let (x, y) = (p.input(0)?, p.input(1)?);
    let is_first = match op.function {
        BinaryOp::Max => p.greater(x, y)?,
        BinaryOp::Min => p.less(x, y)?,
        _ => return Ok(RewriteResult::NoMatch),
    };
    p.select(is_first, x, y).map(RewriteResult::one)
}

/// Clamps integers with Maximum and Minimum.
fn clamp(p: &mut Patch) -> Result<RewriteResult> {
    let Op::Clamp(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let x = p.input(0)?;
    let element_type = p.element_type(x)?;
    let range = element_type.integer_range().filter(|_| element_type != ElementType::U64);
    let Some((least, greatest)) = range else { return Ok(RewriteResult::NoMatch) };
    let [low, high] = [op.min.ceil(), op.max.floor()].map(|bound| (bound as i64).clamp(least, greatest));
    let mut y = x;
    if low > least {
        y = p.maximum(y, low)?;
    }
    if high < greatest {
        y = p.minimum(y, high)?;
    }
    Ok(RewriteResult::one(y))
}

/// Computes floor division from truncated division: subtracts 1 where the two kinds of remainder differ.
fn floor_divide(p: &mut Patch) -> Result<RewriteResult> {
    if *p.node().op() != Divide::default().into() || !is_integer(p)? {
        return Ok(RewriteResult::NoMatch);
    }
    let (x, y) = (p.input(0)?, p.input(1)?);
    let quotient = p.add_op(TruncatedDivide::default(), &[x, y])?;
    let (below, towards_zero) = (p.floor_mod(x, y)?, p.modulo(x, y)?);
    let is_same = p.equal(below, towards_zero)?;
    let less = p.subtract(quotient, 1.0)?;
    p.select(is_same, quotient, less).map(RewriteResult::one)
}

/// Computes the remainder that has the sign of the divisor. Starts from the remainder that has the sign of
/// the dividend, and adds the divisor where the signs differ.
fn floor_mod(p: &mut Patch) -> Result<RewriteResult> {
    if *p.node().op() != FloorMod::default().into() {
        return Ok(RewriteResult::NoMatch);
    }
    let (x, y) = (p.input(0)?, p.input(1)?);
    let remainder = p.modulo(x, y)?;
    let (is_below, divisor_is_below) = (p.less(remainder, 0.0)?, p.less(y, 0.0)?);
    let differ = p.logical_xor(is_below, divisor_is_below)?;
    let is_inexact = p.not_equal(remainder, 0.0)?;
    let moves = p.logical_and(differ, is_inexact)?;
    let moved = p.add(remainder, y)?;
    p.select(moves, moved, remainder).map(RewriteResult::one)
}

fn squared_difference(p: &mut Patch) -> Result<RewriteResult> {
    if *p.node().op() != SquaredDifference::default().into() {
        return Ok(RewriteResult::NoMatch);
    }
    let (x, y) = (p.input(0)?, p.input(1)?);
    let difference = p.subtract(x, y)?;
    p.multiply(difference, difference).map(RewriteResult::one)
}

fn is_finite(p: &mut Patch) -> Result<RewriteResult> {
    let Op::IsFinite(_) = p.node().op() else { return Ok(RewriteResult::NoMatch) };
    let x = p.input(0)?;
    let is_infinite = p.add_op(IsInf::default(), &[x])?;
    let is_nan = p.add_op(IsNaN, &[x])?;
    let either = p.logical_or(is_infinite, is_nan)?;
    p.logical_not(either).map(RewriteResult::one)
}

/// Rounds half away from 0: truncates `|x|`, adds 1 if the fraction is at least a half, and restores the sign
/// of `x`.
fn round(p: &mut Patch) -> Result<RewriteResult> {
    let Op::Round(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    if op.mode != RoundMode::HalfAwayFromZero {
        return Ok(RewriteResult::NoMatch);
    }
    let x = p.input(0)?;
    let element_type = p.element_type(x)?;
    let (size, sign) = (p.abs(x)?, p.sign(x)?);
    let whole = p.floor(size)?;
    let rest = p.subtract(size, whole)?;
    let is_more = p.greater_equal(rest, 0.5)?;
    let more = p.convert(is_more, element_type)?;
    let nearest = p.add(whole, more)?;
    p.multiply(sign, nearest).map(RewriteResult::one)
}
