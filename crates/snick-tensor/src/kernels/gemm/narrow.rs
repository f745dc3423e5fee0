//! Products with few rows or few columns: sums along memory, without packing the large matrix.

use super::{Gemm, Matrix};
use crate::kernels::vectors::{Instructions, Vectorised, widest};

/// Up to so many rows or columns a product is narrow.
pub(crate) const NARROW: usize = 8;

/// Writes `a * b` into `out`, row after row, if one of the two is narrow and the other has the summed axis along
/// memory; otherwise nothing is done and the answer is `false`.
pub(crate) fn narrow<T: Gemm>(a: &Matrix<T>, b: &Matrix<T>, out: &mut [T]) -> bool {
    let (columns, depth) = (b.columns, b.rows);
    if columns <= NARROW && a.column_step == 1 {
        let few = packed(&b.turned());
        widest(Dots { long: a, few: &few, depth, place: |i, j, sum| out[i * columns + j] = sum });
    } else if a.rows <= NARROW && b.row_step == 1 {
        let few = packed(a);
        widest(Dots { long: &b.turned(), few: &few, depth, place: |j, i, sum| out[i * columns + j] = sum });
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

/// The sum of products of two rows, in several sums that are added up at the end.
#[inline(always)]
fn dot<I: Instructions, T: Gemm>(a: &[T], b: &[T]) -> T {
    const LANES: usize = 32;
    let mut sums = [T::default(); LANES];
    let ((a, rest_a), (b, rest_b)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        for ((sum, &x), &y) in sums.iter_mut().zip(a).zip(b) {
            *sum = x.multiply_add::<I>(y, *sum);
        }
    }
    for ((sum, &x), &y) in sums.iter_mut().zip(rest_a).zip(rest_b) {
        *sum = x.multiply_add::<I>(y, *sum);
    }
    let mut width = LANES / 2;
    while width > 0 {
        for i in 0..width {
            sums[i] = sums[i] + sums[i + width];
        }
        width /= 2;
    }
    sums[0]
}
