//! Pad in modes that repeat data, as a concatenation of slices.

use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, OpError, Value};
use snick_tensor::kernels::PadMode;

use super::helpers::{Result, at_run_time, known, known_size};

/// Maximum number of elements to gather, because each element needs an index in a constant.
const MAX_GATHERED: i64 = 1 << 20;

pub(crate) const RULE: Rule = Rule::exact("decompose-pad", pad);

fn pad(p: &mut Patch) -> Result<RewriteResult> {
    let Op::Pad(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    if op.pad_mode == PadMode::Constant {
        return Ok(RewriteResult::NoMatch);
    }
    let (Some(begins), Some(ends)) = (known(p, 1)?, known(p, 2)?) else { return Ok(at_run_time("the pads")) };
    let mut x = p.input(0)?;
    for (axis, (begin, end)) in (0..).zip(begins.into_iter().zip(ends)) {
        if begin < 0 || end < 0 {
            let stop = if end < 0 { end } else { i64::MAX };
            x = p.slice8(x, &[begin.saturating_neg().max(0)], &[stop], &[1], &[axis])?;
        }
        let mut parts = vec![x];
        if begin > 0 {
            parts.insert(0, beside(p, x, axis, begin, op.pad_mode, false)?);
        }
        if end > 0 {
            parts.push(beside(p, x, axis, end, op.pad_mode, true)?);
        }
        x = p.concat(axis, &parts)?;
    }
    Ok(RewriteResult::one(x))
}

/// The `count` elements to add at one end of an axis, as a slice of `x`.
fn beside(p: &mut Patch, x: Value, axis: i64, count: i64, mode: PadMode, behind: bool) -> Result<Value> {
    // Reflection skips the edge element, and the symmetric mode repeats it.
    let skip = i64::from(mode == PadMode::Reflect);
    if known_size(p, x, usize::try_from(axis).unwrap_or(usize::MAX))?.is_none() {
        return gathered(p, x, axis, count, mode, behind);
    }
    let (start, stop) = match (mode, behind) {
        (PadMode::Edge, false) => (0, 1),
        (PadMode::Edge, true) => (-1, i64::MAX),
        // The step of these ranges is -1, so the element at `start` comes first.
        (_, false) if skip == 0 => (count - 1, i64::MIN),
        (_, false) => (count, 0),
        (_, true) => (-1 - skip, -1 - skip - count),
    };
    let step = if mode == PadMode::Edge { 1 } else { -1 };
    let part = p.slice8(x, &[start], &[stop], &[step], &[axis])?;
    if mode != PadMode::Edge || count == 1 {
        return Ok(part);
    }
    let mut repeats = vec![1; p.rank(x)?];
    if let Some(repeat) = usize::try_from(axis).ok().and_then(|axis| repeats.get_mut(axis)) {
        *repeat = count;
    }
    p.tile(part, &repeats)
}

/// Like [`beside`], but for an axis of unknown size. If the axis is shorter than `count`, Pad fails, but a
/// slice would silently return fewer elements.
fn gathered(p: &mut Patch, x: Value, axis: i64, count: i64, mode: PadMode, behind: bool) -> Result<Value> {
    if count > MAX_GATHERED {
        return Err(OpError::out_of_range(
            "a pad",
            count,
            format!("at most {MAX_GATHERED} of an unknown size"),
        ));
    }
    let skip = i64::from(mode == PadMode::Reflect);
    let places: Vec<i64> = match (mode, behind) {
        (PadMode::Edge, false) => (0..count).map(|_| 0).collect(),
        (PadMode::Edge, true) => (0..count).map(|_| -1).collect(),
        (_, false) => (skip..count + skip).rev().collect(),
        (_, true) => (1 + skip..1 + skip + count).map(|place| -place).collect(),
    };
    let places = p.ints(&places)?;
    p.gather(x, places, axis)
}
