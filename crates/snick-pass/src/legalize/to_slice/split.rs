//! Split: a slice for each output that has readers.

use snick_ir::ops::Split;
use snick_ir::ops::slice::split::known_axis;
use snick_ir::rewrite::{Patch, RewriteResult};
use snick_ir::{IntOrValue, OpError, Value};
use snick_shape::AxisSlice;

pub(super) fn lower(op: &Split, cx: &mut Patch) -> Result<RewriteResult, OpError> {
    let facts = cx.input_facts()?;
    let Some(dims) = facts[0].shape.dims() else {
        return Ok(RewriteResult::Declined("the rank of the data is unknown".into()));
    };
    let Some(axis) = known_axis(facts[1], dims.len())? else {
        return Ok(RewriteResult::Declined("which axis is split is known only at run time".into()));
    };
    let data = cx.input(0)?;
    if op.num_splits == 1 {
        return Ok(RewriteResult::one(data));
    }
    // On a static axis, each part is a slice. A dynamic axis is first split by a Reshape into an axis of
    // parts and an axis of elements, and each part is an index on the axis of parts. The Reshape fails for
    // the same sizes as Split.
    let part = cx.output_dim(0, axis)?.as_const().filter(|_| dims[axis].as_const().is_some());
    let data = match part {
        Some(_) => data,
        None => axis_of_parts(cx, data, dims.len(), axis, op.num_splits)?,
    };
    let mut values = Vec::new();
    for (k, is_used) in (0..op.num_splits).zip(cx.used_outputs()) {
        if !is_used {
            values.push(None);
            continue;
        }
        let len = part.unwrap_or(1);
        let start = k.checked_mul(len).ok_or_else(|| OpError::unsupported("an axis of this size"))?;
        let sliced = cx.slice(data, [(axis, AxisSlice { start, len, step: 1 })])?;
        values.push(Some(match part {
            Some(_) => sliced,
            None => cx.squeeze(sliced, &[axis as i64])?,
        }));
    }
    Ok(RewriteResult::Replaced(values))
}

/// Splits `axis` into an axis of parts and an axis of elements.
fn axis_of_parts(
    cx: &mut Patch,
    data: Value,
    rank: usize,
    axis: usize,
    parts: i64,
) -> Result<Value, OpError> {
    let parts = IntOrValue::Int(parts);
    let mut sizes = Vec::with_capacity(rank + 1);
    for at in 0..rank {
        let size = IntOrValue::dim(cx, data, at)?;
        match at == axis {
            true => sizes.extend([parts, size.div(cx, parts)?]),
            false => sizes.push(size),
        }
    }
    let sizes = IntOrValue::vector(cx, &sizes)?;
    cx.reshape_to(data, sizes)
}
