//! StridedSlice: resolves the masks to a range for each axis. The result is a slice, a Squeeze and an
//! Unsqueeze.

use snick_ir::OpError;
use snick_ir::ops::StridedSlice;
use snick_ir::rewrite::{Patch, RewriteResult};

use super::indices::squeeze;
use super::range::slice_ranges;

pub(super) fn lower(op: &StridedSlice, cx: &mut Patch) -> Result<RewriteResult, OpError> {
    let facts = cx.input_facts()?;
    let plan = match facts[0].shape.rank() {
        None => return Ok(RewriteResult::Declined("the rank of the data is unknown".into())),
        Some(_) => op.plan(&facts)?,
    };
    let Some(plan) = plan else {
        return Ok(RewriteResult::Declined("the number of entries is unknown".into()));
    };
    let data = cx.input(0)?;
    let sliced = slice_ranges(cx, data, plan.ranges())?;
    let mut value = squeeze(cx, sliced, &plan.dropped_axes())?;
    let new_axes = plan.new_axes();
    if !new_axes.is_empty() {
        value = cx.unsqueeze(value, &new_axes)?;
    }
    Ok(RewriteResult::one(value))
}
