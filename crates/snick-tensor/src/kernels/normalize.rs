//! Normalisation along axes: OpenVINO's `MVN-6` and `NormalizeL2-1`.

use crate::buffer::Buffer;
use crate::kernels::dispatch::{widen, with_real};
use crate::kernels::rows::Blocks;
use crate::{Element, Tensor, TensorError};

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
    by_columns("MVN", input, axes, |block, inner| {
        let count = (block.len() / inner) as f64;
        let mut means = vec![0.0; inner];
        add_up(block, &mut means, |_, x| x);
        means.iter_mut().for_each(|mean| *mean /= count);
        let mut factors = vec![1.0; inner];
        if normalize_variance {
            factors.fill(0.0);
            add_up(block, &mut factors, |column, x| (x - means[column]) * (x - means[column]));
            factors.iter_mut().for_each(|sum| *sum = 1.0 / mode.root(*sum / count, eps));
        }
        (means, factors)
    })
}

/// Divides by the root of the sum of squares along `axes`. `eps` is added to the sum
/// ([`EpsMode::InsideSqrt`]) or is its least value ([`EpsMode::Max`]). No axes: each element is
/// divided by its own magnitude.
///
/// # Errors
/// As [`mvn`].
pub fn normalize_l2(input: &Tensor, axes: &[usize], eps: f64, mode: EpsMode) -> Result<Tensor, TensorError> {
    by_columns("NormalizeL2", input, axes, |block, inner| {
        let mut factors = vec![0.0; inner];
        add_up(block, &mut factors, |_, x| x * x);
        factors.iter_mut().for_each(|sum| *sum = 1.0 / mode.root(*sum, eps));
        (vec![0.0; inner], factors)
    })
}

/// Adds `f(column, x)` of every element to the sum of its column. A single column is summed in several parts.
fn add_up(block: &[f64], sums: &mut [f64], f: impl Fn(usize, f64) -> f64) {
    const PARTS: usize = 16;
    if let [sum] = sums {
        let mut parts = [0.0; PARTS];
        for line in block.chunks(PARTS) {
            for (part, &x) in parts.iter_mut().zip(line) {
                *part += f(0, x);
            }
        }
        *sum += parts.iter().sum::<f64>();
        return;
    }
    for line in block.chunks_exact(sums.len().max(1)) {
        for ((column, sum), &x) in sums.iter_mut().enumerate().zip(line) {
            *sum += f(column, x);
        }
    }
}

/// `(x - mean) * factor` of every element. `statistics` says the means and factors of the columns of a block, whose
/// lines are `inner` long.
fn by_columns(
    op: &'static str,
    input: &Tensor,
    axes: &[usize],
    statistics: impl Fn(&[f64], usize) -> (Vec<f64>, Vec<f64>),
) -> Result<Tensor, TensorError> {
    let et = input.element_type();
    if !et.is_float() {
        return Err(TensorError::UnsupportedType { op, element_type: et });
    }
    let [wide] = widen([input])?;
    let blocks = Blocks::new(&wide, axes)?;
    with_real!(op, wide.element_type(), T => {
        let from = blocks.tensor.units::<T>();
        let mut to = Buffer::any(from.len())?;
        let mut wide = Vec::new();
        for (from, to) in from.chunks_exact(blocks.size()).zip(to.chunks_exact_mut(blocks.size())) {
            wide.clear();
            wide.extend(from.iter().map(|&x| f64::from(x)));
            let (means, factors) = statistics(&wide, blocks.inner);
            for (from, to) in wide.chunks_exact(blocks.inner).zip(to.chunks_exact_mut(blocks.inner)) {
                for (((to, &x), mean), factor) in to.iter_mut().zip(from).zip(&means).zip(&factors) {
                    *to = ((x - mean) * factor) as T;
                }
            }
        }
        blocks.restore(Tensor::from_buffer(T::TYPE, blocks.tensor.dims(), to)?)
    })?
    .cast(et)
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
