//! Rotation along axes: OpenVINO's `Roll-7`.

use crate::kernels::concat::concat;
use crate::{Tensor, TensorError};

/// Moves every element by `shifts[i]` along `axes[i]`, wrapping around. Shifts of the same axis add up.
///
/// # Errors
/// [`TensorError::AxisOutOfRange`], [`TensorError::Argument`] unless there is one shift per axis.
pub fn roll(input: &Tensor, shifts: &[i64], axes: &[usize]) -> Result<Tensor, TensorError> {
    if shifts.len() != axes.len() {
        return Err(TensorError::argument("expected a shift for every axis"));
    }
    let mut rolled = input.clone();
    if input.is_empty() {
        axes.iter().try_for_each(|&axis| input.layout().check_axis(axis))?;
        return Ok(rolled);
    }
    for (&shift, &axis) in shifts.iter().zip(axes) {
        rolled.layout().check_axis(axis)?;
        let size = rolled.dims()[axis];
        let front = shift.rem_euclid(size as i64) as usize;
        if front > 0 {
            let tail = rolled.slice(axis, size - front, front, 1)?;
            let head = rolled.slice(axis, 0, size - front, 1)?;
            rolled = concat(&[&tail, &head], axis)?;
        }
    }
    Ok(rolled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn around_both_ends() {
        let t = Tensor::from_vec(&[2, 3], vec![0i32, 1, 2, 3, 4, 5]).unwrap();
        assert_eq!(roll(&t, &[1], &[1]).unwrap().to_i64_vec().unwrap(), [2, 0, 1, 5, 3, 4]);
        assert_eq!(roll(&t, &[-4, 3], &[1, 0]).unwrap().to_i64_vec().unwrap(), [4, 5, 3, 1, 2, 0]);
        assert!(roll(&t, &[1], &[2]).is_err());
    }
}
