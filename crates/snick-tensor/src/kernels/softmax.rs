//! Softmax and its logarithm: OpenVINO's `Softmax-8` and `LogSoftmax-5`.

use crate::kernels::dispatch::{widen, with_real};
use crate::kernels::rows::Rows;
use crate::{Tensor, TensorError};

/// `e^x` along an axis, divided by its sum. The greatest is subtracted first, so nothing overflows.
///
/// # Errors
/// [`TensorError::AxisOutOfRange`]; [`TensorError::UnsupportedType`] unless floats.
pub fn softmax(input: &Tensor, axis: usize) -> Result<Tensor, TensorError> {
    along(input, axis, false)
}

/// The logarithm of [`softmax`], without the loss of taking it afterwards.
///
/// # Errors
/// As [`softmax`].
pub fn log_softmax(input: &Tensor, axis: usize) -> Result<Tensor, TensorError> {
    along(input, axis, true)
}

fn along(input: &Tensor, axis: usize, log: bool) -> Result<Tensor, TensorError> {
    let et = input.element_type();
    let [wide] = widen([input])?;
    let rows = Rows::new(&wide, &[axis])?;
    with_real!("Softmax", wide.element_type(), T => {
        let mut values = rows.tensor.units::<T>().into_owned();
        for row in values.chunks_exact_mut(rows.width().max(1)) {
            let greatest = row.iter().fold(T::NEG_INFINITY, |m, &x| m.max(x));
            row.iter_mut().for_each(|x| *x -= greatest);
            let sum: T = row.iter().map(|x| x.exp()).sum();
            let ln = sum.ln();
            row.iter_mut().for_each(|x| *x = if log { *x - ln } else { x.exp() / sum });
        }
        rows.restore(&Tensor::from_vec(rows.tensor.dims(), values)?)
    })?
    .cast(et)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_column_sums_to_one() {
        let ln3 = 3f32.ln();
        let t = Tensor::from_vec(&[2, 2], vec![1000.0, 0.0, 1000.0 + ln3, ln3]).unwrap();
        let s = softmax(&t, 0).unwrap().to_f32_vec().unwrap();
        for (found, expected) in s.iter().zip([0.25, 0.25, 0.75, 0.75]) {
            assert!((found - expected).abs() < 1e-4);
        }
        let l = log_softmax(&t, 0).unwrap().to_f32_vec().unwrap();
        assert!((l[3] - 0.75f32.ln()).abs() < 1e-6);
        assert!(softmax(&t, 2).is_err());
    }
}
