//! Products with few rows or few columns: sums along memory, without packing the large matrix.

use std::borrow::Cow;

use super::{Gemm, Matrix};
use crate::kernels::vectors::{Instructions, Vector, Vectorised, widest};

/// Whether a product with `few` rows, or columns, is narrow. Each element costs some time of its own, which only long
/// sums are worth.
fn is_narrow(few: usize, depth: usize) -> bool {
    few <= 2 || (few <= 4 && depth >= 64) || (few <= 8 && depth >= 256)
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

/// The elements, row after row: where they lie if they lie so.
fn packed<'a, T: Gemm>(matrix: &Matrix<'a, T>) -> Cow<'a, [T]> {
    let Matrix { data, rows, columns, row_step, column_step, .. } = *matrix;
    let along = column_step == 1 || columns == 1;
    if along && (row_step == columns as isize || rows == 1) {
        let start = matrix.at(0, 0).min(data.len());
        return Cow::Borrowed(&data[start..][..rows * columns]);
    }
    let mut all = Vec::with_capacity(rows * columns);
    for row in 0..rows {
        all.extend((0..columns).map(|column| data[matrix.at(row, column)]));
    }
    Cow::Owned(all)
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
            // Four at a time read the long row once.
            let count = self.few.len() / self.depth.max(1);
            for j in (0..count).step_by(4) {
                let others = &self.few[j * self.depth..];
                match count - j {
                    1 => self.some::<I, 1, 4>(row, others, i, j),
                    2 => self.some::<I, 2, 4>(row, others, i, j),
                    3 => self.some::<I, 3, 2>(row, others, i, j),
                    _ => self.some::<I, 4, 2>(row, others, i, j),
                }
            }
        }
    }
}

impl<T: Gemm, P: FnMut(usize, usize, T)> Dots<'_, T, P> {
    /// The sums of row `i` with the `FEW` rows that `others` begins with, of which the first is row `j`.
    #[inline(always)]
    fn some<I: Instructions, const FEW: usize, const SUMS: usize>(
        &mut self,
        row: &[T],
        others: &[T],
        i: usize,
        j: usize,
    ) {
        for (k, sum) in dots::<I, T, FEW, SUMS>(row, others).into_iter().enumerate() {
            (self.place)(i, j + k, sum);
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

/// The sums of products of a row with each of the first `FEW` of others as long, each in `SUMS` vectors that are added up at the end.
#[allow(clippy::needless_range_loop, reason = "only loops over indices are unrolled in time")]
#[inline(always)]
fn dots<I: Instructions, T: Gemm, const FEW: usize, const SUMS: usize>(
    row: &[T],
    others: &[T],
) -> [T; FEW] {
    let lanes = T::Vector::<I>::LANES;
    let mut each = [row; FEW];
    for j in 0..FEW {
        each[j] = &others[j * row.len()..][..row.len()];
    }
    let mut sums = [[T::Vector::<I>::splat(T::default()); SUMS]; FEW];
    let mut at = 0;
    while row.len() - at >= SUMS * lanes {
        for i in 0..SUMS {
            let x = T::Vector::<I>::load(&row[at + i * lanes..]);
            for j in 0..FEW {
                sums[j][i] = x.multiply_add(T::Vector::<I>::load(&each[j][at + i * lanes..]), sums[j][i]);
            }
        }
        at += SUMS * lanes;
    }
    while at < row.len() {
        let x = padded::<I, T>(&row[at..]);
        for j in 0..FEW {
            sums[j][0] = x.multiply_add(padded::<I, T>(&each[j][at..]), sums[j][0]);
        }
        at += lanes;
    }
    let mut all = [T::default(); FEW];
    for j in 0..FEW {
        let mut sum = sums[j][0];
        for i in 1..SUMS {
            sum = sum.plus(sums[j][i]);
        }
        all[j] = total::<I, T>(sum);
    }
    all
}

/// A vector of the first elements, and zeros after the last one.
#[inline(always)]
fn padded<I: Instructions, T: Gemm>(from: &[T]) -> T::Vector<I> {
    if from.len() >= T::Vector::<I>::LANES {
        return T::Vector::<I>::load(from);
    }
    let mut all = [T::default(); MOST_LANES];
    all.iter_mut().zip(from).for_each(|(to, &x)| *to = x);
    T::Vector::<I>::load(&all)
}

/// The lanes of a vector added up, halves on halves.
#[inline(always)]
fn total<I: Instructions, T: Gemm>(vector: T::Vector<I>) -> T {
    let mut all = [T::default(); MOST_LANES];
    vector.store(&mut all);
    for width in [8, 4, 2, 1] {
        for i in 0..width {
            all[i] = all[i] + all[i + width];
        }
    }
    all[0]
}

/// Lanes of the longest vector.
const MOST_LANES: usize = 16;
