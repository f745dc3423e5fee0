//! FakeQuantize as arithmetic.

use snick_ir::ops::Round;
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, OpError};

use super::helpers::{Result, all_inputs, in_f32};

pub(crate) const RULE: Rule =
    Rule::exact("decompose-fake-quantize", fake_quantize).may_round_within(1e-5, 0.0);

/// Computes `round((x - low) / (high - low) * steps) / steps * (out high - out low) + out low`. Inputs
/// outside of the input range map to the ends of the output range.
fn fake_quantize(p: &mut Patch) -> Result<RewriteResult> {
    let Op::FakeQuantize(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    // 0 means the maximum number of levels.
    let steps = if op.levels == 0 { usize::MAX as f64 } else { op.levels.saturating_sub(1) as f64 };
    let mut operands = all_inputs(p)?;
    let rank = p.rank(operands[0])?;
    for range in &mut operands[1..] {
        // A range may have more axes than the data. All additional axes have size 1.
        let more = p.rank(*range)?.saturating_sub(rank);
        if more > 0 {
            *range = p.squeeze(*range, &(0..more as i64).collect::<Vec<_>>())?;
        }
    }
    in_f32(p, &operands, |p, inputs| {
        let &[x, low, high, out_low, out_high] = inputs else {
            return Err(OpError::NotConnected { port: 4 });
        };
        let (width, out_width) = (p.subtract(high, low)?, p.subtract(out_high, out_low)?);
        let above = p.subtract(x, low)?;
        let share = p.divide(above, width)?;
        let scaled = p.multiply(share, steps)?;
        let level = p.add_op(Round::default(), &[scaled])?;
        let share = p.divide(level, steps)?;
        let moved = p.multiply(share, out_width)?;
        let inside = p.add(moved, out_low)?;
        let (least, greatest) = (p.minimum(low, high)?, p.maximum(low, high)?);
        let (is_below, is_above) = (p.less_equal(x, least)?, p.greater(x, greatest)?);
        let capped = p.select(is_above, out_high, inside)?;
        p.select(is_below, out_low, capped)
    })
}
