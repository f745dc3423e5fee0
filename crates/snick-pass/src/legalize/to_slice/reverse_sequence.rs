//! ReverseSequence: if every sequence is as long as the axis, a slice from the last element to the first. If
//! no sequence has more than one element, the data itself.

use snick_ir::ops::ReverseSequence;
use snick_ir::rewrite::{Patch, RewriteResult};
use snick_ir::{OpError, normalize_axis};
use snick_shape::AxisSlice;

use super::indices::slice_axes;

pub(super) fn lower(op: &ReverseSequence, cx: &mut Patch) -> Result<RewriteResult, OpError> {
    let facts = cx.input_facts()?;
    let [data, lengths] = &facts[..] else { return Ok(RewriteResult::NoMatch) };
    let (Some(dims), Some(lengths)) = (data.shape.dims(), lengths.ints()) else {
        return Ok(RewriteResult::NoMatch);
    };
    let seq = normalize_axis(op.seq_axis, dims.len())?;
    let batch = normalize_axis(op.batch_axis, dims.len())?;
    let (Some(dim), Some(count)) = (dims[seq].as_const(), dims[batch].as_const()) else {
        return Ok(RewriteResult::NoMatch);
    };
    let data = cx.input(0)?;
    if lengths.len() as i64 != count || lengths.iter().any(|&length| length < 0 || length > dim) {
        return Ok(RewriteResult::NoMatch); // fails when it runs
    }
    if lengths.iter().all(|&length| length <= 1) {
        return Ok(RewriteResult::one(data));
    }
    if lengths.iter().any(|&length| length != dim) {
        return Ok(RewriteResult::NoMatch);
    }
    let backwards = AxisSlice { start: dim - 1, len: dim, step: -1 };
    slice_axes(cx, data, &[(seq, backwards)]).map(RewriteResult::one)
}
