//! Pooling windows with the attributes of earlier definitions.

use snick_ir::Op;
use snick_ir::ops::nn::pool::PoolWindow;
use snick_ir::ops::nn::window::{Numbers, Rounding};
use snick_ir::rewrite::{Patch, RewriteResult, Rule};

use super::helpers::{Result, all_inputs, at_run_time, known_size};

pub(crate) const RULE: Rule = Rule::exact("simplify-pool", pool);

/// Leaves out dilations of 1, and rounding that has no effect.
fn pool(p: &mut Patch) -> Result<RewriteResult> {
    let old = p.node().op();
    let mut op = old.clone();
    let (window, dilations) = match &mut op {
        Op::AvgPool(op) => (&mut op.window, &mut op.dilations),
        Op::MaxPool(op) => (&mut op.window, &mut op.dilations),
        _ => return Ok(RewriteResult::NoMatch),
    };
    if window.rounding_type == Rounding::CeilTorch {
        match is_exact(p, window, dilations)? {
            None => return Ok(at_run_time("sizes of the data")),
            Some(false) => return Ok(RewriteResult::declined("rounding_type=ceil_torch")),
            Some(true) => window.rounding_type = Rounding::Floor,
        }
    }
    if dilations.iter().all(|&dilation| dilation == 1) {
        *dilations = Numbers::new();
    }
    if op == *old {
        return Ok(RewriteResult::NoMatch);
    }
    let (version, inputs, count) = (p.node().version().clone(), all_inputs(p)?, p.node().outs().len());
    p.add_op_of(version, op, &inputs, count).map(RewriteResult::many)
}

/// Whether the windows end at the end of the padded data, so that their number need not be rounded; `None` if
/// sizes are unknown.
fn is_exact(p: &Patch, window: &PoolWindow, dilations: &[i64]) -> Result<Option<bool>> {
    let windows = window.windows(dilations);
    if windows.auto_pad.is_same() {
        return Ok(Some(true));
    }
    let entry = |list: &[i64], i: usize, or: i64| list.get(i).copied().unwrap_or(or);
    for (i, &kernel) in window.kernel.iter().enumerate() {
        let Some(size) = known_size(p, p.input(0)?, i + 2)? else { return Ok(None) };
        let pads = match windows.auto_pad {
            snick_ir::ops::nn::window::AutoPad::Valid => 0,
            _ => entry(windows.pads_begin, i, 0).saturating_add(entry(windows.pads_end, i, 0)),
        };
        let last = (kernel - 1).saturating_mul(entry(windows.dilations, i, 1)).saturating_add(1);
        let room = size.saturating_add(pads).saturating_sub(last);
        if room.checked_rem(entry(windows.strides, i, 1)) != Some(0) {
            return Ok(Some(false));
        }
    }
    Ok(Some(true))
}
