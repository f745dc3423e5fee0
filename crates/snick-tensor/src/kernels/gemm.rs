//! The product of two matrices of floats.
//!
//! The left matrix is packed into tiles of a few rows, the right one is read in panels of a few vectors: where it lies
//! if its rows are long enough, packed if not. A tile times a panel is kept in registers and walks the whole summed
//! axis, so each element of the result is summed in one order, whatever lies around it and however many threads there
//! are.

mod left;
mod narrow;
mod output;
mod right;
mod tile;

pub(crate) use left::{PackedLhs, depth_block};
pub(crate) use narrow::{narrow, sum_of_lanes};
pub(crate) use right::{Lines, PackedRhs};

use output::Output;
use tile::Tiles;

use crate::PodElement;
use crate::kernels::broadcast::copy_run;
use crate::kernels::sharing;
use crate::kernels::vectors::{
    I8x4Dot, Instructions, Isa, Vector, Vectorised, dispatch_int8_dot, dispatch_on,
};

/// A matrix in memory: any start, any distances, negative and 0 too.
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
    /// Packed, row after row.
    pub fn packed(data: &'a [T], rows: usize, columns: usize) -> Self {
        Matrix { data, start: 0, rows, columns, row_step: columns as isize, column_step: 1 }
    }

    /// Rows for columns.
    pub fn transposed(&self) -> Self {
        Matrix {
            rows: self.columns,
            columns: self.rows,
            row_step: self.column_step,
            column_step: self.row_step,
            ..*self
        }
    }

    /// `count` of its rows, from `first` on.
    pub fn rows_from(&self, first: usize, count: usize) -> Self {
        let start = self.start.wrapping_add_signed(first as isize * self.row_step);
        Matrix { start, rows: count, ..*self }
    }

    /// Where an element lies.
    fn at(&self, row: usize, column: usize) -> usize {
        let offset = row as isize * self.row_step + column as isize * self.column_step;
        self.start.wrapping_add_signed(offset)
    }
}

/// Elements of matrices that tiles and panels multiply.
pub(crate) trait Factor: bytemuck::Pod + Default + Send + Sync {
    /// A register of them.
    type Vector<I: Instructions>: Vector<Self>;

    /// Whether tiles of few rows and panels of few columns have code of their own.
    const HAS_FEW: bool = true;

    /// Whether they are multiplied on machines that have only the baseline.
    const HAS_BASE: bool = true;

    /// Runs a kernel with the instruction set that matrices are packed for.
    fn dispatch_on<W: Vectorised>(isa: Isa, work: W) -> W::Output {
        dispatch_on(isa, work)
    }
}

impl Factor for I8x4Dot {
    type Vector<I: Instructions> = I::I8x4Dots;

    // `QuantizedConvolution::new` declines such machines.
    const HAS_BASE: bool = false;

    fn dispatch_on<W: Vectorised>(_: Isa, work: W) -> W::Output {
        dispatch_int8_dot(work)
    }
}

/// Floats that have a product of matrices.
pub(crate) trait Gemm:
    Factor + PodElement + std::ops::Add<Output = Self> + std::ops::Mul<Output = Self>
{
    /// `self * b + c`, in one rounding where that is one instruction.
    fn multiply_add<I: Instructions>(self, b: Self, c: Self) -> Self;
}

macro_rules! gemm {
    ($($t:ident: $vector:ident),*) => {$(
        impl Factor for $t {
            type Vector<I: Instructions> = I::$vector;

            // Doubles are rare.
            const HAS_FEW: bool = size_of::<$t>() == size_of::<f32>();
        }

        impl Gemm for $t {
            #[inline(always)]
            fn multiply_add<I: Instructions>(self, b: $t, c: $t) -> $t {
                if I::FUSED { self.mul_add(b, c) } else { self * b + c }
            }
        }
    )*};
}

gemm!(f32: F32, f64: F64);

/// Rows of a tile on each instruction set: as many as leave registers for the panel.
pub(crate) const fn tile_rows(isa: Isa) -> usize {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => 12,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => 6,
        Isa::Baseline => 4,
    }
}

/// Columns of a panel: two vectors.
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

/// Work below this many multiplications is not shared out to threads.
const SHARED: usize = 1 << 18;

/// Computes `left * right` and gives it to `place`, a tile at a time: the output is cut into rows of `row_len` for
/// [`StoreTile::ROWS`] rows of the product. Within a pool of several threads each computes some rows, or some columns.
pub(crate) fn product<T: Factor, P: StoreTile<T>>(
    left: &PackedLhs<T>,
    right: &PackedRhs<T>,
    out: &mut [P::Out],
    row_len: usize,
    place: &P,
) {
    let (isa, width) = (left.isa(), right.width());
    let rows = tile_rows(isa);
    debug_assert!(rows.is_multiple_of(P::ROWS), "tiles of whole rows of the output");
    if left.rows() == 0 || right.columns() == 0 || row_len == 0 {
        return;
    }
    let (tiles, panels) = (left.rows().div_ceil(rows), right.columns().div_ceil(width));
    let all = Tiles { left, right, row: 0, panels: 0..panels, row_len, place };
    let size = rows.saturating_mul(width).saturating_mul(left.depth());
    let share = |count, of: usize| sharing::share(count, SHARED / size.saturating_mul(of).max(1));
    let (some_tiles, some_panels) = (share(tiles, panels), share(panels, tiles));
    // Each part reads all of one side from beyond the nearest cache, or copies it, which takes a third of the time of
    // the product of that with one tile or panel.
    let by_rows = (3 * some_tiles + 1) * panels + some_tiles;
    let by_columns = (3 * tiles + 1) * some_panels + tiles;
    let on_part = |part: (Tiles<T, P>, Output<P::Out>)| T::dispatch_on(isa, part);
    if P::HAS_COLUMNS && some_panels < panels && by_columns < by_rows {
        let outs = Output::by_columns(out, row_len, some_panels * width);
        let part = |first| Tiles { panels: first..panels.min(first + some_panels), ..all.clone() };
        sharing::for_each((0..panels).step_by(some_panels).map(part).zip(outs), on_part);
    } else if some_tiles < tiles {
        let outs = Output::by_rows(out, row_len, some_tiles * (rows / P::ROWS));
        let part = |tile| Tiles { row: tile * rows, ..all.clone() };
        sharing::for_each((0..tiles).step_by(some_tiles).map(part).zip(outs), on_part);
    } else {
        on_part((all, Output::Rows(out)));
    }
}

/// Columns of the dispatch_best panel.
pub(crate) const MAX_PANEL_COLUMNS: usize = 32;

/// Writes the results of a tile times a panel to the output.
pub(crate) trait StoreTile<T>: Sync {
    /// An element of the output.
    type Out: Send;
    /// Rows of the product that share a row of the output.
    const ROWS: usize;
    /// Whether the rows of the output have the columns of the product.
    const HAS_COLUMNS: bool = true;

    /// Writes the results of at most [`Self::ROWS`] rows to one of the output, of which `out` has some columns.
    fn store<I: Instructions>(
        &self,
        out: &mut [Self::Out],
        at: TilePosition,
        rows: &[[T; MAX_PANEL_COLUMNS]],
    );

    /// Called when the results in all columns of a place are written. The output has rows of `row_len`.
    #[inline(always)]
    fn finish(&self, _out: &mut [Self::Out], _row_len: usize, _at: TilePosition) {}
}

/// The place of a row of a tile times a panel in a product.
#[derive(Copy, Clone)]
pub(crate) struct TilePosition {
    /// The first of the rows that share a row of the output.
    pub row: usize,
    pub column: usize,
    /// Columns of the panel, some of which may be beyond the last one.
    pub width: usize,
    /// The column that the given piece of the output begins with.
    pub first: usize,
}

/// What is computed of pieces of rows as soon as they are written.
#[derive(Copy, Clone)]
pub(crate) struct Epilogue<'a, T> {
    /// Gets the number of the first element in the whole output.
    each: &'a (dyn Fn(usize, &mut [T]) + Sync),
    /// The number of the first element of this part of the output.
    first: usize,
}

impl<'a, T> Epilogue<'a, T> {
    /// Of the whole output.
    pub fn new(each: &'a (dyn Fn(usize, &mut [T]) + Sync)) -> Self {
        Epilogue { each, first: 0 }
    }

    /// Of a part of the output, from element `first` on.
    pub fn part(self, first: usize) -> Self {
        Epilogue { first: self.first + first, ..self }
    }

    /// Computes what follows of a piece, whose first element has this number.
    pub fn apply(&self, first: usize, piece: &mut [T]) {
        (self.each)(self.first + first, piece);
    }

    /// Computes what follows of whole rows, which are this part of the output.
    pub fn apply_to_rows(&self, row_len: usize, rows: &mut [T]) {
        for (i, row) in rows.chunks_exact_mut(row_len).enumerate() {
            self.apply(i * row_len, row);
        }
    }
}

/// Writes rows as they are.
struct WriteRows<'a, T> {
    then: Option<Epilogue<'a, T>>,
}

impl<T: Factor> StoreTile<T> for WriteRows<'_, T> {
    type Out = T;
    const ROWS: usize = 1;

    #[inline(always)]
    fn store<I: Instructions>(&self, out: &mut [T], at: TilePosition, rows: &[[T; MAX_PANEL_COLUMNS]]) {
        write_row(out, at.column - at.first, &rows[0][..at.width]);
    }

    #[inline(always)]
    fn finish(&self, out: &mut [T], row_len: usize, at: TilePosition) {
        let Some(then) = self.then else { return };
        let from = at.column - at.first;
        let to = out.len().min(from + at.width);
        then.apply(at.row * row_len + at.column, &mut out[from..to]);
    }
}

/// Writes `a * b` into `out`, row after row.
pub(crate) fn gemm<T: Gemm>(left: &PackedLhs<T>, right: &PackedRhs<T>, out: &mut [T]) {
    gemm_with_epilogue(left, right, out, None);
}

/// As [`gemm`], into rows that are at least as long as those of the product.
pub(crate) fn gemm_in_rows<T: Gemm>(
    left: &PackedLhs<T>,
    right: &PackedRhs<T>,
    out: &mut [T],
    row_len: usize,
) {
    product(left, right, out, row_len, &WriteRows { then: None });
}

/// As [`gemm`], on this thread alone.
pub(crate) fn gemm_single_threaded<T: Gemm>(left: &PackedLhs<T>, right: &PackedRhs<T>, out: &mut [T]) {
    let (row_len, place) = (right.columns(), &WriteRows { then: None });
    let panels = 0..row_len.div_ceil(right.width());
    T::dispatch_on(left.isa(), (Tiles { left, right, row: 0, panels, row_len, place }, Output::Rows(out)));
}

/// As [`gemm`], with what follows.
pub(crate) fn gemm_with_epilogue<T: Gemm>(
    left: &PackedLhs<T>,
    right: &PackedRhs<T>,
    out: &mut [T],
    then: Option<Epilogue<T>>,
) {
    product(left, right, out, right.columns(), &WriteRows { then });
}

/// Writes values to a row from `first` on, as many as it has room for. All of them are a panel, whose size is known when
/// the kernel is compiled: no call copies it.
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

    /// Small integers: every order of summing gives the same.
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
            let turned_a = Matrix { row_step: 1, column_step: m as isize, ..a };
            let b = Matrix::packed(&y, k, n);
            let turned_b = Matrix { row_step: 1, column_step: k as isize, ..b };
            let back = (k * n).saturating_sub(1);
            let reversed = Matrix { start: back, row_step: -(n as isize), column_step: -1, ..b };
            for a in [a, turned_a] {
                for b in [b, turned_b, reversed] {
                    let expected = naive(&a, &b);
                    for isa in [Isa::best(), Isa::Baseline] {
                        let lhs = || PackedLhs::pack(isa, &a);
                        for lhs in [lhs(), lhs().in_one_step()] {
                            let mut out = vec![f32::NAN; m * n];
                            gemm(&lhs, &PackedRhs::new(isa, &b), &mut out);
                            assert_eq!(out, expected, "{m} {k} {n} {isa:?}");
                        }
                    }
                    let mut out = vec![f32::NAN; m * n];
                    if narrow(&a, &b, &mut out) {
                        assert_eq!(out, expected, "{m} {k} {n}");
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

    #[cfg(feature = "threads")]
    #[test]
    fn threads_change_no_bit() {
        // The second is shared out by columns, the others by rows.
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
