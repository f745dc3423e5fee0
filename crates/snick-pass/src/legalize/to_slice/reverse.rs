//! Reverse: a slice from the last element to the first.

use snick_ir::OpError;
use snick_ir::ops::Reverse;
use snick_ir::ops::slice::axis_range::AxisRange;
use snick_ir::rewrite::{Patch, RewriteResult};

use super::range::slice_ranges;

pub(super) fn lower(op: &Reverse, cx: &mut Patch) -> Result<RewriteResult, OpError> {
    let facts = cx.input_facts()?;
    let Some(rank) = facts[0].shape.rank() else {
        return Ok(RewriteResult::Declined("the rank of the data is known only at run time".into()));
    };
    let Some(named) = facts[1].ints() else {
        return Ok(RewriteResult::Declined("which axes are reversed is known only at run time".into()));
    };
    let ranges: Vec<AxisRange> =
        op.axes(&named, rank)?.into_iter().map(|axis| AxisRange::ints(axis, None, None, -1)).collect();
    let data = cx.input(0)?;
    slice_ranges(cx, data, &ranges).map(RewriteResult::one)
}
