//! Cumulative sums along an axis.

use crate::ElementType::{F32, F64, I64};
use crate::buffer::filled;
use crate::layout::checked_len;
use crate::{PodElement, Tensor, TensorError};

/// Element `i` along `axis` becomes the sum of the elements up to `i`. `exclusive` excludes element `i`, and
/// `reverse` sums from the end. Integers wrap.
///
/// # Errors
/// [`TensorError::AxisOutOfRange`], [`TensorError::UnsupportedType`] for booleans and strings; memory.
pub fn running_sum(
    input: &Tensor,
    axis: usize,
    exclusive: bool,
    reverse: bool,
) -> Result<Tensor, TensorError> {
    input.layout().check_axis(axis)?;
    let et = input.element_type();
    let summed = match et {
        F64 => run(input, axis, exclusive, reverse, |a: f64, b| a + b)?,
        _ if et.is_float() => run(&input.cast(F32)?, axis, exclusive, reverse, |a: f32, b| a + b)?,
        // A wrapping 64-bit sum is correct for every narrower type.
        _ if et.is_integer() => run(&input.cast(I64)?, axis, exclusive, reverse, i64::wrapping_add)?,
        element_type => return Err(TensorError::UnsupportedType { element_type }),
    };
    summed.cast(et)
}

fn run<T: PodElement>(
    input: &Tensor,
    axis: usize,
    exclusive: bool,
    reverse: bool,
    add: impl Fn(T, T) -> T,
) -> Result<Tensor, TensorError> {
    let values = input.values::<T>()?;
    let mut out = filled(values.len(), T::default())?;
    let len = input.dims()[axis];
    let inner = checked_len(&input.dims()[axis + 1..]).unwrap_or(0);
    if !values.is_empty() {
        let block = len * inner;
        for (from, to) in values.chunks_exact(block).zip(out.chunks_exact_mut(block)) {
            for column in 0..inner {
                let mut sum = T::default();
                for step in 0..len {
                    let at = (if reverse { len - 1 - step } else { step }) * inner + column;
                    let next = add(sum, from[at]);
                    to[at] = if exclusive { sum } else { next };
                    sum = next;
                }
            }
        }
    }
    Tensor::from_vec(input.dims(), out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_way_and_either_kind() {
        let x = Tensor::from_vec(&[2, 2], vec![1f32, 2.0, 3.0, 4.0]).unwrap();
        let of = |axis, e, r| running_sum(&x, axis, e, r).unwrap().to_f32_vec().unwrap();
        assert_eq!(of(1, false, false), [1.0, 3.0, 3.0, 7.0]);
        assert_eq!(of(0, false, true), [4.0, 6.0, 3.0, 4.0]);
        assert_eq!(of(1, true, true), [2.0, 0.0, 4.0, 0.0]);
        assert!(running_sum(&x, 2, false, false).is_err());
        let none = Tensor::zeros(F32, &[2, 0]).unwrap();
        assert_eq!(running_sum(&none, 0, false, false).unwrap(), none);
    }
}
