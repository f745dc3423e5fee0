//! Products with few rows, and products of integers: each row of C is a sum of multiples of rows of B.
//!
//! **Source.** The AXPY form of the product (`y += a x` of BLAS level 1), with four terms per pass.
//!
//! **Loop nest**, outer to inner: blocks of [`ROWS`] rows of A; four rows of B; rows of the block; columns.
//! Each block reads B once, in order, and loads and stores a row of C once per four terms.
//!
//! **Layout.** Nothing is packed. A may have any strides; the rows of B must be contiguous.
//!
//! **Order of sums.** Terms are added in order. **Threads.** Runs on one thread.

use crate::kernels::gemm::Matrix;
use crate::kernels::vectors::{Instructions, MultiplyAdd, Vectorised, dispatch_best};

/// The rows of A that share each read of B.
const ROWS: usize = 4;

/// Terms per pass over a row of the result.
const TERMS: usize = 4;

/// Stores `a * b` in `out`, row-major. The rows of `b` are contiguous.
pub(crate) fn axpy<T: MultiplyAdd>(a: &Matrix<T>, b: &Matrix<T>, out: &mut [T]) {
    dispatch_best(Axpy { a, b, out });
}

struct Axpy<'a, 'b, T> {
    a: &'a Matrix<'b, T>,
    b: &'a Matrix<'b, T>,
    out: &'a mut [T],
}

impl<T: MultiplyAdd> Vectorised for Axpy<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { a, b, out } = self;
        out.fill(T::default());
        let line = |k: usize| &b.data[b.at(k, 0)..][..b.columns];
        let whole = b.rows - b.rows % TERMS;
        for (block, out) in out.chunks_mut(ROWS * b.columns).enumerate() {
            let factor = |i: usize, k: usize| a.data[a.at(block * ROWS + i, k)];
            for first in (0..whole).step_by(TERMS) {
                let lines: [&[T]; TERMS] = std::array::from_fn(|k| line(first + k));
                for (i, out) in out.chunks_exact_mut(b.columns).enumerate() {
                    let [p, q, r, s]: [T; TERMS] = std::array::from_fn(|k| factor(i, first + k));
                    let lines = lines[0].iter().zip(lines[1]).zip(lines[2]).zip(lines[3]);
                    for (to, (((&w, &x), &y), &z)) in out.iter_mut().zip(lines) {
                        let sum = q.multiply_add::<I>(x, p.multiply_add::<I>(w, *to));
                        *to = s.multiply_add::<I>(z, r.multiply_add::<I>(y, sum));
                    }
                }
            }
            for k in whole..b.rows {
                for (i, out) in out.chunks_exact_mut(b.columns).enumerate() {
                    let factor = factor(i, k);
                    for (to, &x) in out.iter_mut().zip(line(k)) {
                        *to = factor.multiply_add::<I>(x, *to);
                    }
                }
            }
        }
    }
}
