//! Activations in terms of exponentials, clamps and multiplications.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use snick_ir::ops::elementwise::gelu::Approximation;
use snick_ir::ops::{Elu, HardSigmoid, PRelu, Selu};
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, Value};
use snick_tensor::kernels::UnaryOp;

use super::helpers::{Result, in_f32, is_integer, per_channel};

pub(crate) const GELU: Rule = Rule::exact("decompose-gelu", gelu).may_round_within(1e-5, 0.0);
pub(crate) const HARD_SIGMOID: Rule =
    Rule::exact("decompose-hard-sigmoid", hard_sigmoid).may_round_within(1e-5, 0.0);
pub(crate) const PRELU: Rule = Rule::exact("decompose-prelu", prelu).may_round_within(1e-5, 0.0);
pub(crate) const SELU: Rule = Rule::exact("decompose-selu", selu).may_round_within(1e-5, 0.0);
pub(crate) const SWISH: Rule = Rule::exact("decompose-swish", swish).may_round_within(1e-5, 0.0);
pub(crate) const UNARY: Rule = Rule::exact("decompose-activation", unary).may_round_within(1e-5, 0.0);

/// Computes `x / 2 * (1 + erf(x / sqrt(2)))`, or the approximation by tanh.
fn gelu(p: &mut Patch) -> Result<RewriteResult> {
    let Op::Gelu(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let x = p.input(0)?;
    in_f32(p, &[x], |p, inputs| {
        let x = inputs[0];
        let bend = if op.approximation_mode == Approximation::Tanh {
            let square = p.multiply(x, x)?;
            let cube = p.multiply(square, x)?;
            let cube = p.multiply(cube, 0.044715)?;
            let sum = p.add(x, cube)?;
            let scaled = p.multiply(sum, (2.0 / PI).sqrt())?;
            p.tanh(scaled)?
        } else {
            let scaled = p.multiply(x, FRAC_1_SQRT_2)?;
            p.erf(scaled)?
        };
        let weight = p.add(bend, 1.0)?;
        let half = p.multiply(x, 0.5)?;
        p.multiply(half, weight)
    })
}

/// Activations without parameters.
fn unary(p: &mut Patch) -> Result<RewriteResult> {
    let Op::Unary(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let x = p.input(0)?;
    if op.function == UnaryOp::Relu {
        return p.maximum(x, 0.0).map(RewriteResult::one);
    }
    let build: fn(&mut Patch, Value) -> Result<Value> = match op.function {
        UnaryOp::HSigmoid => h_sigmoid,
        UnaryOp::HSwish => |p, x| {
            let gate = h_sigmoid(p, x)?;
            p.multiply(x, gate)
        },
        UnaryOp::Mish => |p, x| {
            let plus = p.softplus(x)?;
            let bend = p.tanh(plus)?;
            p.multiply(x, bend)
        },
        UnaryOp::SoftSign => |p, x| {
            let size = p.abs(x)?;
            let divisor = p.add(size, 1.0)?;
            p.divide(x, divisor)
        },
        _ => return Ok(RewriteResult::NoMatch),
    };
    if is_integer(p)? {
        return Ok(RewriteResult::NoMatch);
    }
    in_f32(p, &[x], |p, inputs| build(p, inputs[0]))
}

/// Computes `clamp(x / 6 + 1/2, 0, 1)`.
fn h_sigmoid(p: &mut Patch, x: Value) -> Result<Value> {
    let scaled = p.multiply(x, 1.0 / 6.0)?;
    let moved = p.add(scaled, 0.5)?;
    p.clamp(moved, 0.0, 1.0)
}

/// The scalar parameter at input `i`, in the element type of `like`. If the value is known, it is mapped by
/// `meaning` and becomes a constant.
fn parameter(p: &mut Patch, i: usize, like: Value, meaning: fn(f64) -> f64) -> Result<Value> {
    let value = p.input(i)?;
    let known = p.fact(value)?.as_tensor().and_then(|tensor| tensor.to_f64_vec().ok()?.first().copied());
    match known {
        Some(given) => p.scalar_like(like, meaning(given)),
        None => {
            let element_type = p.element_type(like)?;
            p.convert(value, element_type)
        }
    }
}

/// Computes `clamp(alpha * x + beta, 0, 1)`.
fn hard_sigmoid(p: &mut Patch) -> Result<RewriteResult> {
    let Op::HardSigmoid(_) = p.node().op() else { return Ok(RewriteResult::NoMatch) };
    let x = p.input(0)?;
    in_f32(p, &[x], |p, inputs| {
        let (alpha, beta) =
            (parameter(p, 1, inputs[0], HardSigmoid::alpha)?, parameter(p, 2, inputs[0], HardSigmoid::beta)?);
        let scaled = p.multiply(inputs[0], alpha)?;
        let moved = p.add(scaled, beta)?;
        p.clamp(moved, 0.0, 1.0)
    })
}

/// Computes `lambda * x`; for negative `x`, `lambda * alpha * (e^x - 1)`.
fn selu(p: &mut Patch) -> Result<RewriteResult> {
    let Op::Selu(_) = p.node().op() else { return Ok(RewriteResult::NoMatch) };
    let x = p.input(0)?;
    in_f32(p, &[x], |p, inputs| {
        let x = inputs[0];
        let (alpha, lambda) = (parameter(p, 1, x, Selu::alpha)?, parameter(p, 2, x, Selu::lambda)?);
        let powers = p.add_op(Elu { alpha: 1.0 }, &[x])?;
        let below = p.multiply(powers, alpha)?;
        let is_above = p.greater(x, 0.0)?;
        let y = p.select(is_above, x, below)?;
        p.multiply(y, lambda)
    })
}

/// Computes `x * sigmoid(beta * x)`.
fn swish(p: &mut Patch) -> Result<RewriteResult> {
    let Op::Swish(_) = p.node().op() else { return Ok(RewriteResult::NoMatch) };
    let x = p.input(0)?;
    let scaled = match p.try_input(1) {
        Some(beta) => p.multiply(x, beta)?,
        None => x,
    };
    let gate = p.sigmoid(scaled)?;
    p.multiply(x, gate).map(RewriteResult::one)
}

/// Computes `slope * x` for negative `x`, and `x` otherwise. A 1-D slope has one element per channel.
fn prelu(p: &mut Patch) -> Result<RewriteResult> {
    let Op::PRelu(_) = p.node().op() else { return Ok(RewriteResult::NoMatch) };
    let (x, slope) = (p.input(0)?, p.input(1)?);
    let (rank, element_type) = (p.rank(x)?, p.element_type(x)?);
    // In old files, the slope and the data may have different types.
    let mut slope = p.convert(slope, element_type)?;
    if PRelu::is_by_channel(p.graph().symbols(), &p.fact(x)?.shape, &p.fact(slope)?.shape)? {
        slope = per_channel(p, slope, rank)?;
    }
    let below = p.multiply(x, slope)?;
    let is_below = p.less(x, 0.0)?;
    p.select(is_below, below, x).map(RewriteResult::one)
}
