//! Normalisations and softmax.

use snick_ir::ops::nn::normalize_l2::SquaresEps;
use snick_ir::ops::nn::pool::PoolWindow;
use snick_ir::ops::nn::window::{Numbers, Rounding, Sliding};
use snick_ir::ops::{AvgPool, Mvn, ReduceMean, ReduceSum, Reshape};
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, OpError, Since, Value};
use snick_tensor::kernels::EpsMode;

use super::helpers::{Result, all_inputs, at_run_time, in_f32, known_axes, per_channel, reshape_like};

pub(crate) const BATCH_NORM: Rule =
    Rule::exact("decompose-batch-norm", batch_norm).may_round_within(1e-5, 0.0);
pub(crate) const GRN: Rule = Rule::exact("decompose-grn", grn).may_round_within(1e-5, 0.0);
pub(crate) const GROUP_NORMALIZATION: Rule =
    Rule::exact("decompose-group-normalization", group_normalization).may_round_within(1e-5, 0.0);
pub(crate) const LRN: Rule = Rule::exact("decompose-lrn", lrn).may_round_within(1e-5, 0.0);
pub(crate) const MVN: Rule = Rule::exact("decompose-mvn", mvn).may_round_within(1e-5, 0.0);
pub(crate) const NORMALIZE_L2: Rule =
    Rule::exact("decompose-normalize-l2", normalize_l2).may_round_within(1e-5, 0.0);
pub(crate) const SOFTMAX: Rule = Rule::exact("decompose-softmax", softmax).may_round_within(1e-5, 0.0);

fn mean(p: &mut Patch, x: Value, axes: Value) -> Result<Value> {
    p.add_op(ReduceMean { keep_dims: true }, &[x, axes])
}

fn sum_of_squares(p: &mut Patch, x: Value, axes: Value) -> Result<Value> {
    let squares = p.multiply(x, x)?;
    p.add_op(ReduceSum { keep_dims: true }, &[squares, axes])
}

/// Computes `(x - mean) / sqrt(variance + eps)`, or `(x - mean) / (sqrt(variance) + eps)`.
fn mvn(p: &mut Patch) -> Result<RewriteResult> {
    let Op::Mvn(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let x = p.input(0)?;
    let axes = match op.has_axes_input() {
        true => p.input(1)?,
        false => {
            let axes = op.attribute_axes(p.rank(x)?)?;
            p.ints(&axes.iter().map(|&axis| axis as i64).collect::<Vec<_>>())?
        }
    };
    in_f32(p, &[x], |p, inputs| {
        let mean_of_x = mean(p, inputs[0], axes)?;
        let centred = p.subtract(inputs[0], mean_of_x)?;
        if !op.normalize_variance {
            return Ok(centred);
        }
        let squares = p.multiply(centred, centred)?;
        let variance = mean(p, squares, axes)?;
        let deviation = if op.eps_mode == EpsMode::InsideSqrt {
            let raised = p.add(variance, op.eps)?;
            p.sqrt(raised)?
        } else {
            let root = p.sqrt(variance)?;
            p.add(root, op.eps)?
        };
        p.divide(centred, deviation)
    })
}

/// Reshapes the channel groups of each sample to rows, normalises the rows with an MVN, then scales and
/// shifts.
fn group_normalization(p: &mut Patch) -> Result<RewriteResult> {
    let Op::GroupNormalization(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let rank = p.rank(p.input(0)?)?;
    let inputs = all_inputs(p)?;
    in_f32(p, &inputs, |p, inputs| {
        let &[x, scale, bias] = inputs else { return Err(OpError::NotConnected { port: 2 }) };
        let sizes = p.ints(&[0, op.num_groups, -1])?;
        let grouped = p.add_op(Reshape { special_zero: true }, &[x, sizes])?;
        let axes = p.ints(&[2])?;
        let op = Mvn { normalize_variance: true, eps: op.epsilon, ..Mvn::default() };
        let even = p.add_op(op, &[grouped, axes])?;
        let even = reshape_like(p, even, x)?;
        let (scale, bias) = (per_channel(p, scale, rank)?, per_channel(p, bias, rank)?);
        let scaled = p.multiply(even, scale)?;
        p.add(scaled, bias)
    })
}

/// Computes `(x - mean) / sqrt(variance + epsilon) * gamma + beta`. Each parameter is a vector with one
/// number per channel.
fn batch_norm(p: &mut Patch) -> Result<RewriteResult> {
    let Op::BatchNormInference(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let inputs = all_inputs(p)?;
    let rank = p.rank(p.input(op.order()[0])?)?;
    in_f32(p, &inputs, |p, inputs| {
        let [x, gamma, beta, mean, variance] = op.order().map(|i| inputs[i]);
        let raised = p.add(variance, op.epsilon)?;
        let deviation = p.sqrt(raised)?;
        let scale = p.divide(gamma, deviation)?;
        let mean = per_channel(p, mean, rank)?;
        let (scale, beta) = (per_channel(p, scale, rank)?, per_channel(p, beta, rank)?);
        let centred = p.subtract(x, mean)?;
        let scaled = p.multiply(centred, scale)?;
        p.add(scaled, beta)
    })
}

/// Computes `x / sqrt(sum of squares over channels + bias)`.
fn grn(p: &mut Patch) -> Result<RewriteResult> {
    let Op::Grn(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let x = p.input(0)?;
    in_f32(p, &[x], |p, inputs| {
        let axes = p.ints(&[1])?;
        let sum = sum_of_squares(p, inputs[0], axes)?;
        let raised = p.add(sum, op.bias)?;
        let root = p.sqrt(raised)?;
        p.divide(inputs[0], root)
    })
}

/// Computes `x / sqrt(sum of squares + eps)`, or with the sum clamped to at least `eps` instead.
fn normalize_l2(p: &mut Patch) -> Result<RewriteResult> {
    let Op::NormalizeL2(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let (x, axes) = (p.input(0)?, p.input(1)?);
    in_f32(p, &[x], |p, inputs| {
        let sum = sum_of_squares(p, inputs[0], axes)?;
        let raised = match op.eps_mode {
            SquaresEps::Add => p.add(sum, op.eps)?,
            SquaresEps::Max => p.maximum(sum, op.eps)?,
        };
        let root = p.sqrt(raised)?;
        p.divide(inputs[0], root)
    })
}

/// Maximum number of elements on each side of the centre of a window.
const MAX_SIDE: i64 = 1 << 20;

/// Computes `x / (bias + alpha / size^axes * sum of squares)^beta` over a symmetric window. The sum is
/// derived from an average pool that includes padding in its mean.
fn lrn(p: &mut Patch) -> Result<RewriteResult> {
    let Op::Lrn(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let x = p.input(0)?;
    let rank = p.rank(x)?;
    let Some(axes) = known_axes(p, 1, rank)? else { return Ok(at_run_time("the axes")) };
    if axes.starts_with(&[0, 1]) {
        return Ok(RewriteResult::Declined("a window over batch and channels".into()));
    }
    let side = op.size.saturating_sub(1).max(0) / 2;
    if side > MAX_SIDE {
        return Ok(RewriteResult::Declined("a window of this size".into()));
    }
    let share = (2 * side + 1) as f64 / op.size as f64;
    let alpha = op.alpha * share.powi(i32::try_from(axes.len()).unwrap_or(i32::MAX));
    in_f32(p, &[x], |p, inputs| {
        let squares = p.multiply(inputs[0], inputs[0])?;
        let mean = match axes.first() {
            None => squares,
            // Moves the batch axis to the end, because a pool cannot have a window over it.
            Some(0) => {
                let (last, back): (Vec<i64>, Vec<i64>) = rotations(rank);
                let rotated = p.transpose(squares, &last)?;
                let axes: Vec<usize> = axes.iter().map(|axis| (axis + rank - 1) % rank).collect();
                let mean = window_mean(p, rotated, &axes, side, rank)?;
                p.transpose(mean, &back)?
            }
            Some(_) => window_mean(p, squares, &axes, side, rank)?,
        };
        let scaled = p.multiply(mean, alpha)?;
        let raised = p.add(scaled, op.bias)?;
        let divisor = p.power(raised, op.beta)?;
        p.divide(inputs[0], divisor)
    })
}

/// The permutation that moves the first axis to the end, and its inverse.
fn rotations(rank: usize) -> (Vec<i64>, Vec<i64>) {
    let mut last: Vec<i64> = (0..rank as i64).collect();
    let mut back = last.clone();
    last.rotate_left(1.min(rank));
    back.rotate_right(1.min(rank));
    (last, back)
}

/// The mean over a window with `side` elements on each side of the centre, along each of `axes`, which must
/// not include the first axis.
fn window_mean(p: &mut Patch, x: Value, axes: &[usize], side: i64, rank: usize) -> Result<Value> {
    let reach = |axis: usize| if axes.contains(&axis) { side } else { 0 };
    // Makes the channels a spatial axis, by inserting an axis of size 1 before it.
    let lifts = axes.contains(&1);
    let pads: Numbers = (if lifts { 1 } else { 2 }..rank).map(reach).collect();
    let sliding = Sliding {
        strides: pads.iter().map(|_| 1).collect(),
        pads_begin: pads.clone(),
        pads_end: pads.clone(),
        ..Sliding::default()
    };
    let kernel = pads.iter().map(|pad| 2 * pad + 1).collect();
    let window = PoolWindow { kernel, sliding, rounding_type: Rounding::Floor };
    let pool = AvgPool { since: Since(16), window, dilations: Numbers::new(), exclude_pad: false };
    let lifted = if lifts { p.unsqueeze(x, &[1])? } else { x };
    let mean = p.add_op(Box::new(pool), &[lifted])?;
    if lifts { p.squeeze(mean, &[1]) } else { Ok(mean) }
}

/// Computes `exp(x - max)` divided by its sum, or the logarithm of the result.
fn softmax(p: &mut Patch) -> Result<RewriteResult> {
    let (axis, log) = match p.node().op() {
        Op::LogSoftmax(op) => (op.axis, true),
        Op::Softmax(op) => (op.axis(), false),
        _ => return Ok(RewriteResult::NoMatch),
    };
    let x = p.input(0)?;
    in_f32(p, &[x], |p, inputs| {
        let top = p.reduce_max(inputs[0], &[axis], true)?;
        let below = p.subtract(inputs[0], top)?;
        let powers = p.exp(below)?;
        let sum = p.reduce_sum(powers, &[axis], true)?;
        if !log {
            return p.divide(powers, sum);
        }
        let log = p.log(sum)?;
        p.subtract(below, log)
    })
}
