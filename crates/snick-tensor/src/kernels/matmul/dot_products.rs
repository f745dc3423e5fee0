//! Products with few rows or few columns: each element of C is one dot product along contiguous memory.
//!
//! **Source.** The dot-product form of GEMV (BLAS level 2). The large operand is read once, in place.
//!
//! **Loop nest**, outer to inner: lines of the long operand (rows of A or columns of B); lines of the short
//! operand, four at a time; terms. If the short operand is a single line, four lines of the long operand
//! share each load of it.
//!
//! **Layout.** The lines of the long operand are contiguous. The short operand is copied unless it is
//! contiguous.
//!
//! **Order of sums.** Terms are distributed over the lanes of two vectors, whose sum is then reduced by
//! halves. Sums shorter than a vector are sequential, as in all other algorithms: the layout of the operands
//! selects the algorithm, and small products should not depend on it.
//!
//! **Threads.** Each thread reads some lines of the long operand.

use std::borrow::Cow;

use crate::kernels::gemm::{Gemm, Matrix, columns_of};
use crate::kernels::sharing;
use crate::kernels::vectors::{Instructions, Vector, Vectorised, dispatch_best, prefetch};

/// Stores `a * b` in `out`, row-major. The rows of `a` are contiguous, and `b` has few columns.
pub(crate) fn few_columns<T: Gemm>(a: &Matrix<T>, b: &Matrix<T>, out: &mut [T]) {
    dots_of_rows(a, &contiguous(&b.transposed()), out);
}

/// Stores `a * b` in `out`, row-major. The columns of `b` are contiguous, and `a` has few rows.
pub(crate) fn few_rows<T: Gemm>(a: &Matrix<T>, b: &Matrix<T>, out: &mut [T]) {
    let (long, few) = (b.transposed(), contiguous(a));
    if a.rows == 1 {
        return dots_of_rows(&long, &few, out);
    }
    let each = AT_ONCE * sharing::part(b.columns.div_ceil(AT_ONCE), least_parts(&few));
    sharing::for_each(columns_of(out, b.columns, each).enumerate(), |(i, mut lines)| {
        let long = &long.rows_from(i * each, each.min(b.columns - i * each));
        dispatch_best(Dots { long, few: &few, lines: &mut lines });
    });
}

/// The elements, row-major; borrowed if they are contiguous.
fn contiguous<'a, T: Gemm>(matrix: &Matrix<'a, T>) -> Cow<'a, [T]> {
    let Matrix { data, rows, columns, row_step, column_step, .. } = *matrix;
    let has_contiguous_rows = column_step == 1 || columns == 1;
    if has_contiguous_rows && (row_step == columns as isize || rows == 1) {
        let start = matrix.at(0, 0).min(data.len());
        return Cow::Borrowed(&data[start..][..rows * columns]);
    }
    let mut all = Vec::with_capacity(rows * columns);
    for row in 0..rows {
        all.extend((0..columns).map(|column| data[matrix.at(row, column)]));
    }
    Cow::Owned(all)
}

/// The minimum number of multiply-adds per thread. It is lower than in [`gemm`](crate::kernels::gemm),
/// because each multiply-add reads another element from memory.
const MIN_THREAD_PRODUCTS: usize = 1 << 16;

/// The minimum number of parts of [`AT_ONCE`] lines per thread.
fn least_parts<T>(few: &[T]) -> usize {
    MIN_THREAD_PRODUCTS / (AT_ONCE * few.len()).max(1)
}

/// The dot products of each row of `long` with each row of `few`, row after row.
fn dots_of_rows<T: Gemm>(long: &Matrix<T>, few: &[T], out: &mut [T]) {
    let count = out.len() / long.rows.max(1);
    // The number of rows in each part is a multiple of `AT_ONCE`, the number of rows that share loads.
    sharing::in_parts(out, AT_ONCE * count, least_parts(few), |first, out| {
        let long = &long.rows_from(first * AT_ONCE, out.len() / count.max(1));
        dispatch_best(Dots { long, few, lines: &mut [out] });
    });
}

/// The dot products of each row of `long` with each of the few rows.
struct Dots<'a, 'b, T> {
    long: &'a Matrix<'a, T>,
    few: &'a [T],
    /// The results of each of the few rows, or a single line for the results of each row of `long` in turn.
    lines: &'a mut [&'b mut [T]],
}

impl<T: Gemm> Vectorised for Dots<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { long, few, lines } = self;
        let depth = long.columns;
        let count = few.len() / depth.max(1);
        let mut put = |i: usize, j: usize, sum| match &mut *lines {
            [all] => all[i * count + j] = sum,
            lines => lines[j][i] = sum,
        };
        if count == 1 && long.row_step == depth as isize {
            let rows = &long.data[long.start.min(long.data.len())..];
            let ahead = AHEAD.next_multiple_of(AT_ONCE * depth.max(1));
            for i in (0..long.rows).step_by(AT_ONCE) {
                let sums = padded_dots::<I, T>(few, &rows[i * depth..], long.rows - i, ahead);
                sums.iter().take(long.rows - i).enumerate().for_each(|(k, &sum)| put(i + k, 0, sum));
            }
            return;
        }
        let row = |i| &long.data[long.at(i, 0).min(long.data.len())..][..depth];
        // Sums of pairs of rows need 32 registers, which instruction sets with vectors of 64 bytes have.
        let lanes = T::Vector::<I>::LANES;
        let at_once = if lanes * size_of::<T>() == 64 && depth >= lanes { 2 } else { 1 };
        for i in (0..long.rows).step_by(at_once) {
            let rows = i..long.rows.min(i + at_once);
            for j in (0..count).step_by(AT_ONCE) {
                let few = &few[j * depth..];
                if rows.len() == 2 && count - j >= AT_ONCE {
                    for (k, sums) in dots_of_pair::<I, T>([row(i), row(i + 1)], few).iter().enumerate() {
                        sums.iter().enumerate().for_each(|(m, &sum)| put(i + k, j + m, sum));
                    }
                    continue;
                }
                for i in rows.clone() {
                    let sums = padded_dots::<I, T>(row(i), few, count - j, 0);
                    sums.iter().take(count - j).enumerate().for_each(|(m, &sum)| put(i, j + m, sum));
                }
            }
        }
    }
}

/// The dot products of two rows with the first [`AT_ONCE`] other rows, in the order of [`dots`].
#[allow(clippy::needless_range_loop, reason = "only loops over indices are unrolled in time")]
#[inline(always)]
fn dots_of_pair<I: Instructions, T: Gemm>(rows: [&[T]; 2], few: &[T]) -> [[T; AT_ONCE]; 2] {
    const SUMS: usize = 2;
    let (lanes, depth) = (T::Vector::<I>::LANES, rows[0].len());
    let others = [0, 1, 2, 3].map(|j| &few[j * depth..][..depth]);
    let ([p, q], [r, s, t, u]) =
        (rows.map(|row| row.chunks_exact(SUMS * lanes)), others.map(|row| row.chunks_exact(SUMS * lanes)));
    let mut sums = [[[T::Vector::<I>::splat(T::default()); AT_ONCE]; 2]; SUMS];
    for (((((p, q), r), s), t), u) in p.zip(q).zip(r).zip(s).zip(t).zip(u) {
        for i in 0..SUMS {
            let load = |from: &[T]| T::Vector::<I>::load(&from[i * lanes..(i + 1) * lanes]);
            let few = [load(r), load(s), load(t), load(u)];
            let rows = [load(p), load(q)];
            for k in 0..2 {
                for j in 0..AT_ONCE {
                    sums[i][k][j] = rows[k].multiply_add(few[j], sums[i][k][j]);
                }
            }
        }
    }
    let mut at = depth - depth % (SUMS * lanes);
    if depth - at >= lanes {
        for k in 0..2 {
            let x = T::Vector::<I>::load(&rows[k][at..]);
            for j in 0..AT_ONCE {
                sums[0][k][j] = x.multiply_add(T::Vector::<I>::load(&others[j][at..]), sums[0][k][j]);
            }
        }
        at += lanes;
    }
    let mut all = [[T::default(); AT_ONCE]; 2];
    for k in 0..2 {
        for j in 0..AT_ONCE {
            let sum = sums[0][k][j].plus(sums[1][k][j]);
            all[k][j] = sum_with_rest::<I, T>(sum, &rows[k][at..], &others[j][at..]);
        }
    }
    all
}

/// The number of rows that share each load of another row.
const AT_ONCE: usize = 4;

/// The prefetch distance in elements: weights are often outside all caches.
const AHEAD: usize = 2048;

/// The dot products of a row with the first `count` other rows, at most [`AT_ONCE`], padded with zeros.
#[inline(always)]
fn padded_dots<I: Instructions, T: Gemm>(
    row: &[T],
    others: &[T],
    count: usize,
    ahead: usize,
) -> [T; AT_ONCE] {
    let none = T::default();
    match count {
        1 => {
            let [p] = dots::<I, T, 1>(row, others, ahead);
            [p, none, none, none]
        }
        2 => {
            let [p, q] = dots::<I, T, 2>(row, others, ahead);
            [p, q, none, none]
        }
        3 => {
            let [p, q, r] = dots::<I, T, 3>(row, others, ahead);
            [p, q, r, none]
        }
        _ => dots::<I, T, AT_ONCE>(row, others, ahead),
    }
}

/// The dot products of a row with the first `FEW` other rows. The order of each sum does not depend on `FEW`.
#[allow(clippy::needless_range_loop, reason = "only loops over indices are unrolled in time")]
#[inline(always)]
fn dots<I: Instructions, T: Gemm, const FEW: usize>(row: &[T], others: &[T], ahead: usize) -> [T; FEW] {
    const SUMS: usize = 2;
    let lanes = T::Vector::<I>::LANES;
    let mut each = [row; FEW];
    for j in 0..FEW {
        each[j] = &others[j * row.len()..][..row.len()];
    }
    if row.len() < lanes {
        let mut all = [T::default(); FEW];
        for (i, &x) in row.iter().enumerate() {
            for j in 0..FEW {
                all[j] = x.multiply_add::<I>(each[j][i], all[j]);
            }
        }
        return all;
    }
    let mut sums = [[T::Vector::<I>::splat(T::default()); SUMS]; FEW];
    let mut at = 0;
    while row.len() - at >= SUMS * lanes {
        for i in 0..SUMS {
            let x = T::Vector::<I>::load(&row[at + i * lanes..]);
            for j in 0..FEW {
                let other = &each[j][at + i * lanes..];
                sums[j][i] = x.multiply_add(T::Vector::<I>::load(other), sums[j][i]);
                prefetch(other.as_ptr().wrapping_add(ahead));
            }
        }
        at += SUMS * lanes;
    }
    if row.len() - at >= lanes {
        let x = T::Vector::<I>::load(&row[at..]);
        for j in 0..FEW {
            sums[j][0] = x.multiply_add(T::Vector::<I>::load(&each[j][at..]), sums[j][0]);
        }
        at += lanes;
    }
    let mut all = [T::default(); FEW];
    for j in 0..FEW {
        let [p, q] = sums[j];
        all[j] = sum_with_rest::<I, T>(p.plus(q), &row[at..], &each[j][at..]);
    }
    all
}

/// Sums the lanes of a vector and the products of the remaining elements `a` and `b`. The lanes are halved to
/// eight, then to four. After each halving, as many products as there are lanes are added, if that many
/// remain. The last products are added to the sum of the four lanes.
#[inline(always)]
fn sum_with_rest<I: Instructions, T: Gemm>(vector: T::Vector<I>, a: &[T], b: &[T]) -> T {
    let mut all = [T::default(); 16];
    vector.store(&mut all);
    let (eight, a, b) = add_first::<I, T, 8>(halved(all), a, b);
    let (four, a, b) = add_first::<I, T, 4>(halved(eight), a, b);
    let four = sum_of_four(four);
    a.iter().zip(b).fold(four, |sum, (&x, &y)| x.multiply_add::<I>(y, sum))
}

/// The sum of the lanes of a vector, in the order of [`sum_with_rest`] without remaining products.
#[inline(always)]
pub(crate) fn sum_of_lanes<T: Gemm>(all: [T; 16]) -> T {
    let eight: [T; 8] = halved(all);
    sum_of_four(halved(eight))
}

#[inline(always)]
fn sum_of_four<T: Gemm>([p, q, r, s]: [T; 4]) -> T {
    (p + r) + (q + s)
}

/// Adds the second half of the lanes to the first.
#[inline(always)]
fn halved<T: Gemm, const LEN: usize, const HALF: usize>(all: [T; LEN]) -> [T; HALF] {
    let mut half = [T::default(); HALF];
    for i in 0..HALF {
        half[i] = all[i] + all[i + HALF];
    }
    half
}

/// Adds the first `LEN` products of two rows to the sums, if there are that many, and returns the rest of the
/// rows.
#[inline(always)]
fn add_first<'a, I: Instructions, T: Gemm, const LEN: usize>(
    mut sums: [T; LEN],
    a: &'a [T],
    b: &'a [T],
) -> ([T; LEN], &'a [T], &'a [T]) {
    match (a.split_first_chunk::<LEN>(), b.split_first_chunk::<LEN>()) {
        (Some((x, a)), Some((y, b))) => {
            for i in 0..LEN {
                sums[i] = x[i].multiply_add::<I>(y[i], sums[i]);
            }
            (sums, a, b)
        }
        _ => (sums, a, b),
    }
}
