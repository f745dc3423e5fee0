//! Reproducible random numbers: Philox 4x32-10, a counter-based generator.

use crate::ElementType::{BF16, F16, F32, F64, I32, I64};
use crate::buffer::filled;
use crate::layout::checked_len;
use crate::tensor::stored_bytes;
use crate::{Tensor, TensorError};

/// The four 32-bit numbers at position `counter` of the sequence with this key.
fn philox(counter: u64, global_seed: u64, op_seed: u64) -> [u32; 4] {
    const ROUNDS: usize = 10;
    let halves = |x: u64| [x as u32, (x >> 32) as u32];
    let product = |a: u32, b: u32| halves(u64::from(a) * u64::from(b));
    let ([mut a, mut b], [mut c, mut d]) = (halves(counter), halves(op_seed));
    let mut key = halves(global_seed);
    for _ in 0..ROUNDS {
        let ([low_a, high_a], [low_c, high_c]) = (product(0xD251_1F53, a), product(0xCD9E_8D57, c));
        (a, b, c, d) = (high_c ^ b ^ key[0], low_c, high_a ^ d ^ key[1], low_a);
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
    [a, b, c, d]
}

/// A tensor of `dims` and the type of `min`, uniformly distributed in `min..max`: OpenVINO's
/// `RandomUniform-8` with TensorFlow alignment. Floats except bf16 are generated as f32, and i64 within the
/// range of i32 as i32.
///
/// # Errors
/// [`TensorError::TypeMismatch`], [`TensorError::UnsupportedType`], [`TensorError::TooLarge`];
/// [`TensorError::Argument`] if a bound is not a single number, or the lower integer bound is not below the
/// upper one.
pub fn random_uniform(
    dims: &[usize],
    min: &Tensor,
    max: &Tensor,
    global_seed: u64,
    op_seed: u64,
) -> Result<Tensor, TensorError> {
    let et = min.element_type();
    max.expect(et)?;
    stored_bytes(et, dims)?;
    let len =
        checked_len(dims).ok_or_else(|| TensorError::TooLarge { element_type: et, dims: dims.into() })?;
    let words = (0..).flat_map(|at| philox(at, global_seed, op_seed));
    match et {
        F32 | F16 | F64 | BF16 => {
            let (lo, hi) = (one(&min.to_f32_vec()?)?, one(&max.to_f32_vec()?)?);
            // The low bits become the fraction of a number in 1..2; bf16 has seven of them.
            let unit = |x: u32| match et {
                BF16 => (x & 0x7f) as f32 / 128.0,
                _ => f32::from_bits((127 << 23) | (x & 0x7f_ffff)) - 1.0,
            };
            let mut values = filled(len, 0f32)?;
            values.iter_mut().zip(words).for_each(|(to, x)| *to = unit(x) * (hi - lo) + lo);
            Tensor::from_vec(dims, values)?.cast(et)
        }
        I32 | I64 => {
            let (lo, hi) = (one(&min.to_i64_vec()?)?, one(&max.to_i64_vec()?)?);
            let span = hi.checked_sub(lo).and_then(|span| u64::try_from(span).ok()).filter(|span| *span > 0);
            let span =
                span.ok_or_else(|| TensorError::argument(format!("minimum {lo} is not below maximum {hi}")))?;
            let draw = |x: u64| lo.wrapping_add((x % span) as i64);
            let narrow = i32::try_from(lo).is_ok() && i32::try_from(hi).is_ok();
            let mut values = filled(len, 0i64)?;
            if narrow {
                values.iter_mut().zip(words).for_each(|(to, x)| *to = draw(x.into()));
            } else {
                let wide = pairs(words).map(|(low, high)| u64::from(high) << 32 | u64::from(low));
                values.iter_mut().zip(wide).for_each(|(to, x)| *to = draw(x));
            }
            Tensor::from_vec(dims, values)?.cast(et)
        }
        element_type => Err(TensorError::UnsupportedType { element_type }),
    }
}

fn pairs(mut words: impl Iterator<Item = u32>) -> impl Iterator<Item = (u32, u32)> {
    std::iter::from_fn(move || words.next().zip(words.next()))
}

fn one<T: Copy>(values: &[T]) -> Result<T, TensorError> {
    match values {
        [value] => Ok(*value),
        _ => Err(TensorError::argument("minimum and maximum must be single numbers")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_dims_beside_a_zero_are_empty() {
        let bound = |value: f32| Tensor::from_slice(&[value], &[]).unwrap();
        let empty = random_uniform(&[usize::MAX, 2, 0], &bound(0.0), &bound(1.0), 1, 2).unwrap();
        assert_eq!(empty.dims(), [usize::MAX, 2, 0]);
    }

    #[test]
    fn known_answers() {
        // Test vectors by the authors of the generator: all zeros, all ones.
        assert_eq!(philox(0, 0, 0), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(
            philox(u64::MAX, u64::MAX, u64::MAX),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
    }

    #[test]
    fn within_bounds() {
        for et in [F32, F16, BF16, F64, I32, I64] {
            let [lo, hi] = [-3i32, 5].map(|bound| Tensor::scalar(bound).cast(et).unwrap());
            let draw = |seed| random_uniform(&[5, 50], &lo, &hi, seed, 7).unwrap();
            let values = draw(1).to_f64_vec().unwrap();
            assert!(values.iter().all(|v| (-3.0..=5.0).contains(v)), "{et}");
            assert!(values.iter().any(|v| *v < -1.0) && values.iter().any(|v| *v > 3.0), "{et}");
            assert_eq!(draw(1), draw(1));
            assert_ne!(draw(1), draw(2));
        }
        let wide = [Tensor::scalar(0i64), Tensor::scalar(i64::MAX)];
        let values = random_uniform(&[9], &wide[0], &wide[1], 1, 2).unwrap().to_i64_vec().unwrap();
        assert!(values.iter().any(|v| *v > i64::from(i32::MAX)));
        assert!(random_uniform(&[1], &wide[1], &wide[0], 1, 2).is_err());
        assert!(random_uniform(&[usize::MAX / 8], &wide[0], &wide[1], 1, 2).is_err());
    }
}
