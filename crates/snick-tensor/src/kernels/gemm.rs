//! Tiled matrix products (GEMM) over packed operands.
//!
//! **Source.** Goto and van de Geijn, *Anatomy of High-Performance Matrix Multiplication* (2008), and BLIS
//! (Van Zee and van de Geijn, 2015). A *tile* is the A micro-panel of BLIS, a *panel* its B micro-panel.
//!
//! **Loop nest** of `C = A B`, outer to inner:
//! 1. groups of panels that fit together in the L2 cache ([`tile`]),
//! 2. blocks of the summed axis (KC), at most 512 terms ([`depth_block`]),
//! 3. tiles: MR rows of A ([`tile_rows`]),
//! 4. panels of the group: NR columns of B ([`panel_columns`]),
//! 5. terms of the block: the micro-kernel adds the outer product of a tile column and a panel row to MR x NR
//!    sums in registers.
//!
//! **Layout.** [`PackedLhs`] stores tiles consecutively, each column-major. [`PackedRhs`] stores panels
//! consecutively, each row-major; if the rows of B are contiguous, loop 2 can pack each group into scratch
//! memory instead. Partial tiles and panels are padded.
//!
//! **Order of sums.** Terms are added in order within a block, and block sums in order. So an element of C
//! depends neither on its neighbours nor on the number of threads.
//!
//! **Threads.** All threads share both packed operands. Each computes some rows or some columns of C,
//! whichever split reads less memory.

mod left;
mod output;
mod right;
mod tile;

pub(crate) use left::{PackedLhs, depth_block};
pub(crate) use output::columns_of;
pub(crate) use right::{Lines, PackedRhs};

use output::Output;
use tile::Tiles;

use crate::PodElement;
use crate::kernels::broadcast::copy_run;
use crate::kernels::sharing;
use crate::kernels::vectors::{
    I8x4Dot, Instructions, Isa, MultiplyAdd, Vector, Vectorised, dispatch_int8_dot, dispatch_on, run_baseline,
};

/// A strided view of a matrix. Steps may be negative or 0.
#[derive(Copy, Clone)]
pub(crate) struct Matrix<'a, T> {
    pub data: &'a [T],
    pub start: usize,
    pub rows: usize,
    pub columns: usize,
    pub row_step: isize,
    pub column_step: isize,
}

impl<'a, T: Copy> Matrix<'a, T> {
    /// A contiguous row-major matrix.
    pub fn packed(data: &'a [T], rows: usize, columns: usize) -> Self {
        Matrix { data, start: 0, rows, columns, row_step: columns as isize, column_step: 1 }
    }

    pub fn transposed(&self) -> Self {
        Matrix {
            rows: self.columns,
            columns: self.rows,
            row_step: self.column_step,
            column_step: self.row_step,
            ..*self
        }
    }

    /// `count` rows from row `first` on.
    pub fn rows_from(&self, first: usize, count: usize) -> Self {
        let start = self.start.wrapping_add_signed(first as isize * self.row_step);
        Matrix { start, rows: count, ..*self }
    }

    /// The index of an element in `data`.
    pub fn at(&self, row: usize, column: usize) -> usize {
        let offset = row as isize * self.row_step + column as isize * self.column_step;
        self.start.wrapping_add_signed(offset)
    }
}

/// Element types of packed operands.
pub(crate) trait Factor: bytemuck::Pod + Default + Send + Sync {
    /// A vector register of elements.
    type Vector<I: Instructions>: Vector<Self>;

    /// Whether kernels for few rows or few columns are compiled. Models rarely compute in `f64`, for which
    /// these kernels would add 70 KB to the binary.
    const HAS_NARROW_KERNELS: bool = true;

    /// Whether tiles are compiled for the baseline.
    const HAS_BASELINE: bool = true;

    /// Runs a kernel with the instruction set that its operands are packed for.
    fn dispatch_on<W: Vectorised>(isa: Isa, work: W) -> W::Output {
        dispatch_on(isa, work)
    }
}

impl Factor for I8x4Dot {
    type Vector<I: Instructions> = I::I8x4Dots;

    // Models use int8 products only with AVX-512 VNNI. Tests also run the baseline.
    const HAS_BASELINE: bool = cfg!(test);

    fn dispatch_on<W: Vectorised>(isa: Isa, work: W) -> W::Output {
        if isa == Isa::Baseline { run_baseline(work) } else { dispatch_int8_dot(work) }
    }
}

/// Float types of matrix products.
pub(crate) trait Gemm:
    Factor + MultiplyAdd + PodElement + std::ops::Add<Output = Self> + std::ops::Mul<Output = Self>
{
}

macro_rules! gemm {
    ($($t:ident: $vector:ident, $has_narrow_kernels:literal);*) => {$(
        impl Factor for $t {
            type Vector<I: Instructions> = I::$vector;
            const HAS_NARROW_KERNELS: bool = $has_narrow_kernels;
        }

        impl Gemm for $t {}
    )*};
}

gemm!(f32: F32, true; f64: F64, false);

/// MR, the number of rows of a tile: few enough that the sums and one panel row fit in the registers.
pub(crate) const fn tile_rows(isa: Isa) -> usize {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => 12,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => 6,
        Isa::Baseline => 4,
    }
}

/// NR, the columns of a panel: two vectors.
pub(crate) const fn panel_columns<T>(isa: Isa) -> usize {
    let bytes = match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => 128,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => 64,
        Isa::Baseline => 32,
    };
    bytes / size_of::<T>()
}

/// The columns of the widest panel.
pub(crate) const MAX_PANEL_COLUMNS: usize = 32;

/// The minimum number of multiply-adds per thread.
const MIN_THREAD_PRODUCTS: usize = 1 << 18;

/// Computes `left * right` and passes each finished tile to `store`. `out` has rows of `row_len` elements,
/// one for every [`StoreTile::ROWS`] rows of the product.
pub(crate) fn product<T: Factor, P: StoreTile<T>>(
    left: &PackedLhs<T>,
    right: &PackedRhs<T>,
    out: &mut [P::Out],
    row_len: usize,
    store: &P,
) {
    let (isa, width) = (left.isa(), right.width());
    let rows = tile_rows(isa);
    debug_assert!(rows.is_multiple_of(P::ROWS), "a tile has whole rows of the output");
    if left.rows() == 0 || right.columns() == 0 || row_len == 0 {
        return;
    }
    let (tiles, panels) = (left.rows().div_ceil(rows), right.columns().div_ceil(width));
    let all = Tiles { left, right, row: 0, panels: 0..panels, row_len, store };
    let products = rows.saturating_mul(width).saturating_mul(left.depth());
    let share =
        |count, other| sharing::share(count, MIN_THREAD_PRODUCTS / products.saturating_mul(other).max(1));
    let (tiles_each, panels_each) = (share(tiles, panels), share(panels, tiles));
    // The cost of a part, in thirds of the time to multiply a tile and a panel. Each part also loads the
    // other operand from outside the L2 cache, or packs it, which costs a third per tile or panel.
    let cost_by_rows = (3 * tiles_each + 1) * panels + tiles_each;
    let cost_by_columns = (3 * tiles + 1) * panels_each + tiles;
    let on_part = |part: (Tiles<T, P>, Output<P::Out>)| T::dispatch_on(isa, part);
    if P::HAS_COLUMNS && panels_each < panels && cost_by_columns < cost_by_rows {
        let outs = Output::by_columns(out, row_len, panels_each * width);
        let part = |first| Tiles { panels: first..panels.min(first + panels_each), ..all.clone() };
        sharing::for_each((0..panels).step_by(panels_each).map(part).zip(outs), on_part);
    } else if tiles_each < tiles {
        let outs = Output::by_rows(out, row_len, tiles_each * (rows / P::ROWS));
        let part = |tile| Tiles { row: tile * rows, ..all.clone() };
        sharing::for_each((0..tiles).step_by(tiles_each).map(part).zip(outs), on_part);
    } else {
        on_part((all, Output::Rows(out)));
    }
}

/// Stores finished tiles of a product in the output.
pub(crate) trait StoreTile<T>: Sync {
    /// An element of the output.
    type Out: Send;
    /// Rows of the product per row of the output.
    const ROWS: usize;
    /// Whether column `c` of the product is stored in column `c` of the output, so that threads can split
    /// columns.
    const HAS_COLUMNS: bool = true;

    /// Stores up to [`Self::ROWS`] rows of sums, the product of a tile and a panel, in one row of the output.
    /// `out` is that row, or the piece of it that begins at column [`TilePosition::first`].
    fn store<I: Instructions>(
        &self,
        out: &mut [Self::Out],
        at: TilePosition,
        rows: &[[T; MAX_PANEL_COLUMNS]],
    );

    /// Applied to each row of the output after a group of panels has been stored in it.
    fn epilogue(&self) -> Option<Epilogue<'_, Self::Out>> {
        None
    }
}

/// The position, within the product, of the columns that are being stored.
#[derive(Copy, Clone)]
pub(crate) struct TilePosition {
    /// The first of the [`StoreTile::ROWS`] rows of the product that are stored in the same row of the
    /// output.
    pub row: usize,
    pub column: usize,
    /// The number of columns, including the padding of the last panel.
    pub width: usize,
    /// The column at which the given piece of the output begins.
    pub first: usize,
}

/// An element-wise function applied to pieces of rows as soon as they are stored, while they are in the
/// cache.
#[derive(Copy, Clone)]
pub(crate) struct Epilogue<'a, T> {
    /// Receives the position of the piece in the whole output.
    function: &'a (dyn Fn(usize, &mut [T]) + Sync),
    /// The position of this part of the output in the whole output.
    first: usize,
}

impl<'a, T> Epilogue<'a, T> {
    pub fn new(function: &'a (dyn Fn(usize, &mut [T]) + Sync)) -> Self {
        Epilogue { function, first: 0 }
    }

    /// The epilogue of the part of the output that begins at element `first`.
    pub fn part(self, first: usize) -> Self {
        Epilogue { first: self.first + first, ..self }
    }

    /// Applies the function to a piece that begins at element `first`.
    pub fn apply(&self, first: usize, piece: &mut [T]) {
        (self.function)(self.first + first, piece);
    }

    /// Applies the function to the columns `at` of a row, which is `out` or the piece of it that begins at
    /// [`TilePosition::first`].
    pub fn apply_to_columns(&self, out: &mut [T], row_len: usize, at: TilePosition) {
        let from = at.column - at.first;
        let to = out.len().min(from + at.width);
        self.apply(at.row * row_len + at.column, &mut out[from..to]);
    }

    /// Applies the function to each row of this part of the output.
    pub fn apply_to_rows(&self, row_len: usize, rows: &mut [T]) {
        for (i, row) in rows.chunks_exact_mut(row_len).enumerate() {
            self.apply(i * row_len, row);
        }
    }
}

/// Stores a product as it is, row-major.
struct StoreRows<'a, T> {
    epilogue: Option<Epilogue<'a, T>>,
}

impl<T: Factor> StoreTile<T> for StoreRows<'_, T> {
    type Out = T;
    const ROWS: usize = 1;

    #[inline(always)]
    fn store<I: Instructions>(&self, out: &mut [T], at: TilePosition, rows: &[[T; MAX_PANEL_COLUMNS]]) {
        write_row(out, at.column - at.first, &rows[0][..at.width]);
    }

    fn epilogue(&self) -> Option<Epilogue<'_, T>> {
        self.epilogue
    }
}

/// Stores `left * right` in `out`, row-major.
pub(crate) fn gemm<T: Gemm>(left: &PackedLhs<T>, right: &PackedRhs<T>, out: &mut [T]) {
    gemm_with_epilogue(left, right, out, None);
}

/// [`gemm`], followed by an epilogue.
pub(crate) fn gemm_with_epilogue<T: Gemm>(
    left: &PackedLhs<T>,
    right: &PackedRhs<T>,
    out: &mut [T],
    epilogue: Option<Epilogue<T>>,
) {
    product(left, right, out, right.columns(), &StoreRows { epilogue });
}

/// [`gemm`] into rows of `row_len` elements, which may be longer than the rows of the product.
pub(crate) fn gemm_in_rows<T: Gemm>(
    left: &PackedLhs<T>,
    right: &PackedRhs<T>,
    out: &mut [T],
    row_len: usize,
) {
    product(left, right, out, row_len, &StoreRows { epilogue: None });
}

/// [`gemm`] on the calling thread only.
pub(crate) fn gemm_single_threaded<T: Gemm>(left: &PackedLhs<T>, right: &PackedRhs<T>, out: &mut [T]) {
    let (row_len, store) = (right.columns(), &StoreRows { epilogue: None });
    let panels = 0..row_len.div_ceil(right.width());
    T::dispatch_on(left.isa(), (Tiles { left, right, row: 0, panels, row_len, store }, Output::Rows(out)));
}

/// Writes as many `values` to a row, from element `first` on, as fit. A whole panel has a length known at
/// compile time and is copied without a call.
#[inline(always)]
pub(crate) fn write_row<T: Copy>(row: &mut [T], first: usize, values: &[T]) {
    let Some(to) = row.get_mut(first..) else { return };
    match to.get_mut(..values.len()) {
        Some(to) => to.copy_from_slice(values),
        None => copy_run(to, &values[..to.len()]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small integers, whose sums are exact in any order.
    fn numbers(len: usize) -> Vec<f32> {
        (0..len).map(|i| (i * 7 % 11) as f32 - 5.0).collect()
    }

    fn naive(a: &Matrix<f32>, b: &Matrix<f32>) -> Vec<f32> {
        let element = |i, j| (0..a.columns).map(|d| a.data[a.at(i, d)] * b.data[b.at(d, j)]).sum();
        (0..a.rows).flat_map(|i| (0..b.columns).map(move |j| (i, j))).map(|(i, j)| element(i, j)).collect()
    }

    #[test]
    fn all_sizes_around_a_tile_and_all_layouts() {
        for (m, k, n) in [
            (1, 1, 1),
            (1, 5, 40),
            (5, 3, 31),
            (12, 7, 32),
            (13, 2, 33),
            (30, 9, 70),
            (3, 0, 4),
            (7, 300, 2),
            (2, 300, 7),
            (13, 1100, 70),
            (12, 8, 5),
            (30, 9, 49),
            (13, 1100, 49),
        ] {
            let (x, y) = (numbers(m * k), numbers(k * n));
            let a = Matrix::packed(&x, m, k);
            let transposed_a = Matrix { row_step: 1, column_step: m as isize, ..a };
            let b = Matrix::packed(&y, k, n);
            let transposed_b = Matrix { row_step: 1, column_step: k as isize, ..b };
            let back = (k * n).saturating_sub(1);
            let reversed = Matrix { start: back, row_step: -(n as isize), column_step: -1, ..b };
            for a in [a, transposed_a] {
                for b in [b, transposed_b, reversed] {
                    let expected = naive(&a, &b);
                    for isa in [Isa::best(), Isa::Baseline] {
                        let lhs = || PackedLhs::pack(isa, &a);
                        for lhs in [lhs(), lhs().with_sequential_sums()] {
                            let mut out = vec![f32::NAN; m * n];
                            gemm(&lhs, &PackedRhs::new(isa, &b), &mut out);
                            assert_eq!(out, expected, "{m} {k} {n} {isa:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn rows_in_lines_with_gaps_that_end_with_the_data() {
        let (depth, gap) = (5, 3);
        for (len, count) in [(1, 40), (2, 7), (5, 13), (16, 3), (20, 5), (33, 2), (70, 1)] {
            let lines = || Lines { len, starts: (0..count).map(|i| i * (len + gap)).collect() };
            let row_len = count * (len + gap) - gap;
            // Rows overlap; the last one ends with the data.
            let data = numbers(row_len + 2 * (depth - 1));
            let starts = || (0..depth).map(|row| 2 * row).collect();
            let columns =
                |row: usize| (0..count * len).map(move |c| 2 * row + c / len * (len + gap) + c % len);
            let right: Vec<f32> = (0..depth).flat_map(columns).map(|at| data[at]).collect();
            let x = numbers(13 * depth);
            let a = Matrix::packed(&x, 13, depth);
            let expected = naive(&a, &Matrix::packed(&right, depth, count * len));
            for isa in [Isa::best(), Isa::Baseline] {
                let rhs = || PackedRhs::of_lines(isa, &data, starts(), lines());
                for rhs in [rhs(), rhs().into_packed()] {
                    let mut out = vec![f32::NAN; expected.len()];
                    gemm(&PackedLhs::pack(isa, &a), &rhs, &mut out);
                    assert_eq!(out, expected, "{count} lines of {len}, {isa:?}");
                }
            }
        }
    }

    /// Stores the sums of bytes.
    struct StoreSums;

    impl StoreTile<I8x4Dot> for StoreSums {
        type Out = i32;
        const ROWS: usize = 1;

        #[inline(always)]
        fn store<I: Instructions>(
            &self,
            out: &mut [i32],
            at: TilePosition,
            rows: &[[I8x4Dot; MAX_PANEL_COLUMNS]],
        ) {
            for (out, sum) in out[at.column - at.first..].iter_mut().zip(&rows[0][..at.width]) {
                *out = sum.sum();
            }
        }
    }

    #[test]
    fn products_of_bytes_are_exact_on_every_machine() {
        for (m, k, n) in [(1, 1, 1), (4, 3, 8), (13, 9, 33), (7, 700, 5)] {
            let bytes =
                |len: u32| (0..len).map(|i| I8x4Dot(i.wrapping_mul(2_654_435_761))).collect::<Vec<_>>();
            let (x, y) = (bytes((m * k) as u32), bytes((k * n) as u32));
            let dot = |x: I8x4Dot, y: I8x4Dot| {
                let products = x.0.to_le_bytes().into_iter().zip(y.0.to_le_bytes());
                products.map(|(x, y)| i32::from(x.cast_signed()) * i32::from(y)).sum::<i32>()
            };
            let element = |i: usize, j: usize| (0..k).map(|d| dot(x[i * k + d], y[d * n + j])).sum::<i32>();
            let expected: Vec<i32> =
                (0..m).flat_map(|i| (0..n).map(move |j| (i, j))).map(|(i, j)| element(i, j)).collect();
            let fastest = if crate::kernels::vectors::has_int8_dot() { Isa::best() } else { Isa::Baseline };
            for isa in [Isa::Baseline, fastest] {
                let left = PackedLhs::pack(isa, &Matrix::packed(&x, m, k)).with_sequential_sums();
                let right = PackedRhs::new(isa, &Matrix::packed(&y, k, n));
                let mut out = vec![0; m * n];
                product(&left, &right, &mut out, n, &StoreSums);
                assert_eq!(out, expected, "{m} {k} {n} {isa:?}");
            }
        }
    }

    #[cfg(feature = "threads")]
    #[test]
    fn threads_change_no_bit() {
        // The second product is split by columns, the others by rows.
        for (m, k, n) in [(70, 900, 110), (16, 300, 4010), (500, 300, 40)] {
            let x: Vec<f32> = (0..m * k).map(|i| (i as f32 * 0.37).sin()).collect();
            let y: Vec<f32> = (0..k * n).map(|i| (i as f32 * 0.11).cos()).collect();
            let isa = Isa::best();
            let left = PackedLhs::pack(isa, &Matrix::packed(&x, m, k));
            let right = PackedRhs::new(isa, &Matrix::packed(&y, k, n));
            let each = |first: usize, piece: &mut [f32]| {
                piece.iter_mut().enumerate().for_each(|(i, x)| *x += (first + i) as f32);
            };
            let multiply =
                |out: &mut [f32]| gemm_with_epilogue(&left, &right, out, Some(Epilogue::new(&each)));
            let mut one = vec![0.0; m * n];
            multiply(&mut one);
            for threads in 2..=4 {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let mut some = vec![0.0; m * n];
                pool.install(|| multiply(&mut some));
                assert_eq!(one, some, "{m} {k} {n}, {threads} threads");
            }
        }
    }
}
