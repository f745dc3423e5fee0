//! Adaptive pooling, one axis at a time. The windows cover each axis without gaps.

use snick_ir::Op;
use snick_ir::rewrite::{Patch, RewriteResult, Rule};

use super::helpers::{Result, at_run_time, known, known_size};

pub(crate) const RULE: Rule =
    Rule::exact("decompose-adaptive-pool", adaptive_pool).may_round_within(1e-5, 0.0);

/// Maximum number of windows along an axis; each window adds layers.
const MAX_WINDOWS: i64 = 1024;

/// Pools one axis after the other: both the maximum and the mean are separable.
fn adaptive_pool(p: &mut Patch) -> Result<RewriteResult> {
    let is_mean = match p.node().op() {
        Op::AdaptiveAvgPool(_) => true,
        Op::AdaptiveMaxPool(_) => false,
        _ => return Ok(RewriteResult::NoMatch),
    };
    if !is_mean && p.is_used(1) {
        return Ok(RewriteResult::Declined("the indices of AdaptiveMaxPool".into()));
    }
    let Some(targets) = known(p, 1)? else { return Ok(at_run_time("the sizes of the output")) };
    let mut x = p.input(0)?;
    for (axis, &target) in (2..).zip(&targets) {
        let Some(size) = known_size(p, x, axis)? else { return Ok(at_run_time("sizes of the data")) };
        if !(1..=MAX_WINDOWS).contains(&target) {
            return Ok(RewriteResult::Declined(format!("{target} windows along an axis")));
        }
        let axis = axis as i64;
        let mut windows = Vec::new();
        for i in 0..target {
            let (start, stop) = (i * size / target, ((i + 1) * size + target - 1) / target);
            let part = if target == 1 { x } else { p.slice8(x, &[start], &[stop], &[1], &[axis])? };
            windows.push(match is_mean {
                true => p.reduce_mean(part, &[axis], true)?,
                false => p.reduce_max(part, &[axis], true)?,
            });
        }
        x = p.concat(axis, &windows)?;
    }
    let mut values = RewriteResult::one(x);
    if let (RewriteResult::Replaced(values), false) = (&mut values, is_mean) {
        values.push(None);
    }
    Ok(values)
}
