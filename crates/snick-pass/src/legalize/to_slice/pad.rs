//! Pad: negative pads become a slice, followed by a Pad with the positive pads.

use snick_ir::OpError;
use snick_ir::ops::Pad;
use snick_ir::ops::slice::axis_range::AxisRange;
use snick_ir::rewrite::{Patch, RewriteResult};
use snick_tensor::SmallVector;
use snick_tensor::kernels::PadMode;

use super::range::slice_ranges;

pub(super) fn lower(op: &Pad, cx: &mut Patch) -> Result<RewriteResult, OpError> {
    let facts = cx.input_facts()?;
    let [data, begin, end, ..] = &facts[..] else { return Ok(RewriteResult::NoMatch) };
    let (Some(dims), Some(mut begin), Some(mut end)) = (data.shape.dims(), begin.ints(), end.ints()) else {
        return Ok(RewriteResult::NoMatch);
    };
    if begin.len() != dims.len() || end.len() != dims.len() {
        return Ok(RewriteResult::NoMatch);
    }
    let mut ranges: SmallVector<AxisRange, 4> = SmallVector::new();
    for (axis, dim) in dims.iter().enumerate() {
        let (before, behind) = (begin[axis], end[axis]);
        // If Pad mirrors or repeats elements at one end, the mirrored elements may extend to the other end of
        // the axis. Cropping the other end first would remove them.
        let is_apart = op.pad_mode == PadMode::Constant || (before <= 0 && behind <= 0);
        let removed = before.min(0).checked_add(behind.min(0)).and_then(i64::checked_neg).unwrap_or(i64::MAX);
        if removed == 0 || !is_apart || removed > cx.interval(dim).lo() {
            continue;
        }
        let (start, stop) = ((before < 0).then_some(-before), (behind < 0).then_some(behind));
        ranges.push(AxisRange::ints(axis, start, stop, 1));
        (begin[axis], end[axis]) = (before.max(0), behind.max(0));
    }
    if ranges.is_empty() {
        return Ok(RewriteResult::NoMatch);
    }
    let data = cx.input(0)?;
    let cropped = slice_ranges(cx, data, &ranges)?;
    if begin.iter().chain(&end).all(|&pad| pad == 0) {
        return Ok(RewriteResult::one(cropped));
    }
    let mut inputs: SmallVector<_, 4> = SmallVector::from([cropped]);
    inputs.push(cx.ints(&begin)?);
    inputs.push(cx.ints(&end)?);
    inputs.extend(cx.try_input(3));
    cx.add_op(op.clone(), &inputs).map(RewriteResult::one)
}
