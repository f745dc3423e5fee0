//! Values brought to a scale: softmax and the normalisations.

use snick_ir::ops::nn::normalize_l2::SquaresEps;
use snick_ir::{Op, OpError};
use snick_tensor::kernels::EpsMode;

use super::emitter::{Emitter, Operand, Result};
use super::reduction::{axes, maximum, mean, sum};
use super::table::EmitRule::{self, Custom};
use super::types::fixed;
use super::window::{Window, slide};

pub(super) const RULES: &[(&str, EmitRule)] = &[
    ("BatchNormInference", Custom(batch_norm)),
    ("GRN", Custom(grn)),
    ("GroupNormalization", Custom(group_normalization)),
    ("LRN", Custom(lrn)),
    ("LogSoftmax", Custom(|e| softmax(e, true))),
    ("MVN", Custom(mvn)),
    ("NormalizeL2", Custom(normalize_l2)),
    ("SoftMax", Custom(|e| softmax(e, false))),
];

/// What fell away along `axes`, repeated along them to the sizes of `like`.
fn back(e: &mut Emitter, x: &Operand, axes: &[usize], like: &Operand) -> Result<Operand> {
    let kept: Vec<usize> = (0..like.ty.rank()).filter(|axis| !axes.contains(axis)).collect();
    e.spread(x, &kept, &like.ty.dims)
}

fn softmax(e: &mut Emitter, log: bool) -> Result {
    let x = e.input(0)?;
    let axis = snick_ir::normalize_axis(e.int("axis")?, x.ty.rank())?;
    let y = softmax_over(e, &x, axis, log)?;
    e.give(0, y)
}

/// `exp(x - max)` over its sum, or the logarithm of that.
pub(super) fn softmax_over(e: &mut Emitter, x: &Operand, axis: usize, log: bool) -> Result<Operand> {
    let top = maximum(e, x, &[axis])?;
    let top = back(e, &top, &[axis], x)?;
    let below = e.same("stablehlo.subtract", &[x, &top]);
    let grown = e.same("stablehlo.exponential", &[&below]);
    let all = sum(e, &grown, &[axis])?;
    if log {
        let all = e.same("stablehlo.log", &[&all]);
        let all = back(e, &all, &[axis], x)?;
        return Ok(e.same("stablehlo.subtract", &[&below, &all]));
    }
    let all = back(e, &all, &[axis], x)?;
    Ok(e.same("stablehlo.divide", &[&grown, &all]))
}

/// `x` without its mean along axes, and its variance along them, which fell away.
fn centred(e: &mut Emitter, x: &Operand, axes: &[usize]) -> Result<(Operand, Operand), OpError> {
    let middle = mean(e, x, axes)?;
    let middle = back(e, &middle, axes, x)?;
    let centred = e.same("stablehlo.subtract", &[x, &middle]);
    let squares = e.same("stablehlo.multiply", &[&centred, &centred]);
    let variance = mean(e, &squares, axes)?;
    Ok((centred, variance))
}

fn mvn(e: &mut Emitter) -> Result {
    let Op::Mvn(op) = &e.node.op else { return Err(OpError::unsupported("this normalisation")) };
    let op = op.clone();
    let x = e.input(0)?;
    let rank = x.ty.rank();
    let axes = match op.has_axes_input() {
        true => axes(e, 1, rank)?,
        false => op.attribute_axes(rank)?.to_vec(),
    };
    let (centred, variance) = centred(e, &x, &axes)?;
    if !op.normalize_variance {
        return e.give(0, centred);
    }
    let eps = e.full(op.eps, &variance.ty)?;
    let deviation = if op.eps_mode == EpsMode::InsideSqrt {
        let raised = e.same("stablehlo.add", &[&variance, &eps]);
        e.same("stablehlo.sqrt", &[&raised])
    } else {
        let root = e.same("stablehlo.sqrt", &[&variance]);
        e.same("stablehlo.add", &[&root, &eps])
    };
    let deviation = back(e, &deviation, &axes, &x)?;
    let y = e.same("stablehlo.divide", &[&centred, &deviation]);
    e.give(0, y)
}

/// `(x - mean) / sqrt(variance + epsilon) * gamma + beta`, a number of each a channel.
fn batch_norm(e: &mut Emitter) -> Result {
    let Op::BatchNormInference(op) = &e.node.op else {
        return Err(OpError::unsupported("this normalisation"));
    };
    let (epsilon, [x, gamma, beta, middle, variance]) = (op.epsilon, op.order());
    let (x, gamma, beta) = (e.input(x)?, e.input(gamma)?, e.input(beta)?);
    let (middle, variance) = (e.input(middle)?, e.input(variance)?);
    let epsilon = e.full(epsilon, &variance.ty)?;
    let raised = e.same("stablehlo.add", &[&variance, &epsilon]);
    let root = e.same("stablehlo.sqrt", &[&raised]);
    let scale = e.same("stablehlo.divide", &[&gamma, &root]);
    let mut of_channels = |one: &Operand| e.spread(one, &[1], &x.ty.dims);
    let (middle, scale, beta) = (of_channels(&middle)?, of_channels(&scale)?, of_channels(&beta)?);
    let centred = e.same("stablehlo.subtract", &[&x, &middle]);
    let scaled = e.same("stablehlo.multiply", &[&centred, &scale]);
    let y = e.same("stablehlo.add", &[&scaled, &beta]);
    e.give(0, y)
}

fn group_normalization(e: &mut Emitter) -> Result {
    let (groups, epsilon) = (e.int("num_groups")?, e.float("epsilon")?);
    let (x, scale, bias) = (e.input(0)?, e.input(1)?, e.input(2)?);
    let [batch, channels, rest @ ..] = x.ty.dims.as_slice() else {
        return Err(OpError::rank("the data", x.ty.rank(), "2 or more"));
    };
    let own = fixed(channels)? as i64;
    let of_group = own.checked_rem(groups).filter(|&rest| rest == 0).map(|_| own / groups);
    let of_group =
        of_group.ok_or_else(|| OpError::mismatch("num_groups", groups, "a divisor of the channels"))?;
    let grouped = e.reshape(&x, [&[batch.clone(), groups.into(), of_group.into()], rest].concat())?;
    let axes: Vec<usize> = (2..grouped.ty.rank()).collect();
    let (centred, variance) = centred(e, &grouped, &axes)?;
    let epsilon = e.full(epsilon, &variance.ty)?;
    let raised = e.same("stablehlo.add", &[&variance, &epsilon]);
    let deviation = e.same("stablehlo.sqrt", &[&raised]);
    let deviation = back(e, &deviation, &axes, &grouped)?;
    let even = e.same("stablehlo.divide", &[&centred, &deviation]);
    let even = e.reshape(&even, &x.ty.dims)?;
    let (scale, bias) = (e.spread(&scale, &[1], &x.ty.dims)?, e.spread(&bias, &[1], &x.ty.dims)?);
    let scaled = e.same("stablehlo.multiply", &[&even, &scale]);
    let y = e.same("stablehlo.add", &[&scaled, &bias]);
    e.give(0, y)
}

/// `x / sqrt(sum of squares over channels + bias)`
fn grn(e: &mut Emitter) -> Result {
    let bias = e.float("bias")?;
    let x = e.input(0)?;
    let squares = e.same("stablehlo.multiply", &[&x, &x]);
    let all = sum(e, &squares, &[1])?;
    let bias = e.full(bias, &all.ty)?;
    let raised = e.same("stablehlo.add", &[&all, &bias]);
    let root = e.same("stablehlo.sqrt", &[&raised]);
    let root = back(e, &root, &[1], &x)?;
    let y = e.same("stablehlo.divide", &[&x, &root]);
    e.give(0, y)
}

fn normalize_l2(e: &mut Emitter) -> Result {
    let Op::NormalizeL2(op) = &e.node.op else { return Err(OpError::unsupported("this normalisation")) };
    let (eps, is_least) = (op.eps, op.eps_mode == SquaresEps::Max);
    let x = e.input(0)?;
    let axes = axes(e, 1, x.ty.rank())?;
    let squares = e.same("stablehlo.multiply", &[&x, &x]);
    let all = sum(e, &squares, &axes)?;
    let eps = e.full(eps, &all.ty)?;
    let raised = e.same(if is_least { "stablehlo.maximum" } else { "stablehlo.add" }, &[&all, &eps]);
    let root = e.same("stablehlo.sqrt", &[&raised]);
    let root = back(e, &root, &axes, &x)?;
    let y = e.same("stablehlo.divide", &[&x, &root]);
    e.give(0, y)
}

/// `x / (bias + alpha / size^axes * sum of squares)^beta` over a window of about `size` along each of the axes: as many
/// elements on either side.
fn lrn(e: &mut Emitter) -> Result {
    let (alpha, beta, bias, size) = (e.float("alpha")?, e.float("beta")?, e.float("bias")?, e.int("size")?);
    let x = e.input(0)?;
    let axes = axes(e, 1, x.ty.rank())?;
    let side = (size - 1).max(0) / 2;
    let reach = usize::try_from(2 * side + 1).map_err(|_| OpError::out_of_range("size", size, "smaller"))?;
    let mut window = Window::single(x.ty.rank());
    for &axis in &axes {
        window.sizes[axis] = reach;
        window.padding[axis] = [side, side];
    }
    let squares = e.same("stablehlo.multiply", &[&x, &x]);
    let all = slide(e, &squares, &window, "add", 0.0, &x.ty.dims)?;
    let count = (size as f64).powi(i32::try_from(axes.len()).unwrap_or(i32::MAX));
    let (share, bias, beta) = (e.full(alpha / count, &x.ty)?, e.full(bias, &x.ty)?, e.full(beta, &x.ty)?);
    let scaled = e.same("stablehlo.multiply", &[&share, &all]);
    let raised = e.same("stablehlo.add", &[&bias, &scaled]);
    let divisor = e.same("stablehlo.power", &[&raised, &beta]);
    let y = e.same("stablehlo.divide", &[&x, &divisor]);
    e.give(0, y)
}
