//! Adds layers that fail at run time wherever the primitive would fail.
//!
//! For a negative start or length, ordinary ops would count from the end, or select nothing. To force a
//! failure, a Concat joins a tensor of one row with a tensor of two rows: few other ops of the OpenVINO
//! runtime check shapes at run time.

use snick_ir::ops::GatherNd;
use snick_ir::ops::slice::dyn_axis_slice::DynAxisSlice;
use snick_ir::rewrite::Patch;
use snick_ir::{IntOrValue, Op, OpError};
use snick_tensor::Tensor;

use IntOrValue::Int;

/// The start of a slice, guarded so that the graph fails at run time if the start or `len` is too low.
pub(super) fn guarded_start(
    cx: &mut Patch,
    slice: &DynAxisSlice,
    start: IntOrValue,
    len: IntOrValue,
) -> Result<IntOrValue, OpError> {
    let is_clamped = |number: &IntOrValue| match number {
        Int(_) => true,
        IntOrValue::Value(value, _) => matches!(cx.op_of(*value), Op::Bounds(_)),
    };
    if [slice.start, slice.len].iter().all(is_clamped) {
        return Ok(start);
    }
    // The start of a slice must not be negative, except that an empty backward range may start at -1.
    let first = match (slice.start, len) {
        (IntOrValue::Value(_, within), IntOrValue::Value(..)) if within.lo() < 0 => {
            let taken = len.min(cx, Int(1))?;
            start.add(cx, Int(1))?.sub(cx, taken)?
        }
        _ => start,
    };
    let suspects = [first, len].into_iter().filter(|number| number.interval().lo() < 0);
    let least = match suspects.collect::<Vec<IntOrValue>>()[..] {
        [] => return Ok(start),
        [one] => one,
        _ => first.min(cx, len)?,
    };
    unless_negative(cx, least, start)
}

/// The start, guarded by a Concat that fails at run time if `least` is negative.
fn unless_negative(cx: &mut Patch, least: IntOrValue, start: IntOrValue) -> Result<IntOrValue, OpError> {
    let rows = least.less(cx, Int(0))?.select(cx, Int(2), Int(1))?;
    let shape = IntOrValue::vector(cx, &[rows, Int(1)])?;
    let start = start.materialize(cx)?;
    let repeated = cx.broadcast_to(start, shape)?;
    let one_row = cx.constant(Tensor::from_vec(&[1, 1], vec![0i64])?)?;
    let both = cx.concat(1, &[repeated, one_row])?;
    let corner = cx.ints(&[0, 0])?;
    let start = cx.add_op(GatherNd { batch_dims: 0, flattens_batch: false }, &[both, corner])?;
    IntOrValue::value(cx, start)
}
