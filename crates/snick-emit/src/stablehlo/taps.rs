//! Weighted sums of elements at positions that are only known at run time, and arithmetic with constants.

use snick_ir::OpError;

use super::emitter::{Emitter, Operand, Result};

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
        Ok(self.same("stablehlo.add", &[x, &number]))
    }

    /// `x * number`
    pub(super) fn times(&mut self, x: &Operand, number: f64) -> Result<Operand> {
        let number = self.full(number, &x.ty)?;
        Ok(self.same("stablehlo.multiply", &[x, &number]))
    }

    /// `x / number`
    pub(super) fn over(&mut self, x: &Operand, number: f64) -> Result<Operand> {
        let number = self.full(number, &x.ty)?;
        Ok(self.same("stablehlo.divide", &[x, &number]))
    }

    /// Clamps to bounds.
    pub(super) fn within(&mut self, x: &Operand, low: f64, high: f64) -> Result<Operand> {
        let (low, high) = (self.full(low, &x.ty)?, self.full(high, &x.ty)?);
        let above = self.same("stablehlo.maximum", &[x, &low]);
        Ok(self.same("stablehlo.minimum", &[&above, &high]))
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
                (Some(a), Some(b)) => Some(e.same("stablehlo.and", &[a, b])),
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
        Some(sum) => e.same("stablehlo.add", &[&sum, &x]),
        None => x,
    }
}

/// Multiplies the rows of `[P, C]` by one weight each.
fn weighted(e: &mut Emitter, x: &Operand, weight: &Operand) -> Result<Operand> {
    let weight = e.spread(weight, &[0], &x.ty.dims)?;
    Ok(e.same("stablehlo.multiply", &[&weight, x]))
}

/// The elements of all channels at an image, row and column.
fn element(e: &mut Emitter, maps: &Operand, place: [&Operand; 3]) -> Result<Operand> {
    let mut columns = Vec::with_capacity(3);
    for part in place {
        columns.push(e.reshape(part, [part.ty.dims.as_slice(), &[1.into()]].concat())?);
    }
    let places = e.concatenate(&columns, 1)?;
    let (count, channels) = (places.ty.size(0)?, maps.ty.size(1)?);
    let attributes = format!(
        "dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 2, 3], \
         start_index_map = [0, 2, 3], index_vector_dim = 1>, indices_are_sorted = false, \
         slice_sizes = array<i64: 1, {channels}, 1, 1>"
    );
    Ok(e.generic("stablehlo.gather", &[maps, &places], &attributes, maps.ty.sized(&[count, channels])))
}
