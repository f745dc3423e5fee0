//! Indices of gather and scatter ops.

use snick_tensor::{Tensor, TensorError};

use crate::OpError;

/// The index as a position on an axis; negative indices count from the end.
pub(crate) fn position(index: i64, dim: usize) -> Option<usize> {
    let from_end = if index < 0 { i64::try_from(dim).ok()? } else { 0 };
    usize::try_from(index.checked_add(from_end)?).ok().filter(|&at| at < dim)
}

/// Like [`position`], but an index out of range is an error.
pub(crate) fn expect_position(index: i64, dim: usize) -> Result<usize, OpError> {
    match position(index, dim) {
        Some(at) => Ok(at),
        None => Err(OpError::Tensor(TensorError::IndexOutOfRange { index, dim })),
    }
}

/// Reads an input that must have one element, such as an axis.
pub(crate) fn scalar(what: &str, tensor: &Tensor) -> Result<i64, OpError> {
    match tensor.to_i64_vec()?.as_slice() {
        [value] => Ok(*value),
        other => Err(OpError::mismatch(what, format!("{} elements", other.len()), "one element")),
    }
}

/// The number of elements of a tensor with these dims.
pub(crate) fn count(dims: &[usize]) -> usize {
    dims.iter().fold(1usize, |n, &dim| n.saturating_mul(dim))
}

/// Moves `place` to the next index of a tensor with these dims, in row-major order. After the last comes the first.
pub(crate) fn advance(place: &mut [usize], dims: &[usize]) {
    for (at, &dim) in place.iter_mut().zip(dims).rev() {
        *at += 1;
        if *at < dim {
            return;
        }
        *at = 0;
    }
}
