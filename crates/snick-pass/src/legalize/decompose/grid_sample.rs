//! GridSample as a weighted sum of gathered pixels.

use snick_ir::ops::GridSample;
use snick_ir::ops::elementwise::round::RoundMode;
use snick_ir::ops::nn::grid_sample::{Mode, Padding};
use snick_ir::ops::{FloorMod, Round};
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, Value};
use snick_tensor::ElementType;

use super::helpers::{Result, Size, at_run_time, known_size, reshape};

pub(crate) const RULE: Rule = Rule::exact("decompose-grid-sample", sample).may_round_within(1e-5, 0.0);

/// Positions of pixels are limited to this, as in the operation itself.
const FARTHEST: f64 = 1e9;

/// A pixel along one axis, for each point of the grid.
#[derive(Copy, Clone)]
struct Tap {
    /// The index of the pixel, within the data.
    pixel: Value,
    /// Whether the pixel lies within the data; `None` if it always does.
    is_inside: Option<Value>,
    /// The weight; `None` for 1.
    weight: Option<Value>,
}

fn sample(p: &mut Patch) -> Result<RewriteResult> {
    let Op::GridSample(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let (data, grid) = (p.input(0)?, p.input(1)?);
    let is_filled = |size: &i64| *size > 0;
    let sizes = [known_size(p, data, 2)?.filter(is_filled), known_size(p, data, 3)?.filter(is_filled)];
    let [Some(height), Some(width)] = sizes else { return Ok(at_run_time("the size of the images")) };
    let own = p.element_type(data)?;
    let grid = p.convert(grid, ElementType::F32)?;
    let (x, y) = (p.gather(grid, p.int(0)?, -1)?, p.gather(grid, p.int(1)?, -1)?);
    let (columns, rows) = (taps(p, &op, x, width)?, taps(p, &op, y, height)?);
    let data = p.convert(data, ElementType::F32)?;
    let flat = reshape(p, data, &[Size::of(0), Size::of(1), Size::Known(height * width)])?;
    let mut sum = None;
    for row in rows {
        let mut of_row = None;
        for column in &columns {
            let value = pixel(p, flat, row, *column, width)?;
            let value = weighted(p, value, column.weight)?;
            of_row = Some(added(p, of_row, value)?);
        }
        if let Some(value) = of_row {
            let value = weighted(p, value, row.weight)?;
            sum = Some(added(p, sum, value)?);
        }
    }
    let Some(sum) = sum else { return Ok(RewriteResult::NoMatch) };
    // The points of the grid become two axes again.
    let mut shape = vec![p.size_of(sum, 0)?, p.size_of(sum, 1)?, p.size_of(grid, 1)?, p.size_of(grid, 2)?];
    if let Some(dims) = p.fact(p.output(0))?.shape().as_static() {
        shape = vec![p.ints(&dims.iter().map(|&dim| dim as i64).collect::<Vec<_>>())?];
    }
    let shape = p.concat(0, &shape)?;
    let y = p.reshape_to(sum, shape)?;
    p.convert(y, own).map(RewriteResult::one)
}

fn added(p: &mut Patch, sum: Option<Value>, value: Value) -> Result<Value> {
    match sum {
        Some(sum) => p.add(sum, value),
        None => Ok(value),
    }
}

/// The value `[N, C, points]`, times a weight `[N, H', W']`.
fn weighted(p: &mut Patch, value: Value, weight: Option<Value>) -> Result<Value> {
    let Some(weight) = weight else { return Ok(value) };
    let weight = points(p, weight)?;
    p.multiply(value, weight)
}

/// Reshapes `[N, H', W']` to `[N, 1, points]`.
fn points(p: &mut Patch, x: Value) -> Result<Value> {
    reshape(p, x, &[Size::of(0), Size::Known(1), Size::Known(-1)])
}

/// The pixels `[N, C, points]` of the data `[N, C, pixels]`.
fn pixel(p: &mut Patch, flat: Value, row: Tap, column: Tap, width: i64) -> Result<Value> {
    let first = p.multiply(row.pixel, width)?;
    let place = p.add(first, column.pixel)?;
    let place = points(p, place)?;
    let shape = [p.size_of(flat, 0)?, p.size_of(flat, 1)?, p.size_of(place, 2)?];
    let shape = p.concat(0, &shape)?;
    let place = p.broadcast_to(place, shape)?;
    let value = p.gather_elements(flat, place, 2)?;
    let (Some(row), Some(column)) = (row.is_inside, column.is_inside) else { return Ok(value) };
    let is_inside = p.logical_and(row, column)?;
    let is_inside = points(p, is_inside)?;
    p.select(is_inside, value, 0.0)
}

/// The pixels to interpolate along an axis of `size` pixels, for positions from -1 to 1.
fn taps(p: &mut Patch, op: &GridSample, at: Value, size: i64) -> Result<Vec<Tap>> {
    let moved = p.add(at, 1.0)?;
    let at = if op.align_corners {
        let half = p.divide(moved, 2.0)?;
        p.multiply(half, (size - 1) as f64)?
    } else {
        let scaled = p.multiply(moved, size as f64)?;
        let scaled = p.subtract(scaled, 1.0)?;
        p.divide(scaled, 2.0)?
    };
    let at = p.clamp(at, -FARTHEST, FARTHEST)?;
    if op.mode == Mode::Nearest {
        let nearest = p.add_op(Round { mode: RoundMode::HalfToEven }, &[at])?;
        let nearest = p.convert(nearest, ElementType::I64)?;
        return Ok(vec![tap(p, op.padding_mode, op.align_corners, nearest, size, None)?]);
    }
    let below = p.floor(at)?;
    let part = p.subtract(at, below)?;
    let rest = p.subtract(1.0, part)?;
    let below = p.convert(below, ElementType::I64)?;
    let weights = match op.mode {
        Mode::Bicubic => {
            let (first, last) = (p.add(part, 1.0)?, p.add(rest, 1.0)?);
            vec![(-1, far(p, first)?), (0, near(p, part)?), (1, near(p, rest)?), (2, far(p, last)?)]
        }
        _ => vec![(0, rest), (1, part)],
    };
    let mut taps = Vec::new();
    for (offset, weight) in weights {
        let pixel = p.add(below, offset)?;
        taps.push(tap(p, op.padding_mode, op.align_corners, pixel, size, Some(weight))?);
    }
    Ok(taps)
}

/// The parameter of cubic interpolation.
const A: f64 = -0.75;

/// `((A + 2) x - (A + 3)) x² + 1`, for distances up to 1.
fn near(p: &mut Patch, x: Value) -> Result<Value> {
    let y = p.multiply(x, A + 2.0)?;
    let y = p.subtract(y, A + 3.0)?;
    let y = p.multiply(p.multiply(y, x)?, x)?;
    p.add(y, 1.0)
}

/// `((A x - 5 A) x + 8 A) x - 4 A`, for distances from 1 to 2.
fn far(p: &mut Patch, x: Value) -> Result<Value> {
    let y = p.multiply(x, A)?;
    let y = p.multiply(p.subtract(y, 5.0 * A)?, x)?;
    let y = p.multiply(p.add(y, 8.0 * A)?, x)?;
    p.subtract(y, 4.0 * A)
}

/// Maps an index, which may be outside the data, according to the padding mode.
fn tap(
    p: &mut Patch,
    padding: Padding,
    align_corners: bool,
    at: Value,
    size: i64,
    weight: Option<Value>,
) -> Result<Tap> {
    let last = size - 1;
    if padding == Padding::Reflection {
        // Corners are not repeated if they are the centres of pixels.
        let (period, mirror) = if align_corners { (2 * last, 2 * last) } else { (2 * size, 2 * last + 1) };
        let at = if period == 0 { p.multiply(at, 0)? } else { wrapped(p, at, period)? };
        let is_above = p.greater(at, last)?;
        let mirrored = p.subtract(mirror, at)?;
        return Ok(Tap { pixel: p.select(is_above, mirrored, at)?, is_inside: None, weight });
    }
    let pixel = p.clamp(at, 0.0, last as f64)?;
    let is_inside = match padding {
        Padding::Zeros => Some(p.equal(pixel, at)?),
        _ => None,
    };
    Ok(Tap { pixel, is_inside, weight })
}

fn wrapped(p: &mut Patch, at: Value, period: i64) -> Result<Value> {
    let period = p.int(period)?;
    p.add_op(FloorMod::default(), &[at, period])
}
