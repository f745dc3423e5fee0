//! Repetition: OpenVINO's `Tile-1`.

use crate::tensor::stored_bytes;
use crate::{Dims, Tensor, TensorError};

/// Repeats the input along each axis: a strided copy of a broadcast view. The shorter of dims and `repeats`
/// is padded with 1 at the front.
///
/// # Errors
/// [`TensorError::TooLarge`].
pub fn tile(input: &Tensor, repeats: &[usize]) -> Result<Tensor, TensorError> {
    let rank = input.rank().max(repeats.len());
    let at = |of: &[usize], i: usize| (i + of.len()).checked_sub(rank).map_or(1, |i| of[i]);
    let (mut flat, mut pairs, mut repeated) = (Dims::new(), Dims::new(), Dims::new());
    for i in 0..rank {
        let (times, dim) = (at(repeats, i), at(input.dims(), i));
        pairs.extend([1, dim]);
        repeated.extend([times, dim]);
        flat.push(times.saturating_mul(dim));
    }
    stored_bytes(input.element_type(), &flat)?;
    input.reshape(&pairs)?.broadcast_to(&repeated)?.contiguous().reshape(&flat)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_axes_are_prepended() {
        let t = Tensor::from_vec(&[2], vec![1u8, 2]).unwrap();
        let tiled = tile(&t, &[2, 2]).unwrap();
        assert_eq!(tiled.dims(), [2, 4]);
        assert_eq!(tiled.to_bytes()[..], [1, 2, 1, 2, 1, 2, 1, 2]);
        assert_eq!(tile(&t.unsqueeze(0).unwrap(), &[2]).unwrap().dims(), [1, 4]);
        assert_eq!(tile(&t, &[0]).unwrap().len(), 0);
        assert!(tile(&t, &[usize::MAX]).is_err());
    }
}
