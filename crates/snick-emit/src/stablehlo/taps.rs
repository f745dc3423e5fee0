//! Weighted sums of elements at positions that are only known at run time, and arithmetic with constants.

use snick_ir::OpError;

use super::emitter::{Emitter, Operand, Result};
use super::lookup::{Lookup, look_up};
use super::types::Sizes;

/// An element along one axis, with its weight in a sum.
pub(super) struct Tap {
    /// The index of the element, i64; arbitrary if the element does not exist.
    pub(super) at: Operand,
    pub(super) weight: Operand,
    /// Whether the element exists; `None` if it always does.
    pub(super) inside: Option<Operand>,
}

impl Emitter<'_> {
    /// `x + number`
    pub(super) fn plus(&mut self, x: &Operand, number: f64) -> Result<Operand> {
        let number = self.full(number, &x.ty)?;
        Ok(self.same("add", &[x, &number]))
    }

    /// `x * number`
    pub(super) fn times(&mut self, x: &Operand, number: f64) -> Result<Operand> {
        let number = self.full(number, &x.ty)?;
        Ok(self.same("multiply", &[x, &number]))
    }

    /// `x / number`
    pub(super) fn over(&mut self, x: &Operand, number: f64) -> Result<Operand> {
        let number = self.full(number, &x.ty)?;
        Ok(self.same("divide", &[x, &number]))
    }

    /// Clamps to bounds.
    pub(super) fn within(&mut self, x: &Operand, low: f64, high: f64) -> Result<Operand> {
        let (low, high) = (self.full(low, &x.ty)?, self.full(high, &x.ty)?);
        let above = self.same("maximum", &[x, &low]);
        Ok(self.same("minimum", &[&above, &high]))
    }
}

/// The weighted sums `[P, C]` of elements of maps `[N, C, H, W]` at P positions. A position consists of an
/// image in `images`, and of taps along both axes; all are `[P]`.
pub(super) fn mixed(
    e: &mut Emitter,
    maps: &Operand,
    images: &Operand,
    rows: &[Tap],
    columns: &[Tap],
) -> Result<Operand> {
    let mut all: Option<Operand> = None;
    for row in rows {
        let mut of_row: Option<Operand> = None;
        for column in columns {
            let value = element(e, maps, [images, &row.at, &column.at])?;
            let mut value = weighted(e, &value, &column.weight)?;
            let inside = match (&row.inside, &column.inside) {
                (Some(a), Some(b)) => Some(e.same("and", &[a, b])),
                (one, other) => one.clone().or_else(|| other.clone()),
            };
            if let Some(inside) = inside {
                let inside = e.spread(&inside, &[0], &value.ty.dims)?;
                let nothing = e.full(0.0, &value.ty)?;
                value = e.select(&inside, &value, &nothing);
            }
            of_row = Some(added(e, of_row, value));
        }
        let Some(of_row) = of_row else { continue };
        let of_row = weighted(e, &of_row, &row.weight)?;
        all = Some(added(e, all, of_row));
    }
    all.ok_or_else(|| OpError::unsupported("samples of nothing"))
}

fn added(e: &mut Emitter, sum: Option<Operand>, x: Operand) -> Operand {
    match sum {
        Some(sum) => e.same("add", &[&sum, &x]),
        None => x,
    }
}

/// Multiplies the rows of `[P, C]` by one weight each.
fn weighted(e: &mut Emitter, x: &Operand, weight: &Operand) -> Result<Operand> {
    let weight = e.spread(weight, &[0], &x.ty.dims)?;
    Ok(e.same("multiply", &[&weight, x]))
}

/// The elements of all channels at an image, row and column.
fn element(e: &mut Emitter, maps: &Operand, place: [&Operand; 3]) -> Result<Operand> {
    let mut columns = Vec::with_capacity(3);
    for part in place {
        columns.push(e.reshape(part, [part.ty.dims.as_slice(), &[1.into()]].concat())?);
    }
    let places = e.concatenate(&columns, 1)?;
    let (count, channels) = (places.ty.size(0)?, maps.ty.size(1)?);
    let axes = vec![0, 2, 3];
    let sizes = (&[1, channels, 1, 1]).sizes();
    let lookup = Lookup { offset: vec![1], collapsed: axes.clone(), indexed: axes, sizes };
    look_up(e, maps, &places, lookup, &[count, channels])
}
