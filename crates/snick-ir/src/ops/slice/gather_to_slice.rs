//! Lowering ops that pick elements by constant indices: an arithmetic run along an axis is a slice of it.

use smallvec::SmallVec;
use snick_shape::{AxisSlice, Interval, SymExpr};
use snick_tensor::Tensor;

use super::primitive::Slice;
use crate::rewrite::Patch;
use crate::{Attrs, Fact, OpError, Value};

/// Longer lists of indices are not looked through.
const MAX_INDICES: usize = 1 << 20;

/// The constant indices of an input, row-major; `None` if they are not known in numbers, or too many.
pub(crate) fn constant_indices(fact: &Fact) -> Option<Vec<i64>> {
    match fact.as_tensor() {
        Some(tensor) if tensor.len() <= MAX_INDICES && tensor.element_type().is_integer() => {
            Tensor::to_i64_vec(tensor).ok()
        }
        _ => fact.ints().map(|ints| ints.to_vec()),
    }
}

/// The slice that takes the elements `indices`, in this order, of an axis whose size lies in `sizes`. Negative indices
/// count from the end. `None` where the indices are no run, or some size has no such elements.
pub(crate) fn run_of(indices: &[i64], sizes: Interval) -> Option<AxisSlice> {
    let from_end = |index: i64| match sizes.is_exact() {
        Some(dim) if index < 0 => index.checked_add(dim),
        _ => Some(index),
    };
    let (Some(&first), len) = (indices.first(), i64::try_from(indices.len()).ok()?) else {
        return Some(AxisSlice::EMPTY);
    };
    let start = from_end(first)?;
    let step = match indices.get(1) {
        Some(&second) => from_end(second)?.checked_sub(start)?,
        None => 1,
    };
    let mut want = start;
    for &index in indices {
        if from_end(index)? != want || !(0..sizes.lo()).contains(&want) {
            return None;
        }
        want = want.checked_add(step)?;
    }
    (step != 0).then_some(AxisSlice { start, len, step })
}

/// Adds the slice of `data`; axes known to be whole are left out.
pub(crate) fn slice_axes(
    cx: &mut Patch,
    data: Value,
    slices: &[(usize, AxisSlice)],
) -> Result<Value, OpError> {
    let dims = cx.dims(data)?.unwrap_or_default();
    let is_whole = |axis: usize, slice: AxisSlice| {
        dims.get(axis).and_then(SymExpr::as_const).is_some_and(|dim| slice.is_whole(dim))
    };
    let kept = slices.iter().copied().filter(|&(axis, slice)| !is_whole(axis, slice));
    let kept: SmallVec<[(usize, AxisSlice); 2]> = kept.collect();
    if kept.is_empty() { Ok(data) } else { cx.add_op(Slice::fixed(kept), &[data]) }
}

/// Adds a Squeeze of these axes, if there are any.
pub(crate) fn squeeze(cx: &mut Patch, value: Value, axes: &[i64]) -> Result<Value, OpError> {
    if axes.is_empty() {
        return Ok(value);
    }
    let axes = cx.ints(axes)?;
    cx.make("Squeeze", Attrs::new(), &[value, axes])
}

/// Adds what gives `value` the shape of the node's output: nothing, or a Reshape. `None` where the shape leaves more
/// than one dim open, so that no constant says it.
pub(crate) fn as_output(cx: &mut Patch, value: Value) -> Result<Option<Value>, OpError> {
    let (Some(from), Some(to)) = (cx.dims(value)?, cx.dims(cx.output(0))?) else { return Ok(None) };
    if from == to {
        return Ok(Some(value));
    }
    let target: SmallVec<[i64; 4]> = to.iter().map(|dim| dim.as_const().unwrap_or(-1)).collect();
    let open = target.iter().filter(|&&dim| dim == -1).count();
    if open > 1 || (open == 1 && target.contains(&0)) {
        return Ok(None);
    }
    let target = cx.ints(&target)?;
    cx.make("Reshape", Attrs::new().with("special_zero", false), &[value, target]).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_slices() {
        let of = |indices: &[i64], lo, hi| {
            run_of(indices, Interval::new(lo, hi).unwrap()).map(|s| (s.start, s.len, s.step))
        };
        assert_eq!(of(&[1, 3, 5], 6, 9), Some((1, 3, 2)));
        assert_eq!(of(&[1, 3, 5], 5, 9), None);
        assert_eq!(of(&[-1, 1, 0], 3, 3), Some((2, 3, -1)));
        assert_eq!(of(&[-1], 3, 4), None);
        assert_eq!(of(&[-1], 3, 3), Some((2, 1, 1)));
        assert_eq!(of(&[2, 2], 3, 3), None);
        assert_eq!(of(&[0, 1, 3], 9, 9), None);
        assert_eq!(of(&[], 0, 9), Some((0, 0, 1)));
        assert_eq!(of(&[i64::MIN, i64::MAX], 9, 9), None);
    }
}
