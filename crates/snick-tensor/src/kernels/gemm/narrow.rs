//! Products with few rows or few columns: sums along memory, without packing the large matrix.

use super::{Gemm, Matrix};
use crate::kernels::vectors::{Instructions, Vector, Vectorised, widest};

/// Whether a product with `few` rows, or columns, is narrow. Each element costs some time of its own, which only long
/// sums are worth.
fn is_narrow(few: usize, depth: usize) -> bool {
    few <= 2 || (few <= 8 && depth >= 256)
}

/// Up to so many rows the rows of the right matrix are better added up one by one: it is read once, in order.
const FEW_ROWS: usize = 3;

/// Writes `a * b` into `out`, row after row, if one of the two is narrow and the other lies in memory as that needs
/// it; otherwise nothing is done and the answer is `false`.
pub(crate) fn narrow<T: Gemm>(a: &Matrix<T>, b: &Matrix<T>, out: &mut [T]) -> bool {
    let (columns, depth) = (b.columns, b.rows);
    if is_narrow(columns, depth) && a.column_step == 1 {
        let few = packed(&b.turned());
        widest(Dots { long: a, few: &few, depth, place: |i, j, sum| out[i * columns + j] = sum });
    } else if is_narrow(a.rows, depth) && b.row_step == 1 {
        let few = packed(a);
        widest(Dots { long: &b.turned(), few: &few, depth, place: |j, i, sum| out[i * columns + j] = sum });
    } else if a.rows <= FEW_ROWS && b.column_step == 1 {
        widest(Axpy { a, b, out });
    } else {
        return false;
    }
    true
}

/// The elements, row after row.
fn packed<T: Gemm>(matrix: &Matrix<T>) -> Vec<T> {
    let (rows, columns) = (0..matrix.rows, matrix.columns);
    rows.flat_map(|row| (0..columns).map(move |column| matrix.data[matrix.at(row, column)])).collect()
}

/// The sums of products of each row of a matrix with each of a few rows.
struct Dots<'a, T, P> {
    long: &'a Matrix<'a, T>,
    few: &'a [T],
    depth: usize,
    /// `place(row of long, row of few, sum)`
    place: P,
}

impl<T: Gemm, P: FnMut(usize, usize, T)> Vectorised for Dots<'_, T, P> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(mut self) {
        for i in 0..self.long.rows {
            let at = self.long.at(i, 0);
            let row = &self.long.data[at.min(self.long.data.len())..][..self.depth];
            for (j, other) in self.few.chunks_exact(self.depth.max(1)).enumerate() {
                (self.place)(i, j, dot::<I, T>(row, other));
            }
        }
    }
}

/// The rows of `b`, times the elements of each row of `a`, added up.
struct Axpy<'a, 'b, T> {
    a: &'a Matrix<'b, T>,
    b: &'a Matrix<'b, T>,
    out: &'a mut [T],
}

impl<T: Gemm> Vectorised for Axpy<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        /// Rows of `b` added at a time.
        const ROWS: usize = 4;
        let Self { a, b, out } = self;
        out.fill(T::default());
        let row = |k: usize| &b.data[b.at(k, 0)..][..b.columns];
        let whole = b.rows - b.rows % ROWS;
        for first in (0..whole).step_by(ROWS) {
            let rows: [&[T]; ROWS] = std::array::from_fn(|k| row(first + k));
            for (i, out) in out.chunks_exact_mut(b.columns).enumerate() {
                let [p, q, r, s]: [T; ROWS] = std::array::from_fn(|k| a.data[a.at(i, first + k)]);
                let lines = rows[0].iter().zip(rows[1]).zip(rows[2]).zip(rows[3]);
                for (to, (((&w, &x), &y), &z)) in out.iter_mut().zip(lines) {
                    let sum = q.multiply_add::<I>(x, p.multiply_add::<I>(w, *to));
                    *to = s.multiply_add::<I>(z, r.multiply_add::<I>(y, sum));
                }
            }
        }
        for k in whole..b.rows {
            for (i, out) in out.chunks_exact_mut(b.columns).enumerate() {
                let factor = a.data[a.at(i, k)];
                for (to, &x) in out.iter_mut().zip(row(k)) {
                    *to = factor.multiply_add::<I>(x, *to);
                }
            }
        }
    }
}

/// The sum of products of two rows, in several sums that are added up at the end.
#[inline(always)]
fn dot<I: Instructions, T: Gemm>(a: &[T], b: &[T]) -> T {
    const SUMS: usize = 4;
    let lanes = T::Vector::<I>::LANES;
    let mut sums = [T::Vector::<I>::splat(T::default()); SUMS];
    let (mut blocks_a, mut blocks_b) = (a.chunks_exact(SUMS * lanes), b.chunks_exact(SUMS * lanes));
    for (a, b) in (&mut blocks_a).zip(&mut blocks_b) {
        for (i, sum) in sums.iter_mut().enumerate() {
            let load = |from: &[T]| T::Vector::<I>::load(&from[i * lanes..]);
            *sum = load(a).multiply_add(load(b), *sum);
        }
    }
    let [p, q, r, s] = sums;
    let mut all = [T::default(); 16];
    p.plus(q).plus(r.plus(s)).store(&mut all);
    for width in [8, 4, 2, 1] {
        for i in 0..width {
            all[i] = all[i] + all[i + width];
        }
    }
    let rest = blocks_a.remainder().iter().zip(blocks_b.remainder());
    rest.fold(all[0], |sum, (&x, &y)| x.multiply_add::<I>(y, sum))
}
