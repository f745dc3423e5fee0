//! Slice-8: a slice with the same ranges.

use snick_ir::OpError;
use snick_ir::ops::slice::slice8::SliceRanges;
use snick_ir::rewrite::{Patch, RewriteResult};

use super::range::slice_ranges;

pub(super) fn lower(cx: &mut Patch) -> Result<RewriteResult, OpError> {
    let facts = cx.input_facts()?;
    match SliceRanges::of(&facts)? {
        SliceRanges::Unranked => Ok(RewriteResult::Declined("the rank of the data is unknown".into())),
        SliceRanges::DynamicAxes(slice) => super::dynamic_axes::lower(&slice, cx),
        SliceRanges::Known(ranges) => {
            let data = cx.input(0)?;
            slice_ranges(cx, data, &ranges).map(RewriteResult::one)
        }
    }
}
