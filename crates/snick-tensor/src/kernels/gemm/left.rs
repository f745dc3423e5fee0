//! Packs the left operand of a product into tiles.

use std::ops::Range;
use std::sync::Arc;

use super::{Factor, Matrix, tile_rows};
use crate::buffer::Buffer;
use crate::kernels::sharing;
use crate::kernels::vectors::{Isa, transpose_4x4};

/// Copies `count` strided runs of `from` to the columns of `to`, whose rows have `width` elements. `run`
/// returns the start and the stride of a run.
pub(super) fn transpose_into<T: bytemuck::Pod>(
    to: &mut [T],
    width: usize,
    count: usize,
    run: impl Fn(usize) -> (usize, isize),
    from: &[T],
) {
    // Each run accesses every row of a block, so a block should fit in the cache.
    const ROWS: usize = 64;
    for (block, rows) in to.chunks_mut(ROWS * width).enumerate() {
        let first = |column: usize| {
            let (start, step) = run(column);
            (start.wrapping_add_signed((block * ROWS) as isize * step), step)
        };
        let mut column = 0;
        while column < count {
            if count - column >= SQUARE && (column..column + SQUARE).all(|column| first(column).1 == 1) {
                transpose_squares(rows, width, column, std::array::from_fn(|i| &from[first(column + i).0..]));
                column += SQUARE;
                continue;
            }
            let (start, step) = first(column);
            for (i, row) in rows.chunks_exact_mut(width).enumerate() {
                row[column] = from[start.wrapping_add_signed(i as isize * step)];
            }
            column += 1;
        }
    }
}

/// The number of contiguous runs that are transposed together.
const SQUARE: usize = 4;

/// Copies contiguous runs to the columns from `column` on.
#[inline(always)]
fn transpose_squares<T: bytemuck::Pod>(rows: &mut [T], width: usize, column: usize, runs: [&[T]; SQUARE]) {
    let whole = rows.len() / (SQUARE * width) * SQUARE;
    let mut squares = rows.chunks_exact_mut(SQUARE * width);
    let [p, q, r, s] = runs.map(|run| run.as_chunks::<SQUARE>().0.iter());
    for ((((rows, p), q), r), s) in squares.by_ref().zip(p).zip(q).zip(r).zip(s) {
        for (row, square) in rows.chunks_exact_mut(width).zip(transpose_4x4([*p, *q, *r, *s])) {
            row[column..column + SQUARE].copy_from_slice(&square);
        }
    }
    for (k, row) in squares.into_remainder().chunks_exact_mut(width).enumerate() {
        runs.iter().zip(&mut row[column..]).for_each(|(run, to)| *to = run[whole + k]);
    }
}

/// The left operand: tiles of [`tile_rows`] rows, each column-major. The last tile is padded with zeros.
pub(crate) struct PackedLhs<T> {
    isa: Isa,
    rows: usize,
    /// Columns in memory. [`Depth`] selects those to multiply.
    columns: usize,
    depth: Depth,
    data: Arc<Buffer<T>>,
}

/// The summed axis: which columns are multiplied, and how they are blocked.
#[derive(Clone)]
struct Depth {
    /// Runs of consecutive columns.
    runs: Box<[Range<usize>]>,
    blocks: Box<[DepthBlock]>,
    /// Whether each run is summed separately and then added to the total. Otherwise each run continues the
    /// sum of the previous run.
    has_partial_sums: bool,
}

/// Consecutive `runs` of a [`Depth`]. One pass over a tile and a panel multiplies all of them.
#[derive(Clone)]
pub(super) struct DepthBlock {
    runs: Range<usize>,
    /// The terms of these runs, numbered from the start of the sum.
    pub terms: Range<usize>,
}

/// KC, the maximum number of terms in a block: a tile of this depth stays in the L1 cache. Summing by blocks
/// also makes long sums of floats more precise.
const MAX_DEPTH_BLOCK: usize = 512;

/// The number of terms per block of a sum of `terms`: a multiple of four, because int8 products take four
/// terms at a time.
pub(crate) fn depth_block(terms: usize) -> usize {
    terms.div_ceil(terms.div_ceil(MAX_DEPTH_BLOCK).max(1)).next_multiple_of(4)
}

/// Splits consecutive columns into blocks.
fn split_depth(columns: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let part = depth_block(columns.len()).max(1);
    columns.clone().step_by(part).map(move |first| first..columns.end.min(first + part))
}

impl Depth {
    fn new(runs: impl Iterator<Item = Range<usize>>, has_partial_sums: bool) -> Self {
        let runs: Box<[_]> = runs.collect();
        let mut blocks = vec![DepthBlock { runs: 0..0, terms: 0..0 }];
        for (i, run) in runs.iter().enumerate() {
            match blocks.last_mut() {
                Some(last) if last.terms.len() + run.len() <= MAX_DEPTH_BLOCK => {
                    last.runs.end = i + 1;
                    last.terms.end += run.len();
                }
                last => {
                    let first = last.map_or(0, |last| last.terms.end);
                    blocks.push(DepthBlock { runs: i..i + 1, terms: first..first + run.len() });
                }
            }
        }
        Depth { runs, blocks: blocks.into(), has_partial_sums }
    }

    fn sequential(columns: usize) -> Self {
        Self::new(split_depth(0..columns), false)
    }
}

impl<T: Factor> PackedLhs<T> {
    /// Packs a matrix for an instruction set.
    pub fn pack(isa: Isa, matrix: &Matrix<T>) -> Self {
        let size = tile_size(isa, matrix);
        Self::packed(isa, matrix, |data, pack| {
            sharing::in_parts(data, size, sharing::ELEMENTS / size.max(1), pack)
        })
    }

    /// [`PackedLhs::pack`] on the calling thread only.
    pub fn pack_single_threaded(isa: Isa, matrix: &Matrix<T>) -> Self {
        Self::packed(isa, matrix, |data, pack| pack(0, data))
    }

    /// Packs a matrix. `for_parts` calls its argument with parts of the tiles and the index of each part's
    /// first tile.
    fn packed(
        isa: Isa,
        matrix: &Matrix<T>,
        for_parts: impl FnOnce(&mut [T], &(dyn Fn(usize, &mut [T]) + Sync)),
    ) -> Self {
        let columns = matrix.columns;
        let (height, size) = (tile_rows(isa), tile_size(isa, matrix));
        let mut data = Buffer::scratch(matrix.rows.div_ceil(height) * size);
        for_parts(&mut data, &|first, some| {
            for (i, tile) in some.chunks_exact_mut(size.max(1)).enumerate() {
                pack_tile(tile, isa, matrix, (first + i) * height);
            }
        });
        Self::of_tiles(isa, matrix.rows, columns, data)
    }

    /// Wraps tiles that already have the layout of [`PackedLhs::pack`].
    pub fn of_tiles(isa: Isa, rows: usize, columns: usize, tiles: Buffer<T>) -> Self {
        let depth = Depth::new(split_depth(0..columns), true);
        PackedLhs { isa, rows, columns, depth, data: Arc::new(tiles) }
    }

    /// Packs the columns of a matrix in the given order, for [sequential sums](Self::with_sequential_sums).
    pub fn pack_permuted(isa: Isa, matrix: &Matrix<T>, order: &[usize]) -> Self {
        let (height, size) = (tile_rows(isa), tile_size(isa, matrix));
        let (mut data, mut before) =
            (Buffer::scratch(matrix.rows.div_ceil(height) * size), vec![T::default(); size]);
        for (i, tile) in data.chunks_exact_mut(size.max(1)).enumerate() {
            pack_tile(&mut before, isa, matrix, i * height);
            for (column, &from) in tile.chunks_exact_mut(height).zip(order) {
                column.copy_from_slice(&before[from * height..][..height]);
            }
        }
        let depth = Depth::sequential(matrix.columns);
        PackedLhs { isa, rows: matrix.rows, columns: matrix.columns, depth, data: Arc::new(data) }
    }

    /// Selects some columns without a copy, for [sequential sums](Self::with_sequential_sums).
    pub fn of_columns(&self, runs: impl Iterator<Item = Range<usize>>) -> Self {
        let depth = Depth::new(runs.flat_map(split_depth), false);
        PackedLhs { depth, data: self.data.clone(), ..*self }
    }

    /// Sums all terms in order, without partial sums.
    pub fn with_sequential_sums(self) -> Self {
        PackedLhs { depth: Depth::sequential(self.columns), ..self }
    }

    pub fn isa(&self) -> Isa {
        self.isa
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The length of the summed axis.
    pub fn depth(&self) -> usize {
        self.depth.runs.iter().map(ExactSizeIterator::len).sum()
    }

    pub(super) fn depth_blocks(&self) -> &[DepthBlock] {
        &self.depth.blocks
    }

    /// A block of the tile whose first row is `row`.
    #[inline(always)]
    pub(super) fn tile<const ROWS: usize>(&self, row: usize, block: &DepthBlock) -> Tile<'_, T, ROWS> {
        let columns = self.data[row * self.columns..][..ROWS * self.columns].as_chunks().0;
        Tile {
            columns,
            runs: &self.depth.runs[block.runs.clone()],
            continues: block.terms.start > 0,
            has_partial_sums: self.depth.has_partial_sums,
        }
    }
}

/// The number of elements in a tile.
fn tile_size<T>(isa: Isa, matrix: &Matrix<T>) -> usize {
    tile_rows(isa) * matrix.columns
}

/// Packs the tile whose first row is `first`.
fn pack_tile<T: Factor>(tile: &mut [T], isa: Isa, matrix: &Matrix<T>, first: usize) {
    let height = tile_rows(isa);
    let rows = height.min(matrix.rows - first);
    if rows < height {
        tile.fill(T::default());
    }
    transpose_into(tile, height, rows, |row| (matrix.at(first + row, 0), matrix.column_step), matrix.data);
}

/// `ROWS` rows of a matrix, column-major.
#[derive(Copy, Clone)]
pub(super) struct Tile<'a, T, const ROWS: usize> {
    pub columns: &'a [[T; ROWS]],
    /// The columns that are multiplied.
    pub runs: &'a [Range<usize>],
    /// Whether the block continues sums of earlier blocks.
    pub continues: bool,
    /// See [`Depth::has_partial_sums`].
    pub has_partial_sums: bool,
}

impl<T, const ROWS: usize> Tile<'_, T, ROWS> {
    /// The address of the same columns of the next tile.
    #[inline(always)]
    pub fn next_tile(&self) -> *const T {
        let first = self.runs.first().map_or(0, |run| run.start);
        self.columns.as_ptr().wrapping_add(self.columns.len() + first).cast()
    }
}
