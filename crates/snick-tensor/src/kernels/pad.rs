//! Pads a tensor: OpenVINO's `Pad-1` and `Pad-12`.

use crate::kernels::concat::concat;
use crate::tensor::stored_bytes;
use crate::{Dims, Tensor, TensorError};
/// The values of the added elements.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum PadMode {
    /// A given value, or zero.
    Constant,
    /// The element at the edge.
    Edge,
    /// Mirrored at the edge element, which is not repeated.
    Reflect,
    /// Mirrored at the edge, repeating the edge element.
    Symmetric,
}

/// Adds `begin[i]` elements before and `end[i]` after axis `i`; negative counts crop. [`PadMode::Constant`]
/// fills with `value`, a scalar of the same type, or with zeros.
///
/// Concatenates views of the input, axis by axis.
///
/// # Errors
/// [`TensorError::Argument`] if counts are missing, or crop or mirror more elements than the axis has;
/// [`TensorError::TypeMismatch`]; [`TensorError::TooLarge`].
pub fn pad(
    input: &Tensor,
    begin: &[isize],
    end: &[isize],
    mode: PadMode,
    value: Option<&Tensor>,
) -> Result<Tensor, TensorError> {
    if begin.len() != input.rank() || end.len() != input.rank() {
        return Err(TensorError::argument("expected a pad for both ends of every axis"));
    }
    let fill = match value {
        Some(value) => value.clone(),
        None => Tensor::zeros(input.element_type(), &[])?,
    };
    fill.expect(input.element_type())?;
    let mut dims = Dims::new();
    for ((&dim, &before), &after) in input.dims().iter().zip(begin).zip(end) {
        let size = dim as i128 + before as i128 + after as i128;
        dims.push(usize::try_from(size).map_err(|_| {
            TensorError::argument(format!(
                "pads {before} and {after} crop more than the {dim} elements of the axis"
            ))
        })?);
    }
    stored_bytes(input.element_type(), &dims)?;
    let mut padded = input.clone();
    // Starts with the last axis: padding it copies short runs, which is slow, so it is done while the tensor
    // is small.
    for (axis, (&before, &after)) in begin.iter().zip(end).enumerate().rev() {
        padded = pad_axis(&padded, axis, before, after, mode, &fill)?;
    }
    Ok(padded)
}

fn pad_axis(
    input: &Tensor,
    axis: usize,
    before: isize,
    after: isize,
    mode: PadMode,
    fill: &Tensor,
) -> Result<Tensor, TensorError> {
    let size = input.dims()[axis];
    let crop = |count: isize| if count < 0 { count.unsigned_abs() } else { 0 };
    let added = |count: isize| usize::try_from(count).unwrap_or(0);
    let (low, high) = (crop(before), crop(after));
    // One side may crop more than the input has, into the elements that the other side adds.
    let (front, back) = (added(before), added(after));
    if low.saturating_add(high) > size {
        let whole = pad_axis(input, axis, before.max(0), after.max(0), mode, fill)?;
        return whole.slice(axis, low, size + front + back - low - high, 1);
    }
    let parts = |count: usize, at_front: bool| -> Result<Vec<Tensor>, TensorError> {
        if count == 0 {
            return Ok(Vec::new());
        }
        let short = || TensorError::argument(format!("cannot pad {count} elements from an axis of {size}"));
        let mut dims = Dims::from_slice(input.dims());
        dims[axis] = count;
        let mirrored = |skip: usize| {
            // `skip` and `count` are counted inwards from the edge; the mirrored elements are in reverse
            // order.
            let farthest = skip + count;
            if farthest > size {
                return Err(short());
            }
            let start = if at_front { farthest - 1 } else { size - 1 - skip };
            input.slice(axis, start, count, -1)
        };
        Ok(vec![match mode {
            PadMode::Constant => fill.reshape(&[])?.broadcast_to(&dims)?,
            PadMode::Edge if size == 0 => return Err(short()),
            PadMode::Edge => {
                let at = if at_front { 0 } else { size - 1 };
                input.slice(axis, at, 1, 1)?.broadcast_to(&dims)?
            }
            PadMode::Reflect => mirrored(1)?,
            PadMode::Symmetric => mirrored(0)?,
        }])
    };
    let kept = input.slice(axis, low, size - low - high, 1)?;
    let (first, last) = (parts(front, true)?, parts(back, false)?);
    if first.is_empty() && last.is_empty() {
        return Ok(kept);
    }
    let all: Vec<&Tensor> = first.iter().chain([&kept]).chain(&last).collect();
    concat(&all, axis)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(mode: PadMode, begin: isize, end: isize) -> Result<Vec<i64>, TensorError> {
        let t = Tensor::from_vec(&[4], vec![1i32, 2, 3, 4]).unwrap();
        pad(&t, &[begin], &[end], mode, Some(&Tensor::scalar(9i32)))?.to_i64_vec()
    }

    #[test]
    fn each_mode_at_both_ends() {
        assert_eq!(of(PadMode::Constant, 1, 2).unwrap(), [9, 1, 2, 3, 4, 9, 9]);
        assert_eq!(of(PadMode::Edge, 2, 1).unwrap(), [1, 1, 1, 2, 3, 4, 4]);
        assert_eq!(of(PadMode::Reflect, 3, 2).unwrap(), [4, 3, 2, 1, 2, 3, 4, 3, 2]);
        assert_eq!(of(PadMode::Symmetric, 2, 4).unwrap(), [2, 1, 1, 2, 3, 4, 4, 3, 2, 1]);
        assert!(of(PadMode::Reflect, 4, 0).is_err());
        assert!(of(PadMode::Symmetric, 0, 5).is_err());
    }

    #[test]
    fn negative_counts_crop() {
        assert_eq!(of(PadMode::Constant, -1, -2).unwrap(), [2]);
        assert_eq!(of(PadMode::Constant, -1, 1).unwrap(), [2, 3, 4, 9]);
        assert_eq!(of(PadMode::Constant, -5, 3).unwrap(), [9, 9]);
        assert!(of(PadMode::Constant, -3, -2).is_err());
    }

    #[test]
    fn two_axes_and_no_value() {
        let t = Tensor::from_vec(&[1, 1], vec![5u8]).unwrap();
        let padded = pad(&t, &[1, 0], &[0, 1], PadMode::Constant, None).unwrap();
        assert_eq!((padded.dims(), &padded.to_bytes()[..]), (&[2, 2][..], &[0, 0, 5, 0][..]));
    }
}
