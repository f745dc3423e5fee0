//! Normalisation along axes: OpenVINO's `MVN-6` and `NormalizeL2-1`.
//!
//! **Source.** Separate passes for the mean, the variance (the squared differences from the mean) and the
//! scaling.
//!
//! **Loop nest**, outer to inner: [`Blocks`]; passes; lines; columns.
//!
//! **Threads.** Each thread computes some blocks.

use crate::buffer::Buffer;
use crate::kernels::dispatch::{widen, with_real};
use crate::kernels::eps_mode::EpsMode;
use crate::kernels::rows::Blocks;
use crate::kernels::vectors::{Instructions, Vectorised, dispatch_best};
use crate::{Element, SmallVector, Tensor, TensorError};

/// Subtracts the mean along `axes`, and with `normalize_variance` divides by the standard deviation. Mean and
/// variance are accumulated in `f64`.
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
        let means = block.sums(false, &zeros(block.inner())).scaled(|sum| sum / count);
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
    /// The sum of each column's differences from its mean, or of their squares.
    fn sums(&self, squared: bool, means: &[f64]) -> Columns;
}

struct Lines<'a, T> {
    block: &'a [T],
    inner: usize,
}

impl<T: Copy + Into<f64>> Block for Lines<'_, T> {
    fn count(&self) -> usize {
        self.block.len() / self.inner
    }

    fn inner(&self) -> usize {
        self.inner
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

impl<T: Copy + Into<f64>> Vectorised for AddUp<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { block, means, squared, sums } = self;
        match squared {
            true => add_up(block, means, sums, |x| x * x),
            false => add_up(block, means, sums, |x| x),
        }
    }
}

/// Adds `f(x - mean)` of all lines to the sum of each column. A single column uses partial sums, so that the
/// compiler vectorises them.
#[inline(always)]
fn add_up<T: Copy + Into<f64>>(block: &[T], means: &[f64], sums: &mut [f64], f: impl Fn(f64) -> f64) {
    const PARTS: usize = 32;
    if let ([sum], [mean]) = (&mut *sums, means) {
        let mut parts = [0.0; PARTS];
        let (lines, rest) = block.as_chunks::<PARTS>();
        for line in lines {
            for (part, &x) in parts.iter_mut().zip(line) {
                *part += f(x.into() - mean);
            }
        }
        for (part, &x) in parts.iter_mut().zip(rest) {
            *part += f(x.into() - mean);
        }
        *sum = parts.iter().sum::<f64>();
        return;
    }
    for line in block.chunks_exact(sums.len().max(1)) {
        for ((sum, &x), mean) in sums.iter_mut().zip(line).zip(means) {
            *sum += f(x.into() - mean);
        }
    }
}

/// `(x - mean) * factor` of every element of a block.
struct Apply<'a, T> {
    from: &'a [T],
    to: &'a mut [T],
    means: &'a [f64],
    factors: &'a [f64],
}

macro_rules! apply {
    ($($t:ident)*) => {$(
        impl Vectorised for Apply<'_, $t> {
            type Output = ();

            #[inline(always)]
            fn run<I: Instructions>(self) {
                let Self { from, to, means, factors } = self;
                if let ([mean], [factor]) = (means, factors) {
                    let pairs = to.iter_mut().zip(from);
                    return pairs.for_each(|(to, &x)| *to = ((f64::from(x) - mean) * factor) as $t);
                }
                for (from, to) in from.chunks_exact(means.len()).zip(to.chunks_exact_mut(means.len())) {
                    for (((to, &x), mean), factor) in to.iter_mut().zip(from).zip(means).zip(factors) {
                        *to = ((f64::from(x) - mean) * factor) as $t;
                    }
                }
            }
        }
    )*};
}

apply!(f32 f64);

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
    fn unit_length() {
        let t = Tensor::from_vec(&[1, 2], vec![3.0f32, 4.0]).unwrap();
        let of = |eps, mode| normalize_l2(&t, &[1], eps, mode).unwrap().to_f32_vec().unwrap();
        assert_eq!(of(0.0, EpsMode::InsideSqrt), [0.6, 0.8]);
        assert_eq!(of(100.0, EpsMode::Max), [0.3, 0.4]);
    }
}
