//! Crop: a slice of its window.

use snick_ir::OpError;
use snick_ir::ops::Crop;
use snick_ir::rewrite::{Patch, RewriteResult};

use super::indices::slice_axes;

pub(super) fn lower(op: &Crop, cx: &mut Patch) -> Result<RewriteResult, OpError> {
    let facts = cx.input_facts()?;
    let like = facts.get(1).map(|like| like.shape.as_static());
    let (Some(sizes), Some(like)) =
        (facts[0].shape.as_static(), like.map_or(Some(None), |like| like.map(Some)))
    else {
        let reason = "whether the window lies within the data is known only at run time";
        return Ok(RewriteResult::Declined(reason.into()));
    };
    let slices = op.slices(&sizes, like.as_deref())?;
    let data = cx.input(0)?;
    slice_axes(cx, data, &slices).map(RewriteResult::one)
}
