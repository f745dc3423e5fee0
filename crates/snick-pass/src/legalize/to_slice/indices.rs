//! Helpers for ops that select elements by constant indices. Such an op is a slice if the indices along an
//! axis are evenly spaced.

use snick_ir::rewrite::Patch;
use snick_ir::{Fact, OpError, Value};
use snick_shape::{AxisSlice, Interval, SymExpr};
use snick_tensor::{SmallVector, Tensor};

/// Maximum number of indices to examine.
const MAX_INDICES: usize = 1 << 20;

/// The constant indices of an input in row-major order; `None` if they are unknown or too many.
pub(super) fn constant_indices(fact: &Fact) -> Option<Vec<i64>> {
    match fact.as_tensor() {
        Some(tensor) if tensor.len() <= MAX_INDICES && tensor.element_type().is_integer() => {
            Tensor::to_i64_vec(tensor).ok()
        }
        _ => fact.ints().map(|ints| ints.to_vec()),
    }
}

/// The slice that selects the elements at `indices`, in this order, from an axis with a size in `sizes`.
/// Negative indices count from the end. `None` if the indices are unevenly spaced, or out of range for some
/// of the sizes.
pub(super) fn run_of(indices: &[i64], sizes: Interval) -> Option<AxisSlice> {
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

/// Adds a slice of `data`, omitting axes that are known to be selected as a whole.
pub(super) fn slice_axes(
    cx: &mut Patch,
    data: Value,
    slices: &[(usize, AxisSlice)],
) -> Result<Value, OpError> {
    let dims = cx.dims(data)?.unwrap_or_default();
    let is_whole = |axis: usize, slice: AxisSlice| {
        dims.get(axis).and_then(SymExpr::as_const).is_some_and(|dim| slice.is_whole(dim))
    };
    cx.slice(data, slices.iter().copied().filter(|&(axis, slice)| !is_whole(axis, slice)))
}

/// Adds a Squeeze of these axes, or returns `value` if there are none.
pub(super) fn squeeze(cx: &mut Patch, value: Value, axes: &[i64]) -> Result<Value, OpError> {
    if axes.is_empty() { Ok(value) } else { cx.squeeze(value, axes) }
}

/// Reshapes `value` to the shape of the node's output if necessary. `None` if more than one dim is unknown,
/// because no constant target can express such a shape.
pub(super) fn as_output(cx: &mut Patch, value: Value) -> Result<Option<Value>, OpError> {
    let (Some(from), Some(to)) = (cx.dims(value)?, cx.dims(cx.output(0))?) else { return Ok(None) };
    if from == to {
        return Ok(Some(value));
    }
    let target: SmallVector<i64, 4> = to.iter().map(|dim| dim.as_const().unwrap_or(-1)).collect();
    let unknown = target.iter().filter(|&&dim| dim == -1).count();
    if unknown > 1 || (unknown == 1 && target.contains(&0)) {
        return Ok(None);
    }
    cx.reshape(value, &target).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_in_equal_steps_are_slices() {
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

    #[test]
    fn long_lists_and_floats_are_no_indices() {
        let is_searched = |tensor: Tensor| constant_indices(&Fact::constant(tensor.into())).is_some();
        let ints = |len: usize| Tensor::from_vec(&[len], vec![0i32; len]).unwrap();
        assert!(is_searched(ints(MAX_INDICES)));
        assert!(!is_searched(ints(MAX_INDICES + 1)));
        assert!(!is_searched(Tensor::from_vec(&[1], vec![0f32]).unwrap()));
    }
}
