//! Interpolates maps at positions that are only known at run time.

use snick_ir::ops::nn::grid_sample::{GridSample, Mode, Padding};
use snick_ir::{Op, OpError};
use snick_tensor::ElementType;

use super::emitter::{Emitter, Operand, Result};
use super::row::OpRow;
use super::taps::{Tap, mixed};

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        Op::GridSample(op) => OpRow::new(|e| grid_sample(e, op)),
        _ => return None,
    })
}

fn grid_sample(e: &mut Emitter, op: &GridSample) -> Result {
    let (data, grid) = (e.input(0)?, e.input(1)?);
    if !data.ty.element.is_float() {
        return Err(OpError::unsupported("samples of integers"));
    }
    let (dims, out) = (data.ty.fixed()?, e.output(0)?.fixed()?);
    let (&[_, _, height, width], &[images, channels, rows, columns]) = (dims.as_slice(), out.as_slice())
    else {
        return Err(OpError::rank("the data", dims.len(), "4"));
    };
    let count = images * rows * columns;
    let maps = e.convert(&data, ElementType::F32);
    let grid = e.convert(&grid, ElementType::F32);
    let grid = e.reshape(&grid, &[count, 2])?;
    let mut taps = Vec::with_capacity(2);
    for (part, size) in [(1, height), (0, width)] {
        let at = e.part(&grid, 1, &part.into(), 1.into())?;
        let at = e.reshape(&at, &[count])?;
        let at = place(e, op, &at, size)?;
        taps.push(taps_at(e, op, &at, size)?);
    }
    let numbers = e.iota(0, grid.ty.sized(&[images, rows * columns]).with(ElementType::I64))?;
    let numbers = e.reshape(&numbers, &[count])?;
    let mixture = mixed(e, &maps, &numbers, &taps[0], &taps[1])?;
    let mixture = e.reshape(&mixture, &[images, rows, columns, channels])?;
    let y = e.transpose(&mixture, &[0, 3, 1, 2]);
    let y = e.convert(&y, data.ty.element);
    e.give(0, y)
}

/// Maps positions in -1..1 to element indices.
fn place(e: &mut Emitter, op: &GridSample, at: &Operand, size: usize) -> Result<Operand> {
    let raised = e.plus(at, 1.0)?;
    let at = match op.align_corners {
        true => {
            let share = e.times(&raised, 0.5)?;
            e.times(&share, size as f64 - 1.0)?
        }
        false => {
            let scaled = e.times(&raised, size as f64)?;
            let moved = e.plus(&scaled, -1.0)?;
            e.times(&moved, 0.5)?
        }
    };
    e.within(&at, -1e9, 1e9)
}

fn taps_at(e: &mut Emitter, op: &GridSample, at: &Operand, size: usize) -> Result<Vec<Tap>, OpError> {
    if op.mode == Mode::Nearest {
        let whole = e.same("round_nearest_even", &[at]);
        let weight = e.full(1.0, &at.ty)?;
        return Ok(vec![tap(e, op, &whole, 0.0, weight, size)?]);
    }
    let below = e.same("floor", &[at]);
    let part = e.same("subtract", &[at, &below]);
    let negative = e.same("negate", &[&part]);
    let rest = e.plus(&negative, 1.0)?;
    if op.mode == Mode::Bilinear {
        return Ok(vec![tap(e, op, &below, 0.0, rest, size)?, tap(e, op, &below, 1.0, part, size)?]);
    }
    const A: f64 = -0.75;
    // Computes `((c3 x + c2) x + c1) x + c0`.
    let cubic = |e: &mut Emitter, x: &Operand, [c3, c2, c1, c0]: [f64; 4]| {
        let mut value = e.times(x, c3)?;
        for coefficient in [c2, c1] {
            value = e.plus(&value, coefficient)?;
            value = e.same("multiply", &[&value, x]);
        }
        e.plus(&value, c0)
    };
    let (near, far) = ([A + 2.0, -(A + 3.0), 0.0, 1.0], [A, -5.0 * A, 8.0 * A, -4.0 * A]);
    let (before, behind) = (e.plus(&part, 1.0)?, e.plus(&rest, 1.0)?);
    let mut taps = Vec::with_capacity(4);
    for (step, distance, coefficients) in
        [(-1.0, &before, far), (0.0, &part, near), (1.0, &rest, near), (2.0, &behind, far)]
    {
        let weight = cubic(e, distance, coefficients)?;
        taps.push(tap(e, op, &below, step, weight, size)?);
    }
    Ok(taps)
}

/// The element that is `step` after an integer position, which may be outside the axis.
fn tap(
    e: &mut Emitter,
    op: &GridSample,
    whole: &Operand,
    step: f64,
    weight: Operand,
    size: usize,
) -> Result<Tap, OpError> {
    let at = e.convert(whole, ElementType::I64);
    let at = if step == 0.0 { at } else { e.plus(&at, step)? };
    let last = size as f64 - 1.0;
    let (at, inside) = match op.padding_mode {
        Padding::Zeros => {
            let (zero, end) = (e.full(0.0, &at.ty)?, e.full(size as f64, &at.ty)?);
            let (above, below) = (e.compare("GE", &at, &zero), e.compare("LT", &at, &end));
            let inside = e.same("and", &[&above, &below]);
            (at, Some(inside))
        }
        Padding::Border => (e.within(&at, 0.0, last)?, None),
        Padding::Reflection => {
            // A reflection repeats after going to the other end of the axis and back.
            let back = if op.align_corners { 2.0 * last } else { 2.0 * last + 1.0 };
            let period = e.full(if op.align_corners { back.max(1.0) } else { back + 1.0 }, &at.ty)?;
            let rest = e.same("remainder", &[&at, &period]);
            let lifted = e.same("add", &[&rest, &period]);
            let rest = e.same("remainder", &[&lifted, &period]);
            let negative = e.same("negate", &[&rest]);
            let mirrored = e.plus(&negative, back)?;
            let end = e.full(last, &at.ty)?;
            let beyond = e.compare("GT", &rest, &end);
            (e.select(&beyond, &mirrored, &rest), None)
        }
    };
    Ok(Tap { at, weight, inside })
}
