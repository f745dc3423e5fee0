//! Gather: a slice if it selects one index or evenly spaced indices. A Gather of a single element of a vector
//! is kept: such layers are common in shape computations, where they do not slice a tensor.

use snick_ir::ops::Gather;
use snick_ir::ops::slice::axis_range::AxisRange;
use snick_ir::rewrite::{Patch, RewriteResult};
use snick_ir::{OpError, normalize_axis};

use super::indices::{as_output, constant_indices, run_of, slice_axes, squeeze};
use super::range::slice_ranges;

pub(super) fn lower(op: &Gather, cx: &mut Patch) -> Result<RewriteResult, OpError> {
    let facts = cx.input_facts()?;
    let [data, indices, axis] = &facts[..] else { return Ok(RewriteResult::NoMatch) };
    let (Some(dims), Some(places), Some(axis)) = (data.shape.dims(), indices.shape.as_static(), axis.ints())
    else {
        return Ok(RewriteResult::NoMatch);
    };
    let (Some(&axis), Some(numbers)) = (axis.first(), constant_indices(indices)) else {
        return Ok(RewriteResult::NoMatch);
    };
    let axis = normalize_axis(axis, dims.len())?;
    if op.batch(places.len(), axis)? != 0 {
        return Ok(RewriteResult::NoMatch);
    }
    let sizes = cx.interval(&dims[axis]);
    let value = cx.input(0)?;
    match (places.as_slice(), numbers.as_slice()) {
        ([], _) if dims.len() < 2 => Ok(RewriteResult::NoMatch),
        // An index that is out of range may select zeros, which a slice cannot express.
        ([], &[index]) if op.selects_or_fails(index, sizes) => {
            let value = slice_ranges(cx, value, &[AxisRange::element(axis, index)])?;
            squeeze(cx, value, &[axis as i64]).map(RewriteResult::one)
        }
        (_, numbers) => {
            let Some(slice) = run_of(numbers, sizes) else { return Ok(RewriteResult::NoMatch) };
            let value = slice_axes(cx, value, &[(axis, slice)])?;
            let value = match places.len() {
                0 => Some(squeeze(cx, value, &[axis as i64])?),
                1 => Some(value),
                _ => as_output(cx, value)?,
            };
            Ok(value.map_or(RewriteResult::NoMatch, RewriteResult::one))
        }
    }
}
