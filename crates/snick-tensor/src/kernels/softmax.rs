//! Softmax and its logarithm: OpenVINO's `Softmax-8` and `LogSoftmax-5`.
//!
//! **Source.** Three passes: the maximum, the exponentials with their sum, the scaling.
//!
//! **Loop nest**, outer to inner: [`Blocks`]; passes; lines; columns. A contiguous row is a block with one
//! column, and is folded into several accumulators; otherwise each column is a separate softmax, and vectors
//! run over columns.
//!
//! **Threads.** Each thread computes some blocks.

use crate::buffer::Buffer;
use crate::kernels::dispatch::{widen, with_real};
use crate::kernels::gemm::Gemm;
use crate::kernels::math;
use crate::kernels::rows::{Blocks, fold_in_parts};
use crate::kernels::vectors::{Instructions, Vectorised, dispatch_best, run_baseline};
use crate::{Element, Tensor, TensorError};

/// The exponentials along an axis, divided by their sum. The maximum is subtracted first to avoid overflow.
///
/// # Errors
/// [`TensorError::AxisOutOfRange`]; [`TensorError::UnsupportedType`] unless the elements are floats.
pub fn softmax(input: &Tensor, axis: usize) -> Result<Tensor, TensorError> {
    along(input, axis, false)
}

/// The logarithm of [`softmax`], computed without dividing first, which is more precise.
///
/// # Errors
/// Same as [`softmax`].
pub fn log_softmax(input: &Tensor, axis: usize) -> Result<Tensor, TensorError> {
    along(input, axis, true)
}

fn along(input: &Tensor, axis: usize, log: bool) -> Result<Tensor, TensorError> {
    let et = input.element_type();
    let [wide] = widen([input])?;
    let blocks = Blocks::new(&wide, &[axis])?;
    with_real!(wide.element_type(), T => {
        let mut to = Buffer::any(blocks.tensor.len())?;
        blocks.each_to(&mut to, |from: &[T], to| T::run(Block { from, to, inner: blocks.inner, log }));
        blocks.restore(Tensor::from_buffer(T::TYPE, blocks.tensor.dims(), to)?)
    })?
    .cast(et)
}

/// A block, in which each column is a separate softmax.
struct Block<'a, T> {
    from: &'a [T],
    to: &'a mut [T],
    inner: usize,
    log: bool,
}

impl<T: SoftmaxElement> Vectorised for Block<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        match self.inner {
            1 => self.row::<I>(),
            _ => self.columns::<I>(),
        }
    }
}

impl<T: SoftmaxElement> Block<'_, T> {
    #[inline(always)]
    fn row<I: Instructions>(self) {
        let Self { from, to, log, .. } = self;
        let greater = |m: T, x: T| if m < x { x } else { m };
        let greatest = fold_in_parts(from, T::LEAST, greater).into_iter().fold(T::LEAST, greater);
        for (to, &x) in to.iter_mut().zip(from) {
            *to = (x - greatest).exp::<I>();
        }
        let sum = fold_in_parts(to, T::ZERO, |sum, x| sum + x).into_iter().fold(T::ZERO, |sum, x| sum + x);
        if log {
            let ln = sum.ln();
            to.iter_mut().zip(from).for_each(|(to, &x)| *to = x - greatest - ln);
        } else {
            let scale = T::ONE / sum;
            to.iter_mut().for_each(|x| *x = *x * scale);
        }
    }

    #[inline(always)]
    fn columns<I: Instructions>(self) {
        let Self { from, to, inner, log } = self;
        let mut greatest = vec![T::LEAST; inner];
        for line in from.chunks_exact(inner) {
            for (most, &x) in greatest.iter_mut().zip(line) {
                *most = if *most < x { x } else { *most };
            }
        }
        let mut sums = vec![T::ZERO; inner];
        for (from, to) in from.chunks_exact(inner).zip(to.chunks_exact_mut(inner)) {
            for (((to, &x), &most), sum) in to.iter_mut().zip(from).zip(&greatest).zip(&mut sums) {
                let power = (x - most).exp::<I>();
                *sum = *sum + power;
                *to = if log { x - most } else { power };
            }
        }
        if log {
            sums.iter_mut().for_each(|sum| *sum = sum.ln());
        }
        for to in to.chunks_exact_mut(inner) {
            for (to, &sum) in to.iter_mut().zip(&sums) {
                *to = if log { *to - sum } else { *to / sum };
            }
        }
    }
}

/// Floats that softmax supports.
trait SoftmaxElement: Gemm + std::ops::Sub<Output = Self> + std::ops::Div<Output = Self> {
    const ZERO: Self;
    const ONE: Self;
    const LEAST: Self;
    /// Runs a kernel for elements of this type.
    fn run<W: Vectorised>(work: W) -> W::Output;
    fn exp<I: Instructions>(self) -> Self;
    fn ln(self) -> Self;
}

macro_rules! real {
    ($($t:ident: $run:ident, $exp:expr);*) => {$(
        impl SoftmaxElement for $t {
            const ZERO: $t = 0.0;
            const ONE: $t = 1.0;
            const LEAST: $t = $t::NEG_INFINITY;

            fn run<W: Vectorised>(work: W) -> W::Output {
                $run(work)
            }

            #[inline(always)]
            fn exp<I: Instructions>(self) -> $t {
                $exp(self)
            }

            #[inline(always)]
            fn ln(self) -> $t {
                $t::ln(self)
            }
        }
    )*};
}

real!(f32: dispatch_best, math::exp_or_zero::<I>; f64: run_baseline, f64::exp);

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
