//! Normalisation along axes: OpenVINO's `MVN-6` and `NormalizeL2-1`.
//!
//! **Source.** Separate passes for the mean, the variance (the squared differences from the mean) and the
//! scaling. A single column is read as `f32` and added up in short runs, whose sums are added in `f64`; the
//! mean is two `f32`, so that differences from it are as exact as the elements. Numbers whose squares an `f32`
//! cannot hold, and several columns, are computed in `f64`.
//!
//! **Loop nest**, outer to inner: [`Blocks`]; passes; lines; columns.
//!
//! **Threads.** Each thread computes some blocks.

use std::ops::{Add, Mul, RangeInclusive, Sub};

use bytemuck::Pod;

use crate::buffer::Buffer;
use crate::kernels::dispatch::{widen, with_real};
use crate::kernels::eps_mode::EpsMode;
use crate::kernels::rows::{Blocks, PARTS, fold_in_parts};
use crate::kernels::vectors::{Instructions, Vectorised, dispatch_best};
use crate::{Element, SmallVector, Tensor, TensorError};

/// Subtracts the mean along `axes`, and with `normalize_variance` divides by the standard deviation.
///
/// # Errors
/// [`TensorError::AxisOutOfRange`]; [`TensorError::UnsupportedType`] unless the elements are floats.
pub fn mvn(
    input: &Tensor,
    axes: &[usize],
    normalize_variance: bool,
    eps: f64,
    mode: EpsMode,
) -> Result<Tensor, TensorError> {
    by_columns(input, axes, |block| {
        let count = block.count() as f64;
        // Differences from the first element add up more exactly than the elements.
        let mut means = block.first();
        let sums = block.sums(false, &means);
        means.iter_mut().zip(&sums).for_each(|(mean, sum)| *mean += sum / count);
        let factors = match normalize_variance {
            true => block.sums(true, &means).scaled(|sum| 1.0 / mode.root(sum / count, eps)),
            false => Columns::from_elem(1.0, block.inner()),
        };
        (means, factors)
    })
}

/// Divides by the root of the sum of squares along `axes`. `eps` is added to the sum
/// ([`EpsMode::InsideSqrt`]) or is its minimum ([`EpsMode::Max`]). Without axes each element is divided by
/// its absolute value.
///
/// # Errors
/// Same as [`mvn`].
pub fn normalize_l2(input: &Tensor, axes: &[usize], eps: f64, mode: EpsMode) -> Result<Tensor, TensorError> {
    by_columns(input, axes, |block| {
        let means = zeros(block.inner());
        let factors = block.sums(true, &means).scaled(|sum| 1.0 / mode.root(sum, eps));
        (means, factors)
    })
}

/// One value per column of a block. Most blocks have a single column.
type Columns = SmallVector<f64, 4>;

fn zeros(count: usize) -> Columns {
    Columns::from_elem(0.0, count)
}

trait Scaled {
    fn scaled(self, f: impl Fn(f64) -> f64) -> Self;
}

impl Scaled for Columns {
    fn scaled(mut self, f: impl Fn(f64) -> f64) -> Self {
        self.iter_mut().for_each(|x| *x = f(*x));
        self
    }
}

/// Sums over a block, for its statistics.
trait Block {
    /// The number of lines.
    fn count(&self) -> usize;
    /// The number of elements in a line.
    fn inner(&self) -> usize;
    /// The first element of each column, or 0 if it is not finite.
    fn first(&self) -> Columns;
    /// The sum of each column's differences from its mean, or of their squares.
    fn sums(&self, squared: bool, means: &[f64]) -> Columns;
}

struct Lines<'a, T> {
    block: &'a [T],
    inner: usize,
}

impl<T: Real> Block for Lines<'_, T> {
    fn count(&self) -> usize {
        self.block.len() / self.inner
    }

    fn inner(&self) -> usize {
        self.inner
    }

    fn first(&self) -> Columns {
        let finite = |&x: &T| Some(x.into()).filter(|x: &f64| x.is_finite()).unwrap_or(0.0);
        self.block[..self.inner].iter().map(finite).collect()
    }

    fn sums(&self, squared: bool, means: &[f64]) -> Columns {
        let mut sums = zeros(self.inner);
        dispatch_best(AddUp { block: self.block, means, squared, sums: &mut sums });
        sums
    }
}

struct AddUp<'a, T> {
    block: &'a [T],
    means: &'a [f64],
    squared: bool,
    sums: &'a mut [f64],
}

/// A type whose columns are added up in runs.
trait Real: Element + Pod + Into<f64> + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {
    /// The nearest number of this type.
    fn near(x: f64) -> Self;

    /// The mean in two parts, for [`Real::minus`].
    #[inline(always)]
    fn parts(mean: f64) -> [Self; 2] {
        let high = Self::near(mean);
        [high, Self::near(mean - high.into())]
    }

    /// The difference from a mean.
    #[inline(always)]
    fn minus(self, [high, low]: [Self; 2]) -> Self {
        self - high - low
    }
}

impl Real for f32 {
    #[inline(always)]
    fn near(x: f64) -> f32 {
        x as f32
    }
}

impl Real for f64 {
    #[inline(always)]
    fn near(x: f64) -> f64 {
        x
    }
}

/// Sizes of factors and of sums that an `f32` holds, with all that they are computed from.
const ORDINARY: RangeInclusive<f64> = 1e-30..=1e30;

impl<T: Real> Vectorised for AddUp<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { block, means, squared, sums } = self;
        if let ([sum], [mean]) = (&mut *sums, means) {
            let mean = T::parts(*mean);
            *sum = match squared {
                true => sum_of(block, |x| x.minus(mean) * x.minus(mean)),
                false => sum_of(block, |x| x.minus(mean)),
            };
            if ORDINARY.contains(&sum.abs()) {
                return;
            }
            *sum = 0.0;
        }
        for line in block.chunks_exact(sums.len().max(1)) {
            for ((sum, &x), mean) in sums.iter_mut().zip(line).zip(means) {
                let difference = x.into() - mean;
                *sum += if squared { difference * difference } else { difference };
            }
        }
    }
}

/// The sum of `f(x)` over a column.
#[inline(always)]
fn sum_of<T: Real>(column: &[T], f: impl Fn(T) -> T) -> f64 {
    /// Elements that are added in the type itself, at most 8 to a partial sum.
    const RUN: usize = 8 * PARTS;
    let mut sums = [0.0; PARTS];
    for run in column.chunks(RUN) {
        let parts = fold_in_parts(run, T::default(), |part, x| part + f(x));
        sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part.into());
    }
    sums.iter().sum()
}

/// `(x - mean) * factor` of every element of a block.
struct Apply<'a, T> {
    from: &'a [T],
    to: &'a mut [T],
    means: &'a [f64],
    factors: &'a [f64],
}

impl<T: Real> Vectorised for Apply<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { from, to, means, factors } = self;
        if let ([mean], [factor]) = (means, factors)
            && ORDINARY.contains(&factor.abs())
        {
            let (mean, factor) = (T::parts(*mean), T::near(*factor));
            return to.iter_mut().zip(from).for_each(|(to, x)| *to = x.minus(mean) * factor);
        }
        for (from, to) in from.chunks_exact(means.len()).zip(to.chunks_exact_mut(means.len())) {
            for (((to, &x), mean), factor) in to.iter_mut().zip(from).zip(means).zip(factors) {
                *to = T::near((x.into() - mean) * factor);
            }
        }
    }
}

/// `(x - mean) * factor` of every element. `statistics` returns the means and factors of the columns of a
/// block.
fn by_columns(
    input: &Tensor,
    axes: &[usize],
    statistics: impl Fn(&dyn Block) -> (Columns, Columns) + Sync,
) -> Result<Tensor, TensorError> {
    let et = input.element_type();
    if !et.is_float() {
        return Err(TensorError::UnsupportedType { element_type: et });
    }
    let [wide] = widen([input])?;
    let blocks = Blocks::new(&wide, axes)?;
    with_real!(wide.element_type(), T => {
        let mut to = Buffer::any(blocks.tensor.len())?;
        blocks.each_to(&mut to, |from: &[T], to| {
            let (means, factors) = statistics(&Lines { block: from, inner: blocks.inner });
            dispatch_best(Apply { from, to, means: &means, factors: &factors });
        });
        blocks.restore(Tensor::from_buffer(T::TYPE, blocks.tensor.dims(), to)?)
    })?
    .cast(et)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_becomes_zero_and_variance_one() {
        let t = Tensor::from_vec(&[2, 2], vec![1.0f32, 10.0, 3.0, 10.0]).unwrap();
        let of = |variance, eps, mode| mvn(&t, &[0], variance, eps, mode).unwrap().to_f32_vec().unwrap();
        assert_eq!(of(false, 0.0, EpsMode::InsideSqrt), [-1.0, 0.0, 1.0, 0.0]);
        assert_eq!(of(true, 3.0, EpsMode::InsideSqrt), [-0.5, 0.0, 0.5, 0.0]);
        assert_eq!(of(true, 3.0, EpsMode::OutsideSqrt), [-0.25, 0.0, 0.25, 0.0]);
    }

    #[test]
    fn any_size_and_any_mean_is_normalised() {
        let wave = |size: f64, mean: f64| (0..3000).map(move |i| mean + size * f64::from(i * 7919 % 1000));
        for (size, mean) in [(1.0, 0.0), (1e-3, 1e3), (1e-34, 0.0), (1e30, 1e33), (0.0, 7.0)] {
            let row: Vec<f32> = wave(size, mean).map(|x| x as f32).collect();
            let t = Tensor::from_vec(&[1, 3000], row.clone()).unwrap();
            let found = mvn(&t, &[1], true, 1e-300, EpsMode::InsideSqrt).unwrap().to_f64_vec().unwrap();
            let average = |of: &dyn Fn(f64) -> f64| row.iter().map(|&x| of(x.into())).sum::<f64>() / 3000.0;
            let mean = average(&|x| x);
            let deviation = (average(&|x| (x - mean) * (x - mean)) + 1e-300).sqrt();
            for (found, &x) in found.iter().zip(&row) {
                let expected = (f64::from(x) - mean) / deviation;
                assert!((found - expected).abs() < 1e-6, "{size} {mean}: {found}, expected {expected}");
            }
        }
    }

    #[test]
    fn unit_length() {
        let t = Tensor::from_vec(&[1, 2], vec![3.0f32, 4.0]).unwrap();
        let of = |eps, mode| normalize_l2(&t, &[1], eps, mode).unwrap().to_f32_vec().unwrap();
        assert_eq!(of(0.0, EpsMode::InsideSqrt), [0.6, 0.8]);
        assert_eq!(of(100.0, EpsMode::Max), [0.3, 0.4]);
    }
}
