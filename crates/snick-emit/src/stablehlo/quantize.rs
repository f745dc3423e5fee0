//! Real numbers on few levels.

use snick_ir::OpError;

use super::elementwise::aligned;
use super::emitter::{Emitter, Operand, Result};
use super::table::EmitRule::{self, Custom};

pub(super) const RULES: &[(&str, EmitRule)] = &[("FakeQuantize", Custom(fake_quantize))];

/// A range of more axes than the data, as far as these have size 1.
fn without_leading_ones(e: &mut Emitter, range: &Operand, rank: usize) -> Result<Operand> {
    let more = range.ty.rank().saturating_sub(rank);
    let kept = range.ty.dims.get(more..).unwrap_or_default().to_vec();
    e.reshape(range, kept)
}

/// Rounded to one of `levels` numbers between the input bounds, and moved to the output bounds.
fn fake_quantize(e: &mut Emitter) -> Result {
    let x = e.input(0)?;
    let levels = e.int("levels")?;
    // None are as many as there can be.
    let levels = if levels == 0 { usize::MAX as f64 } else { levels as f64 };
    let steps = e.full(levels - 1.0, &x.ty)?;
    let mut bounds = Vec::with_capacity(4);
    for i in 1..5 {
        let bound = e.input(i)?;
        let bound = without_leading_ones(e, &bound, x.ty.rank())?;
        bounds.push(aligned(e, &bound, &x.ty.dims)?);
    }
    let [low, high, out_low, out_high] = bounds.as_slice() else {
        return Err(OpError::NotConnected { port: 4 });
    };
    let width = e.same("stablehlo.subtract", &[high, low]);
    let out_width = e.same("stablehlo.subtract", &[out_high, out_low]);
    let above = e.same("stablehlo.subtract", &[&x, low]);
    let share = e.same("stablehlo.divide", &[&above, &width]);
    let scaled = e.same("stablehlo.multiply", &[&share, &steps]);
    let level = e.same("stablehlo.round_nearest_even", &[&scaled]);
    let part = e.same("stablehlo.divide", &[&level, &steps]);
    let moved = e.same("stablehlo.multiply", &[&part, &out_width]);
    let inside = e.same("stablehlo.add", &[&moved, out_low]);
    let (least, most) =
        (e.same("stablehlo.minimum", &[low, high]), e.same("stablehlo.maximum", &[low, high]));
    let (is_low, is_high) = (e.compare("LE", &x, &least), e.compare("GT", &x, &most));
    let capped = e.select(&is_high, out_high, &inside);
    let y = e.select(&is_low, out_low, &capped);
    e.give(0, y)
}
