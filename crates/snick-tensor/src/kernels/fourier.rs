//! The discrete Fourier transform of complex data, along any axes.

use crate::kernels::rows::Rows;
use crate::{ElementType, Tensor, TensorError};

/// Transforms `data` `[.., 2]` of real and imaginary parts along each of `axes`, which must not contain the
/// last axis. The inverse divides by the size of each axis. Computes in `f64`.
///
/// # Errors
/// [`TensorError::Argument`] if the size of the last axis is not 2 or `axes` contains it,
/// [`TensorError::AxisOutOfRange`], [`TensorError::UnsupportedType`] unless the elements are floats;
/// [`TensorError::FeatureOff`] without the feature `fft`.
pub fn fourier(data: &Tensor, axes: &[usize], inverse: bool) -> Result<Tensor, TensorError> {
    let parts = data.rank().checked_sub(1).filter(|&last| data.dims().get(last) == Some(&2));
    let Some(parts) = parts.filter(|parts| !axes.contains(parts)) else {
        return Err(TensorError::argument("the last axis must have size 2 and cannot be transformed"));
    };
    if !data.element_type().is_float() {
        return Err(TensorError::UnsupportedType { element_type: data.element_type() });
    }
    let mut wide = data.cast(ElementType::F64)?;
    for &axis in axes {
        wide = along(&wide, axis, parts, inverse)?;
    }
    wide.cast(data.element_type())
}

/// Transforms along one axis; `parts` is the last axis.
fn along(data: &Tensor, axis: usize, parts: usize, inverse: bool) -> Result<Tensor, TensorError> {
    data.layout().check_axis(axis)?;
    if data.is_empty() {
        return Ok(data.clone());
    }
    let rows = Rows::new(data, &[axis, parts])?;
    let numbers = rows.tensor.units::<f64>();
    let transformed = transform(&numbers, data.dims()[axis], inverse)?;
    rows.restore(&Tensor::from_vec(rows.tensor.dims(), transformed)?)
}

/// Transforms consecutive signals of `size` complex numbers.
#[cfg(feature = "fft")]
fn transform(numbers: &[f64], size: usize, inverse: bool) -> Result<Vec<f64>, TensorError> {
    use rustfft::num_complex::Complex;
    use rustfft::{FftDirection, FftPlanner};

    let mut signals: Vec<Complex<f64>> =
        numbers.chunks_exact(2).map(|pair| Complex::new(pair[0], pair[1])).collect();
    let direction = if inverse { FftDirection::Inverse } else { FftDirection::Forward };
    FftPlanner::new().plan_fft(size, direction).process(&mut signals);
    let divisor = if inverse { size as f64 } else { 1.0 };
    Ok(signals.iter().flat_map(|z| [z.re / divisor, z.im / divisor]).collect())
}

/// Without the feature `fft` there are no transforms.
#[cfg(not(feature = "fft"))]
fn transform(_: &[f64], _: usize, _: bool) -> Result<Vec<f64>, TensorError> {
    Err(TensorError::FeatureOff { what: "the discrete Fourier transform", feature: "fft" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "fft")]
    #[test]
    fn the_inverse_restores_the_data() {
        let values: Vec<f32> = (0..2 * 3 * 5 * 2).map(|i| (i * 7 % 11) as f32).collect();
        let data = Tensor::from_vec(&[2, 3, 5, 2], values.clone()).unwrap();
        let spectrum = fourier(&data, &[2, 0], false).unwrap();
        // Frequency 0 is the sum along both axes.
        let sum: f32 =
            (0..2).flat_map(|i| (0..5).map(move |j| (i, j))).map(|(i, j)| values[(i * 15 + j) * 2]).sum();
        assert!((spectrum.to_f32_vec().unwrap()[0] - sum).abs() < 1e-4);
        let back = fourier(&spectrum, &[0, 2], true).unwrap().to_f32_vec().unwrap();
        assert!(back.iter().zip(&values).all(|(a, b)| (a - b).abs() < 1e-4));
    }

    #[cfg(feature = "fft")]
    #[test]
    fn a_wave_is_one_frequency() {
        let wave = Tensor::from_vec(&[4, 2], vec![1f64, 0., 0., 1., -1., 0., 0., -1.]).unwrap();
        let spectrum = fourier(&wave, &[0], false).unwrap().to_f64_vec().unwrap();
        let expected = [0., 0., 4., 0., 0., 0., 0., 0.];
        assert!(spectrum.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12));
    }

    #[test]
    fn data_that_is_not_complex_is_refused() {
        let data = Tensor::from_vec(&[2, 3], vec![0f32; 6]).unwrap();
        assert!(fourier(&data, &[0], false).is_err());
        let complex = data.reshape(&[3, 2]).unwrap();
        assert!(fourier(&complex, &[1], false).is_err());
        assert!(fourier(&complex, &[2], false).is_err());
        assert_eq!(fourier(&complex, &[0], false).is_ok(), cfg!(feature = "fft"));
    }
}
