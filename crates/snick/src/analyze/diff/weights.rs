//! Differences between the elements of two constants.

use snick_ir::ops::source::constant::Constant;
use snick_ir::text::digest;
use snick_tensor::{ElementType, Tensor, TensorError};

/// The differences between the elements of two constants.
#[derive(Copy, Clone, PartialEq, Debug, serde::Serialize)]
#[non_exhaustive]
pub struct WeightChange {
    /// The fraction of elements that differ.
    pub differ: f64,
    /// The largest absolute difference. It is infinite or NaN if an element is infinite or NaN, and NaN for
    /// strings.
    pub max_abs: f64,
}

/// The result of comparing two constants.
pub(super) enum Compared {
    Same,
    /// Types, dims or elements differ, or the elements of only one constant are known. The change is given if
    /// both constants have elements, and equally many.
    Different(Option<WeightChange>),
    /// Types and dims are equal, but neither constant has elements or a digest of them.
    Unknown,
}

/// Number of elements that are compared at a time, to limit the memory for converted elements.
const CHUNK: usize = 1 << 16;

/// Compares two constants.
pub(super) fn compare(a: &Constant, b: &Constant) -> Compared {
    let is_alike = a.element_type() == b.element_type() && a.dims() == b.dims();
    match (a, b) {
        (Constant::Here(x), Constant::Here(y)) => match is_alike && x.to_bytes() == y.to_bytes() {
            true => Compared::Same,
            false => Compared::Different(changes(x, y).ok().flatten()),
        },
        _ if !is_alike => Compared::Different(None),
        _ => match (known_digest(a), known_digest(b)) {
            (Some(x), Some(y)) if x == y => Compared::Same,
            (None, None) => Compared::Unknown,
            _ => Compared::Different(None),
        },
    }
}

fn known_digest(constant: &Constant) -> Option<u64> {
    match constant {
        Constant::Here(tensor) => Some(digest(&tensor.to_bytes())),
        Constant::Absent(absent) => absent.digest,
    }
}

/// Compares elements in row-major order. Returns `None` if the numbers of elements differ, or if all elements
/// are equal.
fn changes(a: &Tensor, b: &Tensor) -> Result<Option<WeightChange>, TensorError> {
    let len = a.len();
    let is_text = [a, b].map(|tensor| tensor.element_type() == ElementType::String);
    if len != b.len() || is_text[0] != is_text[1] {
        return Ok(None);
    }
    let (mut differ, mut max_abs) = (0usize, 0f64);
    if is_text[0] {
        differ = a.as_strings()?.iter().zip(b.as_strings()?).filter(|(x, y)| *x != y).count();
        max_abs = f64::NAN;
    } else {
        let (a, b) = (a.reshape(&[len])?, b.reshape(&[len])?);
        for start in (0..len).step_by(CHUNK) {
            let part = |tensor: &Tensor| tensor.slice(0, start, CHUNK.min(len - start), 1);
            for change in differences(&part(&a)?, &part(&b)?)? {
                differ += 1;
                // Once the maximum is NaN, it stays NaN.
                max_abs = if change <= max_abs || max_abs.is_nan() { max_abs } else { change };
            }
        }
    }
    Ok((differ > 0).then(|| WeightChange { differ: differ as f64 / len as f64, max_abs }))
}

/// The absolute differences between corresponding elements, for elements that are not equal.
fn differences(a: &Tensor, b: &Tensor) -> Result<Vec<f64>, TensorError> {
    let is_exact = |tensor: &Tensor| tensor.element_type().is_integer();
    if is_exact(a) && is_exact(b) {
        let pairs = integers(a)?.into_iter().zip(integers(b)?);
        return Ok(pairs.filter(|(x, y)| x != y).map(|(x, y)| x.abs_diff(y) as f64).collect());
    }
    let pairs = a.to_f64_vec()?.into_iter().zip(b.to_f64_vec()?);
    let differing = pairs.filter(|(x, y)| x.to_bits() != y.to_bits());
    Ok(differing.map(|(x, y)| (x - y).abs()).collect())
}

fn integers(tensor: &Tensor) -> Result<Vec<i128>, TensorError> {
    Ok(match tensor.element_type() {
        ElementType::U64 => tensor.values::<u64>()?.iter().map(|&v| v.into()).collect(),
        _ => tensor.to_i64_vec()?.into_iter().map(i128::from).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(a: Tensor, b: Tensor) -> Option<(f64, f64)> {
        match compare(&Constant::new(a.into()), &Constant::new(b.into())) {
            Compared::Different(change) => change.map(|change| (change.differ, change.max_abs)),
            _ => None,
        }
    }

    #[test]
    fn shares_and_largest_differences() -> Result<(), TensorError> {
        let floats = |values: &[f32]| Tensor::from_slice(values, &[values.len()]);
        assert_eq!(change(floats(&[1., 2., 3., 4.])?, floats(&[1., 2.5, 3., 2.])?), Some((0.5, 2.0)));
        assert_eq!(change(floats(&[1., f32::NAN])?, floats(&[1., f32::NAN])?), None);
        let to_nan = change(floats(&[1., 2., 9.])?, floats(&[f32::NAN, 3., 0.])?);
        assert!(to_nan.is_some_and(|(differ, max_abs)| differ == 1.0 && max_abs.is_nan()));
        assert_eq!(change(floats(&[1., 2.])?, floats(&[1., 2., 3.])?), None);
        // These numbers have no exact floating-point representation.
        let large = |v: u64| Tensor::from_slice(&[v, 1], &[2]);
        assert_eq!(change(large(u64::MAX)?, large(u64::MAX - 1)?), Some((0.5, 1.0)));
        let halves = floats(&[0.5, 0.1])?.cast(ElementType::F16)?;
        assert!(
            change(floats(&[0.5, 0.1])?, halves)
                .is_some_and(|(differ, max_abs)| { differ == 0.5 && max_abs > 0.0 && max_abs < 1e-3 })
        );
        let long = Tensor::zeros(ElementType::I8, &[3 * CHUNK])?;
        let ones = Tensor::full(&[3, CHUNK], 1i8)?;
        assert_eq!(change(long, ones), Some((1.0, 1.0)));
        Ok(())
    }
}
