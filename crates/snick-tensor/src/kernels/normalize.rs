//! Normalisation along axes: OpenVINO's `MVN-6` and `NormalizeL2-1`.

use crate::kernels::rows::Rows;
use crate::{ElementType, Tensor, TensorError};

/// Where the small number goes that keeps a divisor from being zero.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum EpsMode {
    /// `sqrt(x + eps)`.
    InsideSqrt,
    /// `sqrt(x) + eps`.
    OutsideSqrt,
    /// `sqrt(max(x, eps))`: NormalizeL2 only.
    Max,
}

impl EpsMode {
    fn root(self, x: f64, eps: f64) -> f64 {
        match self {
            EpsMode::InsideSqrt => (x + eps).sqrt(),
            EpsMode::OutsideSqrt => x.sqrt() + eps,
            EpsMode::Max => x.max(eps).sqrt(),
        }
    }
}

/// Subtracts the mean along `axes`; with `normalize_variance` divides by the standard deviation,
/// too. Mean and variance are accumulated in `f64`.
///
/// # Errors
/// [`TensorError::AxisOutOfRange`]; [`TensorError::UnsupportedType`] unless floats.
pub fn mvn(
    input: &Tensor,
    axes: &[usize],
    normalize_variance: bool,
    eps: f64,
    mode: EpsMode,
) -> Result<Tensor, TensorError> {
    rowwise("MVN", input, axes, |row| {
        let count = row.len() as f64;
        let mean = row.iter().sum::<f64>() / count;
        row.iter_mut().for_each(|x| *x -= mean);
        if normalize_variance {
            let variance = row.iter().map(|x| x * x).sum::<f64>() / count;
            let divisor = mode.root(variance, eps);
            row.iter_mut().for_each(|x| *x /= divisor);
        }
    })
}

/// Divides by the root of the sum of squares along `axes`. `eps` is added to the sum
/// ([`EpsMode::InsideSqrt`]) or is its least value ([`EpsMode::Max`]). No axes: each element is
/// divided by its own magnitude.
///
/// # Errors
/// As [`mvn`].
pub fn normalize_l2(input: &Tensor, axes: &[usize], eps: f64, mode: EpsMode) -> Result<Tensor, TensorError> {
    rowwise("NormalizeL2", input, axes, |row| {
        let divisor = mode.root(row.iter().map(|x| x * x).sum(), eps);
        row.iter_mut().for_each(|x| *x /= divisor);
    })
}

/// Changes every row along `axes`, in `f64`.
fn rowwise(
    op: &'static str,
    input: &Tensor,
    axes: &[usize],
    change: impl Fn(&mut [f64]),
) -> Result<Tensor, TensorError> {
    let et = input.element_type();
    if !et.is_float() {
        return Err(TensorError::UnsupportedType { op, element_type: et });
    }
    let rows = Rows::new(&input.cast(ElementType::F64)?, axes)?;
    let mut values = rows.tensor.units::<f64>().into_owned();
    values.chunks_exact_mut(rows.width().max(1)).for_each(change);
    rows.restore(&Tensor::from_vec(rows.tensor.dims(), values)?)?.cast(et)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_variance_go() {
        let t = Tensor::from_vec(&[2, 2], vec![1.0f32, 10.0, 3.0, 10.0]).unwrap();
        let of = |variance, eps, mode| mvn(&t, &[0], variance, eps, mode).unwrap().to_f32_vec().unwrap();
        assert_eq!(of(false, 0.0, EpsMode::InsideSqrt), [-1.0, 0.0, 1.0, 0.0]);
        assert_eq!(of(true, 3.0, EpsMode::InsideSqrt), [-0.5, 0.0, 0.5, 0.0]);
        assert_eq!(of(true, 3.0, EpsMode::OutsideSqrt), [-0.25, 0.0, 0.25, 0.0]);
    }

    #[test]
    fn unit_length() {
        let t = Tensor::from_vec(&[1, 2], vec![3.0f32, 4.0]).unwrap();
        let of = |eps, mode| normalize_l2(&t, &[1], eps, mode).unwrap().to_f32_vec().unwrap();
        assert_eq!(of(0.0, EpsMode::InsideSqrt), [0.6, 0.8]);
        assert_eq!(of(100.0, EpsMode::Max), [0.3, 0.4]);
    }
}
