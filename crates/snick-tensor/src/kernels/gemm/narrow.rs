//! Products with few rows or few columns: sums along memory, without packing the large matrix.

use std::borrow::Cow;

use super::{Gemm, Matrix};
use crate::ElementType;
use crate::kernels::sharing;
use crate::kernels::vectors::{Instructions, Vector, Vectorised, dispatch_best, prefetch};

/// Whether a product with `few` rows, or columns, is narrow. Each element has a constant cost, which only long sums
/// justify.
fn is_narrow(few: usize, depth: usize) -> bool {
    few <= 2 || (few <= 8 && depth >= 256)
}

/// Up to this many rows, the rows of the right matrix are added one by one: it is read once, in order.
const FEW_ROWS: usize = 3;

/// Writes `a * b` into `out`, row-major, if one of the two is narrow and the other has a suitable layout; otherwise
/// does nothing and returns `false`. So it does for `f64`: few models have it, and its kernels would be large.
pub(crate) fn narrow<T: Gemm>(a: &Matrix<T>, b: &Matrix<T>, out: &mut [T]) -> bool {
    if T::TYPE != ElementType::F32 {
        return false;
    }
    let (columns, depth) = (b.columns, b.rows);
    if is_narrow(columns, depth) && a.column_step == 1 {
        dots_of_rows(a, &packed(&b.transposed()), out);
    } else if is_narrow(a.rows, depth) && b.row_step == 1 {
        let (long, few) = (b.transposed(), packed(a));
        if a.rows == 1 {
            dots_of_rows(&long, &few, out);
        } else {
            dispatch_best(Dots { long: &long, few: &few, depth, out, steps: [1, columns] });
        }
    } else if a.rows <= FEW_ROWS && b.column_step == 1 {
        dispatch_best(Axpy { a, b, out });
    } else {
        return false;
    }
    true
}

/// The elements, row-major; borrowed if they are contiguous.
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

/// Threads do so many multiplications together: fewer than in a product of tiles, because each reads another element.
const SHARED: usize = 1 << 16;

/// The sums of products of each row of a matrix with each of a few rows, one after the other; on all threads if there
/// are many.
fn dots_of_rows<T: Gemm>(long: &Matrix<T>, few: &[T], out: &mut [T]) {
    let depth = long.columns;
    let count = out.len() / long.rows.max(1);
    // Whole groups of rows that are multiplied together.
    sharing::in_parts(out, AT_ONCE * count, SHARED / (AT_ONCE * few.len()).max(1), |first, out| {
        let long = &long.rows_from(first * AT_ONCE, out.len() / count.max(1));
        dispatch_best(Dots { long, few, depth, out, steps: [count, 1] });
    });
}

/// The sums of products of each row of a matrix with each of a few rows.
struct Dots<'a, T> {
    long: &'a Matrix<'a, T>,
    few: &'a [T],
    depth: usize,
    out: &'a mut [T],
    /// The steps in `out` from one row of `long` to the next, and from one row of `few` to the next.
    steps: [usize; 2],
}

impl<T: Gemm> Vectorised for Dots<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { long, few, depth, out, steps } = self;
        let count = few.len() / depth.max(1);
        // Four rows at a time share each read of the other: rows of the long matrix, or else the few.
        if count == 1 && long.row_step == depth as isize {
            let rows = &long.data[long.start.min(long.data.len())..];
            let ahead = AHEAD.next_multiple_of(AT_ONCE * depth.max(1));
            for i in (0..long.rows).step_by(AT_ONCE) {
                let sums = some::<I, T>(few, &rows[i * depth..], long.rows - i, ahead);
                for (k, &sum) in sums.iter().enumerate().take(long.rows - i) {
                    out[(i + k) * steps[0]] = sum;
                }
            }
            return;
        }
        for i in 0..long.rows {
            let at = long.at(i, 0);
            let row = &long.data[at.min(long.data.len())..][..depth];
            for j in (0..count).step_by(AT_ONCE) {
                let sums = some::<I, T>(row, &few[j * depth..], count - j, 0);
                for (k, &sum) in sums.iter().enumerate().take(count - j) {
                    out[i * steps[0] + (j + k) * steps[1]] = sum;
                }
            }
        }
    }
}

/// Rows that are multiplied together.
const AT_ONCE: usize = 4;

/// Elements that are fetched before they are needed, at least: weights often lie beyond all caches.
const AHEAD: usize = 2048;

/// The sums of products of a row with each of the first `count` other rows, at most [`AT_ONCE`]; padded with zeros.
#[inline(always)]
fn some<I: Instructions, T: Gemm>(row: &[T], others: &[T], count: usize, ahead: usize) -> [T; AT_ONCE] {
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

/// The sums of the rows of `b` times the elements of each row of `a`.
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

/// The sums of products of a row with each of the first `FEW` other rows. The order of each sum does not depend on
/// their number: in two vectors, which are added by halves, if there are enough elements for one.
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
        // Sequentially, as in all other products: which of them is used depends on the layout of the matrices.
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
        all[j] = total::<I, T>(p.plus(q), &row[at..], &each[j][at..]);
    }
    all
}

/// The sum of the lanes of a vector by halves, adding the products of as many further elements to each half.
#[inline(always)]
fn total<I: Instructions, T: Gemm>(vector: T::Vector<I>, a: &[T], b: &[T]) -> T {
    let mut all = [T::default(); 16];
    vector.store(&mut all);
    let (eight, a, b) = more::<I, T, 8>(halved(all), a, b);
    let (four, a, b) = more::<I, T, 4>(halved(eight), a, b);
    let four = sum_of_four(four);
    a.iter().zip(b).fold(four, |sum, (&x, &y)| x.multiply_add::<I>(y, sum))
}

/// The sum of lanes in the order of [`narrow`] products whose rows are whole vectors.
#[inline(always)]
pub(crate) fn sum_of_lanes<T: Gemm>(all: [T; 16]) -> T {
    let eight: [T; 8] = halved(all);
    sum_of_four(halved(eight))
}

#[inline(always)]
fn sum_of_four<T: Gemm>([p, q, r, s]: [T; 4]) -> T {
    (p + r) + (q + s)
}

/// The second half added to the first.
#[inline(always)]
fn halved<T: Gemm, const LEN: usize, const HALF: usize>(all: [T; LEN]) -> [T; HALF] {
    let mut half = [T::default(); HALF];
    for i in 0..HALF {
        half[i] = all[i] + all[i + HALF];
    }
    half
}

/// Adds the first products of two rows to sums, if there are as many, and returns the rest of the rows.
#[inline(always)]
fn more<'a, I: Instructions, T: Gemm, const LEN: usize>(
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
