//! Ops that move elements.

use snick_ir::ops::movement::reverse::Mode;
use snick_ir::ops::{Concat, Reverse};
use snick_ir::{Op, OpError};
use snick_tensor::ElementType;
use snick_tensor::kernels::PadMode;

use super::data_sizes;
use super::emitter::{Emitter, OpKind, Operand, Result};
use super::lookup::{along, column};
use super::row::OpRow;

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        Op::Concat(op) => OpRow::new(|e| concat(e, op)),
        Op::Pad(op) => OpRow::new(pad).only(|_| op.pad_mode == PadMode::Constant),
        Op::Reverse(op) => OpRow::new(|e| reverse(e, op)),
        Op::Roll(_) => OpRow::new(roll),
        _ => return None,
    })
}

fn concat(e: &mut Emitter, op: &Concat) -> Result {
    let parts = e.operands()?;
    let rank = e.output(0)?.rank();
    let axis = snick_ir::normalize_axis(op.axis, rank)?;
    let y = e.concatenate(&parts, axis)?;
    e.give(0, y)
}

fn reverse(e: &mut Emitter, op: &Reverse) -> Result {
    let x = e.input(0)?;
    let entries = e.fixed(1, "the axes to reverse")?;
    let axes: Vec<usize> = match op.mode {
        Mode::Mask => (0..).zip(&entries).filter(|(_, entry)| **entry != 0).map(|(axis, _)| axis).collect(),
        Mode::Index => super::reduce::axes(e, 1, x.ty.rank())?,
    };
    let y = e.reverse(&x, &axes);
    e.give(0, y)
}

/// Moves the last elements of an axis to the front.
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
        if e.function.sizes_from_data && size.as_const().is_none() {
            x = rolled(e, &x, axis, shift)?;
            continue;
        }
        let symbols = e.graph.symbols();
        // Splits the axis into the last `shift` elements and the rest.
        let end = symbols.modulo(&shift.into(), &size);
        let cut = end.as_ref().and_then(|end| symbols.sub(&size, end));
        let (Some(end), Some(cut)) = (end, cut) else {
            return Err(OpError::unsupported("a roll of an axis that may be empty"));
        };
        if end.as_const() != Some(0) {
            let parts = [e.part(&x, axis, &cut, end)?, e.part(&x, axis, &0.into(), cut)?];
            x = e.concatenate(&parts, axis)?;
        }
    }
    e.give(0, x)
}

/// Rolls an axis whose size may be 0: each element is read at its place modulo the size.
fn rolled(e: &mut Emitter, x: &Operand, axis: usize, shift: i64) -> Result<Operand> {
    let size = x.ty.dims[axis].clone();
    let ty = x.ty.sized(vec![size.clone()]).with(ElementType::I64);
    let (size, one) = (e.number(&size)?, e.number(&1.into())?);
    let size = e.same("maximum", &[&size, &one]);
    let size = e.spread(&size, &[], &ty.dims)?;
    let (places, back) = (e.iota(0, ty.clone())?, e.full(shift as f64, &ty)?);
    let places = e.same("subtract", &[&places, &back]);
    // The remainder has the sign of the dividend.
    let places = e.same("remainder", &[&places, &size]);
    let places = e.same("add", &[&places, &size]);
    let places = e.same("remainder", &[&places, &size]);
    let places = column(e, &places)?;
    along(e, x, &places, axis)
}

/// Pads with a single value.
fn pad(e: &mut Emitter) -> Result {
    let (x, ty) = (e.input(0)?, e.output(0)?);
    let value = match e.len() {
        4.. => {
            let value = e.input(3)?;
            e.reshape(&value, &[])?
        }
        _ => e.full(0.0, &x.ty.sized(&[]))?,
    };
    if let (Some(begin), Some(end)) = (e.known(1), e.known(2)) {
        let y = e.padded(&x, &value, &begin, &end, ty);
        return e.give(0, y);
    }
    let is_known = |i| e.elements(i).is_some_and(|pads| pads.iter().all(|pad| e.function.knows(pad)));
    if e.function.sizes_from_data && !(is_known(1) && is_known(2)) {
        return data_sizes::pad(e, &x, &value, ty);
    }
    let expressions = |i| e.elements(i).ok_or_else(|| OpError::unsupported("padding that depends on data"));
    let (begin, end) = (expressions(1)?, expressions(2)?);
    let (begin, end) = (e.vector(begin)?, e.vector(end)?);
    let inside = e.vector(&vec![0; x.ty.rank()])?;
    let y = e.op(OpKind::DynamicPad, &[&x, &value, &begin, &end, &inside], ty);
    e.give(0, y)
}
