//! Elements to other places.

use snick_ir::OpError;

use super::emitter::{Emitter, Result};
use super::rule::EmitRule::Custom;
use super::rule::OpRow;

pub(super) const ROWS: &[OpRow] = &[
    OpRow::new("Concat", Custom(concat)),
    OpRow::new("Pad", Custom(pad)).only(|layer| layer.word("pad_mode").is_ok_and(|mode| mode == "constant")),
    OpRow::new("Reverse", Custom(reverse)),
    OpRow::new("Roll", Custom(roll)),
];

fn concat(e: &mut Emitter) -> Result {
    let parts = e.operands()?;
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
        _ => super::reduce::axes(e, 1, x.ty.rank())?,
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
            return Err(OpError::unsupported("a roll of an axis that may be empty"));
        };
        if end.as_const() != Some(0) {
            let parts = [e.part(&x, axis, &cut, end)?, e.part(&x, axis, &0.into(), cut)?];
            x = e.concatenate(&parts, axis)?;
        }
    }
    e.give(0, x)
}

/// Padding by one value.
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
    let expressions = |i| e.elements(i).ok_or_else(|| OpError::unsupported("padding that depends on data"));
    let (begin, end) = (expressions(1)?, expressions(2)?);
    let (begin, end) = (e.vector(begin)?, e.vector(end)?);
    let inside = e.vector(&vec![0; x.ty.rank()])?;
    let y = e.generic("stablehlo.dynamic_pad", &[&x, &value, &begin, &end, &inside], "", ty);
    e.give(0, y)
}
