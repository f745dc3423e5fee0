//! Interpolation as matrix multiplications: along each axis, an output is a weighted sum of inputs.
//!
//! If the sizes are known, the weights are constants. For the filters of the Pillow library, the weights can
//! also be computed at run time from dynamic sizes.

use snick_ir::ops::nn::interpolate::{Interpolate, Mode};
use snick_ir::ops::{MatMul, Round};
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, OpError, ResizeTarget, Value};
use snick_tensor::{ElementType, Tensor};

use super::helpers::{Result, at_run_time};

pub(crate) const RULE: Rule = Rule::exact("decompose-interpolate", interpolate).may_round_within(1e-5, 1e-5);

fn interpolate(p: &mut Patch) -> Result<RewriteResult> {
    let Op::Interpolate(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let (x, own) = (p.input(0)?, p.element_type(p.input(0)?)?);
    if op.is_padded() {
        return padded(p, &op, x);
    }
    let is_pillow = matches!(op.mode, Mode::BilinearPillow | Mode::BicubicPillow);
    if own.is_integer() && !is_pillow && op.mode != Mode::Nearest {
        return of_integers(p, &op, x);
    }
    let dims = p.fact(x)?.shape.as_static();
    let rest: Vec<Option<Tensor>> = (1..p.inputs_of(p.output(0))?.len())
        .map(|i| Ok(p.fact(p.input(i)?)?.as_tensor().map(|tensor| (**tensor).clone())))
        .collect::<Result<_>>()?;
    let known = match dims {
        Some(dims) => op.weights(&dims, &rest).map_err(|error| error.to_string()),
        None => Ok(None),
    };
    let mut steps = match known {
        Err(reason) => return Ok(RewriteResult::Declined(reason)),
        Ok(Some(known)) => {
            let constant = |(axis, weights)| -> Result<_> { Ok((axis, step_of(p, weights, own)?)) };
            known.into_iter().map(constant).collect::<Result<Vec<_>>>()?
        }
        Ok(None) if is_pillow => match pillow_steps(p, &op, x)? {
            Some(steps) => steps,
            None => return Ok(at_run_time("the axes or the scales of an interpolation")),
        },
        Ok(None) => return at_run_sizes(p, &op, x),
    };
    if is_pillow {
        // Pillow resizes the last axis first, and rounds to integers after each axis.
        steps.reverse();
    }
    let computed = if own == ElementType::F64 { own } else { ElementType::F32 };
    let is_moved = steps.iter().all(|(_, step)| matches!(step, Step::Pick(_)));
    let mut y = if is_moved { x } else { p.convert(x, computed)? };
    for (axis, step) in steps {
        y = match step {
            Step::Pick(places) => p.gather(y, places, axis as i64)?,
            Step::Sum(weights) => {
                let weights = p.convert(weights, computed)?;
                let sums = sums(p, y, axis, weights)?;
                stored(p, sums, own)?
            }
        };
    }
    p.convert(y, own).map(RewriteResult::one)
}

/// For sizes that are only known at run time, adds layers that compute the coordinates, and from these the
/// weights or indices.
fn at_run_sizes(p: &mut Patch, op: &Interpolate, x: Value) -> Result<RewriteResult> {
    let Some(sampling) = op.resampling(p.rank(x)?) else {
        return Ok(at_run_time("the sizes of an interpolation by a filter"));
    };
    let Some(axes) = distinct_axes(p, op, x)? else {
        return Ok(at_run_time("the axes of an interpolation"));
    };
    let own = p.element_type(x)?;
    let is_computed = op.mode != Mode::Nearest && own != ElementType::F64;
    let mut y = if is_computed { p.convert(x, ElementType::F32)? } else { x };
    let target = p.input(op.ports().0)?;
    let target = p.reshape(target, &[-1])?;
    for (i, &axis) in (0_i64..).zip(&axes) {
        let entry = p.slice8(target, &[i], &[i + 1], &[1], &[0])?;
        let entry = p.to_scalar(entry)?;
        let target = match op.by_scales() {
            true => ResizeTarget::Scale(p.convert(entry, ElementType::F32)?),
            false => ResizeTarget::Size(entry),
        };
        y = sampling.resize(p, y, axis, target, None)?;
    }
    p.convert(y, own).map(RewriteResult::one)
}

/// The resized axes, if they are known and distinct.
fn distinct_axes(p: &Patch, op: &Interpolate, x: Value) -> Result<Option<Vec<usize>>> {
    let listed = match op.ports().1.and_then(|port| p.try_input(port)) {
        None => None,
        Some(axes) => match p.fact(axes)?.ints() {
            None => return Ok(None),
            Some(axes) => Some(axes.to_vec()),
        },
    };
    let axes = op.resized_axes(listed.as_deref(), p.rank(x)?)?;
    let is_twice = (1..axes.len()).any(|i| axes[..i].contains(&axes[i]));
    Ok((!is_twice).then(|| axes.to_vec()))
}

/// How all outputs along one axis are computed.
enum Step {
    /// Gathers the inputs at these indices.
    Pick(Value),
    /// Multiplies by a matrix of weights, `[output, input]`.
    Sum(Value),
}

/// Chooses a gather if each output equals a single input and the element type does not change.
fn step_of(p: &mut Patch, weights: Tensor, own: ElementType) -> Result<Step> {
    let columns = weights.dims().last().copied().unwrap_or(1).max(1);
    let numbers = weights.to_f32_vec()?;
    let place = |row: &[f32]| match row.iter().filter(|&&w| w != 0.0).count() {
        1 => row.iter().position(|&w| w == 1.0).map(|place| place as i64),
        _ => None,
    };
    let places: Option<Vec<i64>> = numbers.chunks(columns).map(place).collect();
    match places {
        Some(places) => p.ints(&places).map(Step::Pick),
        None if own == ElementType::Boolean => Err(OpError::unsupported("sums of booleans")),
        None => p.constant(weights).map(Step::Sum),
    }
}

/// Turns the padding into a separate Pad with zeros before the interpolation.
fn padded(p: &mut Patch, op: &Interpolate, x: Value) -> Result<RewriteResult> {
    if !op.since.at_least(4) {
        // In Interpolate-1, the positions of outputs depend on whether there is padding.
        return Ok(RewriteResult::Declined("padding before an interpolation".into()));
    }
    let rank = p.rank(x)?;
    let pads = |list: &[i64]| (0..rank).map(|axis| list.get(axis).copied().unwrap_or(0)).collect::<Vec<_>>();
    let (begin, end) = (pads(&op.pads_begin), pads(&op.pads_end));
    let zero = p.scalar_like(x, 0.0)?;
    let wide = p.pad(x, &begin, &end, zero)?;
    let op = Interpolate { pads_begin: Default::default(), pads_end: Default::default(), ..op.clone() };
    let mut inputs = p.inputs_of(p.output(0))?.to_vec();
    inputs[0] = wide;
    p.add_op(Op::Interpolate(Box::new(op)), &inputs).map(RewriteResult::one)
}

/// Interpolates integers in f32, and rounds the result.
fn of_integers(p: &mut Patch, op: &Interpolate, x: Value) -> Result<RewriteResult> {
    let own = p.element_type(x)?;
    if op.mode == Mode::Linear && p.rank(x)? > 4 {
        return Ok(RewriteResult::Declined("linear interpolation between integers of five axes".into()));
    }
    let mut inputs = p.inputs_of(p.output(0))?.to_vec();
    inputs[0] = p.convert(x, ElementType::F32)?;
    let y = p.add_op(Op::Interpolate(Box::new(op.clone())), &inputs)?;
    let y = stored(p, y, own)?;
    p.convert(y, own).map(RewriteResult::one)
}

/// Rounds half to even and clamps to the range of an integer type.
fn stored(p: &mut Patch, x: Value, own: ElementType) -> Result<Value> {
    let Some((low, high)) = own.integer_range() else { return Ok(x) };
    let rounded = p.add_op(Round::default(), &[x])?;
    p.clamp(rounded, low as f64, high as f64)
}

/// Moves an axis to the second-last position and multiplies by the matrix.
fn sums(p: &mut Patch, x: Value, axis: usize, weights: Value) -> Result<Value> {
    let rank = p.rank(x)?;
    if axis + 1 == rank {
        return p.add_op(MatMul { transpose_a: false, transpose_b: true }, &[x, weights]);
    }
    let mut order: Vec<i64> = (0..rank as i64).collect();
    order.swap(axis, rank - 2);
    let is_beside = axis + 2 == rank;
    let beside = if is_beside { x } else { p.transpose(x, &order)? };
    let sums = p.matmul(weights, beside)?;
    if is_beside { Ok(sums) } else { p.transpose(sums, &order) }
}

/// The weights of Pillow's filters for dynamic sizes; `None` if the axes are unknown or scales are given
/// instead of sizes.
fn pillow_steps(p: &mut Patch, op: &Interpolate, x: Value) -> Result<Option<Vec<(usize, Step)>>> {
    let Some(axes) = distinct_axes(p, op, x)?.filter(|_| !op.by_scales()) else { return Ok(None) };
    let sizes = p.input(op.ports().0)?;
    let sizes = p.reshape(sizes, &[-1])?;
    let mut steps = Vec::with_capacity(axes.len());
    for (i, &axis) in (0_i64..).zip(&axes) {
        let size = p.slice8(sizes, &[i], &[i + 1], &[1], &[0])?;
        let size = p.convert(size, ElementType::I64)?;
        let own = p.size_of(x, axis as i64)?;
        steps.push((axis, Step::Sum(pillow(p, op.mode, own, size)?)));
    }
    Ok(Some(steps))
}

/// The weights `[output, input]` of a filter. If the axis shrinks, the filter is widened by the ratio of the
/// sizes.
fn pillow(p: &mut Patch, mode: Mode, input: Value, output: Value) -> Result<Value> {
    let [rows, columns] = [p.count_to(output)?, p.count_to(input)?];
    let mut floats = [rows, columns, input, output];
    for value in &mut floats {
        *value = p.convert(*value, ElementType::F32)?;
    }
    let [rows, columns, input, output] = floats;
    let scale = p.divide(output, input)?;
    let one = p.scalar(ElementType::F32, 1.0)?;
    let step = p.divide(one, scale)?;
    let stretch = p.maximum(step, 1.0)?;
    let middle = p.add(rows, 0.5)?;
    let middle = p.divide(middle, scale)?;
    let middle = p.unsqueeze(middle, &[-1])?;
    let offset = p.subtract(columns, middle)?;
    let offset = p.add(offset, 0.5)?;
    let offset = p.divide(offset, stretch)?;
    let distance = p.abs(offset)?;
    let weights = match mode {
        Mode::BicubicPillow => cubic(p, distance)?,
        _ => {
            let negative = p.multiply(distance, -1.0)?;
            let rest = p.add(negative, 1.0)?;
            p.maximum(rest, 0.0)?
        }
    };
    let sum = p.reduce_sum(weights, &[-1], true)?;
    p.divide(weights, sum)
}

/// The cubic convolution kernel with slope -0.5, which is the only one in Pillow.
fn cubic(p: &mut Patch, distance: Value) -> Result<Value> {
    const A: f64 = -0.5;
    let near = polynomial(p, distance, &[A + 2.0, -(A + 3.0), 0.0, 1.0])?;
    let far = polynomial(p, distance, &[A, -5.0 * A, 8.0 * A, -4.0 * A])?;
    let (is_near, is_far) = (p.less(distance, 1.0)?, p.less(distance, 2.0)?);
    let zero = p.scalar_like(distance, 0.0)?;
    let outside = p.select(is_far, far, zero)?;
    p.select(is_near, near, outside)
}

/// Evaluates a polynomial whose coefficients start with the highest power.
fn polynomial(p: &mut Patch, x: Value, coefficients: &[f64]) -> Result<Value> {
    let mut value = p.scalar_like(x, 0.0)?;
    for &coefficient in coefficients {
        value = p.multiply(value, x)?;
        value = p.add(value, coefficient)?;
    }
    Ok(value)
}
