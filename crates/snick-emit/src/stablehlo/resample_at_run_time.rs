//! Interpolation for sizes that are known only at run time: computes the positions along each axis, and
//! gathers the elements there.

use snick_ir::ops::Interpolate;
use snick_ir::ops::nn::scale::Scale;
use snick_ir::{CoordinateTransformation, OpError, Resampling, ResizeKernel};
use snick_shape::SymExpr;
use snick_tensor::ElementType;
use snick_tensor::kernels::Nearest;

use super::emitter::{Emitter, Operand, Result};
use super::lookup::{along, column};

/// An axis, with its sizes and its scale as f32 vectors of the output size.
struct Axis {
    axis: usize,
    input: Operand,
    output: Operand,
    scale: Operand,
    /// The number of elements before the last one, as an i64 vector.
    last: Operand,
}

pub(super) fn interpolate(e: &mut Emitter, op: &Interpolate, x: &Operand) -> Result {
    let unknown = || OpError::unsupported("an interpolation whose sizes are known only at run time");
    let sampling = op.resampling(x.ty.rank()).filter(|_| !op.is_padded()).ok_or_else(unknown)?;
    let (target, axes) = op.ports();
    let axes = match axes.filter(|&port| port < e.len()) {
        Some(port) => Some(e.fixed(port, "the axes of an interpolation")?),
        None => None,
    };
    let axes = op.resized_axes(axes.as_deref(), x.ty.rank())?;
    let target = e.input(target)?;
    let dims = e.output(0)?.dims;
    let is_moved = matches!(sampling.kernel, ResizeKernel::Nearest(_));
    let computed = if is_moved || x.ty.element == ElementType::F64 { x.ty.element } else { ElementType::F32 };
    let mut y = e.convert(x, computed);
    for (i, &axis) in axes.iter().enumerate() {
        if y.ty.dims[axis] != dims[axis] {
            let entry = e.part(&target, 0, &(i as i64).into(), 1.into())?;
            let entry = e.reshape(&entry, &[])?;
            let axis = sizes(e, &y, axis, &dims[axis], &entry, op.by_scales())?;
            y = resized(e, &sampling, &y, &axis)?;
        }
    }
    let y = e.convert(&y, x.ty.element);
    e.give(0, y)
}

/// The sizes of an axis. `entry` is the new size, or the scale if `by_scale` is true.
fn sizes(
    e: &mut Emitter,
    x: &Operand,
    axis: usize,
    to: &SymExpr,
    entry: &Operand,
    by_scale: bool,
) -> Result<Axis> {
    if e.function.sizes_from_data && !e.function.knows(to) {
        let size = match by_scale {
            true => scaled(e, &x.ty.dims[axis], entry)?,
            false => e.index(entry)?,
        };
        e.function.learn(to, &size);
    }
    let line = x.ty.sized(vec![to.clone()]).with(ElementType::F32);
    let vector = |e: &mut Emitter, size: &SymExpr| {
        let size = e.number(size)?;
        e.spread(&size, &[], &line.dims)
    };
    let (own, to) = (vector(e, &x.ty.dims[axis])?, vector(e, to)?);
    let one = e.full(1.0, &own.ty)?;
    let last = e.same("subtract", &[&own, &one]);
    let (input, output) = (e.convert(&own, ElementType::F32), e.convert(&to, ElementType::F32));
    let scale = match by_scale {
        true => {
            let scale = e.convert(entry, ElementType::F32);
            e.spread(&scale, &[], &line.dims)?
        }
        false => e.same("divide", &[&output, &input]),
    };
    Ok(Axis { axis, input, output, scale, last })
}

/// A size times a scale, rounded down. A scale just below the exact quotient of two sizes counts as this
/// quotient.
fn scaled(e: &mut Emitter, size: &SymExpr, scale: &Operand) -> Result<Operand> {
    let size = e.number(size)?;
    let size = e.convert(&size, ElementType::F32);
    let scale = e.convert(scale, ElementType::F32);
    let scale = e.plus(&scale, f64::from(Scale::EPSILON))?;
    let exact = e.same("multiply", &[&size, &scale]);
    let whole = e.same("floor", &[&exact]);
    Ok(e.convert(&whole, ElementType::I64))
}

/// The positions of the outputs in the input, in f32 as in runtimes.
fn positions(e: &mut Emitter, how: CoordinateTransformation, of: &Axis) -> Result<Operand> {
    let index = e.iota(0, of.scale.ty.clone())?;
    let middle = |e: &mut Emitter| -> Result<Operand> {
        let middle = e.plus(&index, 0.5)?;
        Ok(e.same("divide", &[&middle, &of.scale]))
    };
    let half_pixel = |e: &mut Emitter| -> Result<Operand> {
        let middle = middle(e)?;
        e.plus(&middle, -0.5)
    };
    let (zero, one) = (e.full(0.0, &of.scale.ty)?, e.full(1.0, &of.scale.ty)?);
    let is_single = e.compare("LE", &of.output, &one);
    let moved = match how {
        CoordinateTransformation::Asymmetric => e.same("divide", &[&index, &of.scale]),
        CoordinateTransformation::TfHalfPixelForNn => middle(e)?,
        CoordinateTransformation::HalfPixel => half_pixel(e)?,
        CoordinateTransformation::PytorchHalfPixel => {
            let moved = half_pixel(e)?;
            e.select(&is_single, &zero, &moved)
        }
        CoordinateTransformation::AlignCorners => {
            let (last, steps) = (e.plus(&of.input, -1.0)?, e.plus(&of.output, -1.0)?);
            let steps = e.same("maximum", &[&steps, &one]);
            let step = e.same("divide", &[&last, &steps]);
            let moved = e.same("multiply", &[&index, &step]);
            e.select(&is_single, &zero, &moved)
        }
        _ => return Err(OpError::unsupported("this coordinate transformation for dynamic sizes")),
    };
    let stays = e.compare("EQ", &of.input, &of.output);
    Ok(e.select(&stays, &index, &moved))
}

fn resized(e: &mut Emitter, sampling: &Resampling, x: &Operand, of: &Axis) -> Result<Operand> {
    let at = positions(e, sampling.transformation, of)?;
    match sampling.kernel {
        ResizeKernel::Nearest(nearest) => {
            let place = rounded(e, &at, nearest, &of.scale)?;
            picked(e, x, of, &place, 0.0)
        }
        ResizeKernel::Linear => {
            let (zero, end) = (e.full(0.0, &at.ty)?, e.plus(&of.input, -1.0)?);
            let at = e.same("maximum", &[&at, &zero]);
            let at = e.same("minimum", &[&at, &end]);
            let low = e.same("floor", &[&at]);
            let part = e.same("subtract", &[&at, &low]);
            let negative = e.same("negate", &[&part]);
            let rest = e.plus(&negative, 1.0)?;
            let near = weighted(e, x, of, &low, 0.0, &rest)?;
            let far = weighted(e, x, of, &low, 1.0, &part)?;
            Ok(e.same("add", &[&near, &far]))
        }
        ResizeKernel::Cubic(a) => cubic(e, x, of, &at, a),
    }
}

/// The sum of four neighbours.
fn cubic(e: &mut Emitter, x: &Operand, of: &Axis, at: &Operand, a: f64) -> Result<Operand> {
    let low = e.same("floor", &[at]);
    let part = e.same("subtract", &[at, &low]);
    let (near, far) = ([a + 2.0, -(a + 3.0), 0.0, 1.0], [a, -5.0 * a, 8.0 * a, -4.0 * a]);
    let mut sum: Option<Operand> = None;
    for (step, coefficients) in [(-1.0, far), (0.0, near), (1.0, near), (2.0, far)] {
        let distance = e.plus(&part, -step)?;
        let distance = e.same("abs", &[&distance]);
        let mut weight = e.full(coefficients[0], &distance.ty)?;
        for &coefficient in &coefficients[1..] {
            let product = e.same("multiply", &[&weight, &distance]);
            weight = e.plus(&product, coefficient)?;
        }
        let term = weighted(e, x, of, &low, step, &weight)?;
        sum = Some(match sum {
            Some(sum) => e.same("add", &[&sum, &term]),
            None => term,
        });
    }
    sum.ok_or(OpError::NotConnected { port: 0 })
}

/// The elements `step` after a place, times a weight for each place.
fn weighted(
    e: &mut Emitter,
    x: &Operand,
    of: &Axis,
    place: &Operand,
    step: f64,
    weight: &Operand,
) -> Result<Operand> {
    let picked = picked(e, x, of, place, step)?;
    let weight = e.convert(weight, picked.ty.element);
    let weight = e.spread(&weight, &[of.axis], &picked.ty.dims)?;
    Ok(e.same("multiply", &[&picked, &weight]))
}

/// The elements `step` after a place. Places outside the axis are moved to its ends.
fn picked(e: &mut Emitter, x: &Operand, of: &Axis, place: &Operand, step: f64) -> Result<Operand> {
    let place = e.convert(place, ElementType::I64);
    let place = if step == 0.0 { place } else { e.plus(&place, step)? };
    let zero = e.full(0.0, &place.ty)?;
    let place = e.same("minimum", &[&place, &of.last]);
    let place = e.same("maximum", &[&place, &zero]);
    let places = column(e, &place)?;
    along(e, x, &places, of.axis)
}

fn rounded(e: &mut Emitter, at: &Operand, how: Nearest, scale: &Operand) -> Result<Operand> {
    Ok(match how {
        Nearest::Floor => e.same("floor", &[at]),
        Nearest::Ceil => e.same("ceil", &[at]),
        Nearest::RoundPreferCeil => e.same("round_nearest_afz", &[at]),
        Nearest::RoundPreferFloor => {
            let (low, round) = (e.same("floor", &[at]), e.same("round_nearest_afz", &[at]));
            let part = e.same("subtract", &[at, &low]);
            let half = e.full(0.5, &at.ty)?;
            let is_tie = e.compare("EQ", &part, &half);
            e.select(&is_tie, &low, &round)
        }
        Nearest::Simple => {
            let (low, high) = (e.same("floor", &[at]), e.same("ceil", &[at]));
            let (zero, one) = (e.full(0.0, &at.ty)?, e.full(1.0, &at.ty)?);
            let is_negative = e.compare("LT", at, &zero);
            let whole = e.select(&is_negative, &high, &low);
            let shrinks = e.compare("LT", scale, &one);
            e.select(&shrinks, &high, &whole)
        }
    })
}
