//! Interpolation: along each axis, an output is a weighted sum of inputs with known weights.

use snick_ir::ops::Interpolate;
use snick_ir::ops::nn::interpolate::Mode;
use snick_ir::{Op, OpError};
use snick_tensor::Tensor;

use super::contract::sums;
use super::emitter::{Emitter, Operand, Result};
use super::resample_at_run_time;
use super::row::OpRow;

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        // Interpolated integers have to be rounded, so these layers are decomposed.
        Op::Interpolate(op) => {
            OpRow::new(|e| interpolate(e, op)).only(|layer| layer.is_float() || op.mode == Mode::Nearest)
        }
        _ => return None,
    })
}

/// Interpolates one axis at a time. Uses a gather if each output equals a single input, and a matrix
/// multiplication otherwise.
fn interpolate(e: &mut Emitter, op: &Interpolate) -> Result {
    let unknown = || OpError::unsupported("an interpolation whose sizes are known only at run time");
    let x = e.input(0)?;
    let mut rest = Vec::with_capacity(e.len());
    for i in 1..e.len() {
        // A layer uses either sizes or scales, so one of these inputs may be unknown.
        rest.push(e.tensor(i).cloned());
    }
    if e.function.sizes_from_data && !(x.ty.is_fixed() && e.output(0)?.is_fixed()) {
        return resample_at_run_time::interpolate(e, op, &x);
    }
    let along = op.weights(&x.ty.fixed().map_err(|_| unknown())?, &rest)?.ok_or_else(unknown)?;
    let mut y = x;
    for (axis, weights) in along {
        y = match chosen(&weights)? {
            Some(places) => look_up(e, &y, axis, &places)?,
            None if y.ty.element.is_float() => sums(e, &y, axis, &weights)?,
            None => return Err(OpError::unsupported("interpolation between integers")),
        };
    }
    e.give(0, y)
}

/// The index of the input that each output equals; `None` if an output depends on several inputs.
fn chosen(weights: &Tensor) -> Result<Option<Vec<i64>>, OpError> {
    let columns = weights.dims().last().copied().unwrap_or(1).max(1);
    let numbers = weights.to_f32_vec()?;
    let one = |row: &[f32]| match row.iter().filter(|&&w| w != 0.0).count() {
        1 => row.iter().position(|&w| w == 1.0).map(|place| place as i64),
        _ => None,
    };
    Ok(numbers.chunks(columns).map(one).collect())
}

fn look_up(e: &mut Emitter, x: &Operand, axis: usize, places: &[i64]) -> Result<Operand> {
    let size = x.ty.size(axis)? as i64;
    if places.iter().copied().eq(0..size) {
        return Ok(x.clone());
    }
    let places = e.constant(&Tensor::from_vec(&[places.len(), 1], places.to_vec())?)?;
    super::lookup::along(e, x, &places, axis)
}
