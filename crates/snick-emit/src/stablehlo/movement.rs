//! Elements to other places.

use snick_ir::{Op, OpError};
use snick_shape::SymExpr;
use snick_tensor::kernels::PadMode;

use super::emitter::{Emitter, Operand, Result};
use super::table::EmitRule::{self, Custom};

pub(super) const RULES: &[(&str, EmitRule)] =
    &[("Concat", Custom(concat)), ("Pad", Custom(pad)), ("Reverse", Custom(reverse)), ("Roll", Custom(roll))];

fn concat(e: &mut Emitter) -> Result {
    let parts = e.inputs()?;
    let rank = e.output(0)?.rank();
    let axis = snick_ir::normalize_axis(e.int("axis")?, rank)?;
    let y = e.concatenate(&parts, axis)?;
    e.give(0, y)
}

fn reverse(e: &mut Emitter) -> Result {
    let x = e.input(0)?;
    let entries = e.fixed(1, "the axes to reverse")?;
    let axes: Vec<usize> = match e.word("mode")?.as_str() {
        "mask" => (0..).zip(&entries).filter(|(_, entry)| **entry != 0).map(|(axis, _)| axis).collect(),
        _ => super::reduction::axes(e, 1, x.ty.rank())?,
    };
    let y = e.reverse(&x, &axes);
    e.give(0, y)
}

/// The end of an axis is put in front of its beginning.
fn roll(e: &mut Emitter) -> Result {
    let mut x = e.input(0)?;
    let (shifts, axes) = (e.fixed(1, "shifts")?, e.fixed(2, "axes")?);
    for (i, &axis) in axes.iter().enumerate() {
        let axis = snick_ir::normalize_axis(axis, x.ty.rank())?;
        let size = x.ty.dims[axis].clone();
        let shift = shifts.get(i).or(shifts.first()).copied().unwrap_or(0);
        if size.as_const() == Some(0) {
            continue;
        }
        let symbols = e.graph.symbols();
        // The end, as long as the shift, and the beginning.
        let end = symbols.modulo(&shift.into(), &size);
        let cut = end.as_ref().and_then(|end| symbols.sub(&size, end));
        let (Some(end), Some(cut)) = (end, cut) else {
            return Err(OpError::unsupported("a roll of an axis that may be empty in StableHLO"));
        };
        if end.as_const() != Some(0) {
            let parts = [e.part(&x, axis, &cut, end)?, e.part(&x, axis, &0.into(), cut)?];
            x = e.concatenate(&parts, axis)?;
        }
    }
    e.give(0, x)
}

fn unknown() -> OpError {
    OpError::unsupported("padding known only at run time in StableHLO")
}

/// Constant padding is an operation; for the other modes the neighbours of the edge are put beside it.
fn pad(e: &mut Emitter) -> Result {
    let Op::Pad(op) = &e.node.op else { return Err(OpError::unsupported("this padding in StableHLO")) };
    let mode = op.pad_mode;
    let x = e.input(0)?;
    if mode == PadMode::Constant {
        let value = match e.len() {
            4.. => {
                let value = e.input(3)?;
                e.reshape(&value, &[])?
            }
            _ => e.full(0.0, &x.ty.sized(&[]))?,
        };
        let ty = e.output(0)?;
        let (Some(begin), Some(end)) = (e.known(1), e.known(2)) else {
            let expressions = |i| e.elements(i).ok_or_else(unknown);
            let (begin, end) = (expressions(1)?, expressions(2)?);
            let (begin, end) = (e.vector(begin)?, e.vector(end)?);
            let inside = e.vector(&vec![0; x.ty.rank()])?;
            let operands = [&x, &value, &begin, &end, &inside];
            let y = e.generic("stablehlo.dynamic_pad", &operands, "", ty);
            return e.give(0, y);
        };
        let y = e.padded(&x, &value, &begin, &end, ty);
        return e.give(0, y);
    }
    let (begin, end) = (e.known(1).ok_or_else(unknown)?, e.known(2).ok_or_else(unknown)?);
    let mut padded = x;
    for (axis, (&low, &high)) in begin.iter().zip(&end).enumerate() {
        padded = beside(e, &padded, axis, [low, high], mode)?;
    }
    e.give(0, padded)
}

/// One axis with so many elements more before and behind; fewer where negative.
fn beside(e: &mut Emitter, x: &Operand, axis: usize, pads: [i64; 2], mode: PadMode) -> Result<Operand> {
    let cut = pads.map(|pad| pad.saturating_neg().max(0));
    let [low, high] = pads.map(|pad| pad.max(0));
    let less = |e: &Emitter, size: &SymExpr, by: i64| {
        let rest = e.graph.symbols().sub(size, &by.into());
        rest.ok_or_else(|| OpError::out_of_range("padding", by, "smaller"))
    };
    let mut middle = x.clone();
    if cut != [0, 0] {
        let len = less(e, &x.ty.dims[axis], cut[0].saturating_add(cut[1]))?;
        middle = e.part(x, axis, &cut[0].into(), len)?;
    }
    let size = middle.ty.dims[axis].clone();
    // Reflection leaves the edge itself out.
    let skip = i64::from(mode == PadMode::Reflect);
    let mut parts = Vec::new();
    if low > 0 {
        parts.push(match mode {
            PadMode::Edge => edge(e, &middle, axis, &0.into(), low)?,
            _ => mirrored(e, &middle, axis, &skip.into(), low)?,
        });
    }
    parts.push(middle.clone());
    if high > 0 {
        parts.push(match mode {
            PadMode::Edge => {
                let last = less(e, &size, 1)?;
                edge(e, &middle, axis, &last, high)?
            }
            _ => {
                let first = less(e, &size, high.saturating_add(skip))?;
                mirrored(e, &middle, axis, &first, high)?
            }
        });
    }
    e.concatenate(&parts, axis)
}

fn mirrored(e: &mut Emitter, x: &Operand, axis: usize, first: &SymExpr, len: i64) -> Result<Operand> {
    let part = e.part(x, axis, first, len.into())?;
    Ok(e.reverse(&part, &[axis]))
}

/// One element of an axis, many times.
fn edge(e: &mut Emitter, x: &Operand, axis: usize, at: &SymExpr, count: i64) -> Result<Operand> {
    let one = e.part(x, axis, at, 1.into())?;
    let mut dims = one.ty.dims.clone();
    dims[axis] = count.into();
    e.broadcast(&one, dims)
}
