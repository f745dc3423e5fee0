//! Arithmetic sequences: OpenVINO's `Range-4`.

use crate::buffer::filled;
use crate::tensor::stored_bytes;
use crate::{ElementType, Tensor, TensorError};
/// `start, start + step, ..` up to but not including `stop`, as elements of type `et`. The three are scalars
/// of any numeric type; if `et` is an integer type they are truncated first.
///
/// Floats are converted to `et` first. Each element is the previous one plus the step, rounded to `et`, as in
/// OpenVINO.
///
/// # Errors
/// [`TensorError::Argument`] unless all are single finite numbers and the step is not 0;
/// [`TensorError::TooLarge`].
pub fn range(start: &Tensor, stop: &Tensor, step: &Tensor, et: ElementType) -> Result<Tensor, TensorError> {
    let one = |t: &Tensor| match t.len() {
        1 => Ok(()),
        _ => Err(TensorError::argument("start, stop and step must be single numbers")),
    };
    [start, stop, step].into_iter().try_for_each(one)?;
    let zero_step = || TensorError::argument("the step is 0");
    if et.is_integer() {
        let [start, stop, step] = [start.to_i64_vec()?[0], stop.to_i64_vec()?[0], step.to_i64_vec()?[0]];
        let (distance, stride) = (i128::from(stop) - i128::from(start), i128::from(step));
        if step == 0 {
            return Err(zero_step());
        }
        let count = if (distance > 0) == (stride > 0) {
            distance.unsigned_abs().div_ceil(stride.unsigned_abs())
        } else {
            0
        };
        let len = checked(et, usize::try_from(count).ok())?;
        let mut values = filled(len, start)?;
        for (i, value) in values.iter_mut().enumerate() {
            *value = start.wrapping_add((i as i64).wrapping_mul(step));
        }
        return Tensor::from_vec(&[len], values)?.cast(et);
    }
    let own = |t: &Tensor| t.cast(et)?.to_f64_vec().map(|v| v[0]);
    let [start, stop, step] = [own(start)?, own(stop)?, own(step)?];
    if step == 0.0 {
        return Err(zero_step());
    }
    let count = ((stop - start) / step).ceil().max(0.0);
    if ![start, stop, step].iter().all(|x| x.is_finite()) {
        return Err(TensorError::argument("start, stop and step must be finite"));
    }
    // Ranges longer than 2^53 are too large anyway.
    let len = checked(et, Some(count as usize))?;
    let mut values = filled(len, start)?;
    let round: fn(f64) -> f64 = match et {
        ElementType::F32 => |x| f64::from(x as f32),
        ElementType::F16 => |x| half::f16::from_f64(x).to_f64(),
        ElementType::BF16 => |x| half::bf16::from_f64(x).to_f64(),
        _ => |x| x,
    };
    let mut next = start;
    for value in &mut values {
        *value = next;
        next = round(next + step);
    }
    Tensor::from_vec(&[len], values)?.cast(et)
}

/// The length, unless a tensor of this length is too large, either in type `et` or in the 64-bit type in
/// which it is computed.
fn checked(et: ElementType, len: Option<usize>) -> Result<usize, TensorError> {
    let len = len.unwrap_or(usize::MAX);
    stored_bytes(et, &[len])?;
    stored_bytes(ElementType::I64, &[len]).map_err(|error| error.with_element_type(et))?;
    Ok(len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ElementType::{F32, I32};

    #[test]
    fn ascending_descending_and_empty() {
        let of = |a: i32, b: i32, s: i32| {
            range(&Tensor::scalar(a), &Tensor::scalar(b), &Tensor::scalar(s), I32)
                .map(|t| t.to_i64_vec().unwrap())
        };
        assert_eq!(of(2, 9, 3).unwrap(), [2, 5, 8]);
        assert_eq!(of(3, 0, -1).unwrap(), [3, 2, 1]);
        assert!(of(3, 0, 1).unwrap().is_empty());
        assert!(of(3, 3, -1).unwrap().is_empty());
        assert!(of(0, 1, 0).is_err());
        let halves = range(&Tensor::scalar(0.0f32), &Tensor::scalar(1.2f32), &Tensor::scalar(0.5f32), F32);
        assert_eq!(halves.unwrap().to_f32_vec().unwrap(), [0.0, 0.5, 1.0]);
        let tenths = range(&Tensor::scalar(0.0f32), &Tensor::scalar(1.0f32), &Tensor::scalar(0.1f32), F32);
        assert_eq!(tenths.unwrap().to_f32_vec().unwrap()[7..9], [0.700_000_05, 0.800_000_1]);
        let far = range(&Tensor::scalar(0i64), &Tensor::scalar(i64::MAX), &Tensor::scalar(1i64), I32);
        assert!(far.is_err());
    }
}
