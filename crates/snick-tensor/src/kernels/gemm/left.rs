//! The left matrix of a product, packed into tiles.

use std::ops::Range;
use std::sync::Arc;

use super::{Factor, Matrix, tile_rows};
use crate::buffer::Buffer;
use crate::kernels::sharing;
use crate::kernels::vectors::{Isa, transpose_4x4};

/// Writes `count` runs of `from` to the columns of `to`, whose rows are `width` long. `run` gives the start of a run
/// and its stride.
pub(super) fn turn<T: bytemuck::Pod>(
    to: &mut [T],
    width: usize,
    count: usize,
    run: impl Fn(usize) -> (usize, isize),
    from: &[T],
) {
    // A block of rows at a time: each run accesses every row, which should be in the cache.
    const ROWS: usize = 64;
    for (block, rows) in to.chunks_mut(ROWS * width).enumerate() {
        let first = |column: usize| {
            let (start, step) = run(column);
            (start.wrapping_add_signed((block * ROWS) as isize * step), step)
        };
        let mut column = 0;
        while column < count {
            if count - column >= SQUARE && (column..column + SQUARE).all(|column| first(column).1 == 1) {
                turn_squares(rows, width, column, std::array::from_fn(|i| &from[first(column + i).0..]));
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

/// Runs that are turned together.
const SQUARE: usize = 4;

/// Writes the beginnings of runs to the columns from `column` on of all rows.
#[inline(always)]
fn turn_squares<T: bytemuck::Pod>(rows: &mut [T], width: usize, column: usize, runs: [&[T]; SQUARE]) {
    let whole = rows.len() / (SQUARE * width) * SQUARE;
    let mut squares = rows.chunks_exact_mut(SQUARE * width);
    let [p, q, r, s] = runs.map(|run| run.as_chunks::<SQUARE>().0.iter());
    for ((((rows, p), q), r), s) in squares.by_ref().zip(p).zip(q).zip(r).zip(s) {
        for (row, turned) in rows.chunks_exact_mut(width).zip(transpose_4x4([*p, *q, *r, *s])) {
            row[column..column + SQUARE].copy_from_slice(&turned);
        }
    }
    for (k, row) in squares.into_remainder().chunks_exact_mut(width).enumerate() {
        runs.iter().zip(&mut row[column..]).for_each(|(run, to)| *to = run[whole + k]);
    }
}

/// Rows in tiles; column-major within a tile. The last tile is padded with zeros.
pub(crate) struct PackedLhs<T> {
    isa: Isa,
    rows: usize,
    /// Columns in memory.
    columns: usize,
    /// The columns that are multiplied.
    terms: Terms,
    data: Arc<Buffer<T>>,
}

/// The terms of a sum.
#[derive(Clone)]
struct Terms {
    /// The columns, some consecutive ones at a time.
    runs: Box<[Range<usize>]>,
    /// The runs that are multiplied together.
    spans: Box<[Span]>,
    /// Whether each run has a sum of its own; these are added.
    are_partial: bool,
}

/// Some of the runs of a sum.
#[derive(Clone)]
pub(super) struct Span {
    runs: Range<usize>,
    /// The terms of these runs, counted from the first one of the sum.
    pub terms: Range<usize>,
}

/// So many columns of a tile stay in the nearest cache. Long sums of floats are in parts of no more terms than that,
/// which also is more precise.
const LONGEST: usize = 512;

/// The terms in each part of a sum of `terms`: a multiple of four, as bytes are multiplied.
pub(crate) fn depth_block(terms: usize) -> usize {
    terms.div_ceil(terms.div_ceil(LONGEST).max(1)).next_multiple_of(4)
}

/// Parts of consecutive columns.
fn parts(columns: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let part = depth_block(columns.len()).max(1);
    columns.clone().step_by(part).map(move |first| first..columns.end.min(first + part))
}

impl Terms {
    fn new(runs: impl Iterator<Item = Range<usize>>, are_partial: bool) -> Self {
        let runs: Box<[_]> = runs.collect();
        let mut spans = vec![Span { runs: 0..0, terms: 0..0 }];
        for (i, run) in runs.iter().enumerate() {
            match spans.last_mut() {
                Some(last) if last.terms.len() + run.len() <= LONGEST => {
                    last.runs.end = i + 1;
                    last.terms.end += run.len();
                }
                last => {
                    let first = last.map_or(0, |last| last.terms.end);
                    spans.push(Span { runs: i..i + 1, terms: first..first + run.len() });
                }
            }
        }
        Terms { runs, spans: spans.into(), are_partial }
    }

    fn in_one_step(columns: usize) -> Self {
        Self::new(parts(0..columns), false)
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

    /// As [`PackedLhs::pack`], on this thread alone.
    pub fn pack_single_threaded(isa: Isa, matrix: &Matrix<T>) -> Self {
        Self::packed(isa, matrix, |data, pack| pack(0, data))
    }

    /// Packs a matrix: `all` calls what it is given with all tiles, or parts of them and the number of their first tile.
    fn packed(
        isa: Isa,
        matrix: &Matrix<T>,
        all: impl FnOnce(&mut [T], &(dyn Fn(usize, &mut [T]) + Sync)),
    ) -> Self {
        let columns = matrix.columns;
        let (height, size) = (tile_rows(isa), tile_size(isa, matrix));
        let mut data = Buffer::scratch(matrix.rows.div_ceil(height) * size);
        all(&mut data, &|first, some| {
            for (i, tile) in some.chunks_exact_mut(size.max(1)).enumerate() {
                pack_tile(tile, isa, matrix, (first + i) * height);
            }
        });
        Self::of_tiles(isa, matrix.rows, columns, data)
    }

    /// Tiles as [`PackedLhs::pack`] makes them: [`tile_rows`] rows each, column after column.
    pub fn of_tiles(isa: Isa, rows: usize, columns: usize, tiles: Buffer<T>) -> Self {
        let terms = Terms::new(parts(0..columns), true);
        PackedLhs { isa, rows, columns, terms, data: Arc::new(tiles) }
    }

    /// Packs the columns of a matrix in an order, for sums in one step.
    pub fn pack_in_order(isa: Isa, matrix: &Matrix<T>, order: &[usize]) -> Self {
        let (height, size) = (tile_rows(isa), tile_size(isa, matrix));
        let (mut data, mut before) =
            (Buffer::scratch(matrix.rows.div_ceil(height) * size), vec![T::default(); size]);
        for (i, tile) in data.chunks_exact_mut(size.max(1)).enumerate() {
            pack_tile(&mut before, isa, matrix, i * height);
            for (column, &from) in tile.chunks_exact_mut(height).zip(order) {
                column.copy_from_slice(&before[from * height..][..height]);
            }
        }
        let terms = Terms::in_one_step(matrix.columns);
        PackedLhs { isa, rows: matrix.rows, columns: matrix.columns, terms, data: Arc::new(data) }
    }

    /// A matrix of some columns, without a copy, for sums in one step.
    pub fn of_columns(&self, runs: impl Iterator<Item = Range<usize>>) -> Self {
        let terms = Terms::new(runs.flat_map(parts), false);
        PackedLhs { terms, data: self.data.clone(), ..*self }
    }

    /// The same for sums in one step, however long.
    pub fn in_one_step(self) -> Self {
        PackedLhs { terms: Terms::in_one_step(self.columns), ..self }
    }

    pub fn isa(&self) -> Isa {
        self.isa
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The length of the summed axis.
    pub fn depth(&self) -> usize {
        self.terms.runs.iter().map(ExactSizeIterator::len).sum()
    }

    /// The terms of the sums, as many at a time as a tile in the nearest cache has.
    pub(super) fn spans(&self) -> &[Span] {
        &self.terms.spans
    }

    /// A span of the tile whose first row is `row`.
    #[inline(always)]
    pub(super) fn tile<const ROWS: usize>(&self, row: usize, span: &Span) -> Tile<'_, T, ROWS> {
        let columns = self.data[row * self.columns..][..ROWS * self.columns].as_chunks().0;
        Tile {
            columns,
            runs: &self.terms.runs[span.runs.clone()],
            is_begun: span.terms.start > 0,
            has_partial_sums: self.terms.are_partial,
        }
    }
}

/// Elements of a tile.
fn tile_size<T>(isa: Isa, matrix: &Matrix<T>) -> usize {
    tile_rows(isa) * matrix.columns
}

/// Writes the tile whose first row is `first`.
fn pack_tile<T: Factor>(tile: &mut [T], isa: Isa, matrix: &Matrix<T>, first: usize) {
    let height = tile_rows(isa);
    let rows = height.min(matrix.rows - first);
    if rows < height {
        tile.fill(T::default());
    }
    turn(tile, height, rows, |row| (matrix.at(first + row, 0), matrix.column_step), matrix.data);
}

/// `ROWS` rows of a matrix, column-major.
#[derive(Copy, Clone)]
pub(super) struct Tile<'a, T, const ROWS: usize> {
    pub columns: &'a [[T; ROWS]],
    /// The columns that are multiplied.
    pub runs: &'a [Range<usize>],
    /// Whether they are not the first ones of their sums.
    pub is_begun: bool,
    /// Whether the sum of each run is added to those of the others, instead of going on with it.
    pub has_partial_sums: bool,
}

impl<T, const ROWS: usize> Tile<'_, T, ROWS> {
    /// Where the same columns of the next tile lie.
    #[inline(always)]
    pub fn after(&self) -> *const T {
        let first = self.runs.first().map_or(0, |run| run.start);
        self.columns.as_ptr().wrapping_add(self.columns.len() + first).cast()
    }
}
