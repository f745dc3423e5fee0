//! GatherND: a slice if its index tuples are evenly spaced along one axis and equal along all others.

use snick_ir::OpError;
use snick_ir::ops::GatherNd;
use snick_ir::rewrite::{Patch, RewriteResult};
use snick_tensor::SmallVector;

use super::indices::{as_output, constant_indices, run_of, slice_axes, squeeze};

pub(super) fn lower(op: &GatherNd, cx: &mut Patch) -> Result<RewriteResult, OpError> {
    let facts = cx.input_facts()?;
    let [data, indices] = &facts[..] else { return Ok(RewriteResult::NoMatch) };
    let (Some(dims), Some(places)) = (data.shape.dims(), indices.shape.as_static()) else {
        return Ok(RewriteResult::NoMatch);
    };
    let (Some(&tuple), Some(numbers)) = (places.last(), constant_indices(indices)) else {
        return Ok(RewriteResult::NoMatch);
    };
    if op.batch_dims != 0 || tuple == 0 || tuple > dims.len() || numbers.is_empty() {
        return Ok(RewriteResult::NoMatch);
    }
    let mut slices: SmallVector<_, 4> = SmallVector::new();
    let mut along = None;
    for (axis, dim) in dims.iter().enumerate().take(tuple) {
        let sizes = cx.interval(dim);
        let mut column: Vec<i64> = numbers.iter().skip(axis).step_by(tuple).copied().collect();
        let is_one = column.iter().all(|index| Some(index) == column.first());
        match (is_one, along) {
            (true, _) => column.truncate(1),
            (false, None) => along = Some(axis),
            (false, Some(_)) => return Ok(RewriteResult::NoMatch),
        }
        match run_of(&column, sizes) {
            Some(slice) => slices.push((axis, slice)),
            None => return Ok(RewriteResult::NoMatch),
        }
    }
    let several = numbers.len() > tuple;
    if several && along.is_none() {
        return Ok(RewriteResult::NoMatch); // the same tuple repeated
    }
    let data = cx.input(0)?;
    let value = slice_axes(cx, data, &slices)?;
    let single: Vec<i64> = (0..tuple).filter(|&axis| along != Some(axis)).map(|axis| axis as i64).collect();
    let value = squeeze(cx, value, &single)?;
    Ok(as_output(cx, value)?.map_or(RewriteResult::NoMatch, RewriteResult::one))
}
