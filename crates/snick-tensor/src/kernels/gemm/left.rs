//! The left matrix of a product, packed into tiles.

use std::ops::Range;
use std::slice::Chunks;
use std::sync::Arc;

use super::{Factor, Matrix, tile_rows};
use crate::kernels::vectors::Isa;

/// Writes `count` runs of `from` to the columns of `to`, whose rows are `width` long. `run` gives the start of a run
/// and its stride.
pub(super) fn turn<T: Copy>(
    to: &mut [T],
    width: usize,
    count: usize,
    run: impl Fn(usize) -> (usize, isize),
    from: &[T],
) {
    // A block of rows at a time: each run accesses every row, which should be in the cache.
    const ROWS: usize = 16;
    for (block, rows) in to.chunks_mut(ROWS * width).enumerate() {
        for column in 0..count {
            let (start, step) = run(column);
            let start = start.wrapping_add_signed((block * ROWS) as isize * step);
            if step == 1 {
                let run = &from[start..];
                for (row, &x) in rows.chunks_exact_mut(width).zip(run) {
                    row[column] = x;
                }
            } else {
                for (i, row) in rows.chunks_exact_mut(width).enumerate() {
                    row[column] = from[start.wrapping_add_signed(i as isize * step)];
                }
            }
        }
    }
}

/// Rows in tiles; column-major within a tile. The last tile is padded with zeros.
pub(crate) struct PackedLhs<T> {
    isa: Isa,
    rows: usize,
    /// Columns in memory.
    columns: usize,
    /// The columns that are multiplied.
    range: Range<usize>,
    /// The number of terms after which a partial sum is stored.
    partial: usize,
    data: Arc<Vec<T>>,
}

/// Long sums of floats are more precise in two steps.
const PARTIAL: usize = 1024;

impl<T: Factor> PackedLhs<T> {
    /// Packs a matrix for an instruction set.
    pub fn pack(isa: Isa, matrix: &Matrix<T>) -> Self {
        let height = tile_rows(isa);
        let (rows, columns) = (matrix.rows, matrix.columns);
        let mut data = vec![T::default(); rows.div_ceil(height) * height * columns];
        if columns > 0 {
            for (i, tile) in data.chunks_exact_mut(height * columns).enumerate() {
                let rows = height.min(rows - i * height);
                turn(tile, height, rows, |r| (matrix.at(i * height + r, 0), matrix.column_step), matrix.data);
            }
        }
        PackedLhs { isa, rows, columns, range: 0..columns, partial: PARTIAL, data: Arc::new(data) }
    }

    /// A matrix of the columns that `order` names.
    pub fn with_columns(&self, order: &[usize]) -> Self {
        let height = tile_rows(self.isa);
        let mut data = Vec::with_capacity(self.rows.div_ceil(height) * height * order.len());
        for tile in self.data.chunks_exact((height * self.columns).max(1)) {
            for from in order {
                data.extend_from_slice(&tile[from * height..][..height]);
            }
        }
        PackedLhs { columns: order.len(), range: 0..order.len(), data: Arc::new(data), ..*self }
    }

    /// A matrix of consecutive columns, without a copy.
    pub fn of_columns(&self, range: Range<usize>) -> Self {
        PackedLhs { range, data: self.data.clone(), ..*self }
    }

    /// The same for sums in one step, however long.
    pub fn in_one_step(self) -> Self {
        PackedLhs { partial: usize::MAX, ..self }
    }

    pub fn isa(&self) -> Isa {
        self.isa
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The length of the summed axis.
    pub fn depth(&self) -> usize {
        self.range.len()
    }

    /// The tile whose first row is `row`, column-major, in parts that are summed separately.
    #[inline(always)]
    pub fn tile<const ROWS: usize>(&self, row: usize) -> Chunks<'_, [T; ROWS]> {
        let first = row * self.columns + self.range.start * ROWS;
        self.data[first..first + ROWS * self.range.len()].as_chunks().0.chunks(self.partial)
    }
}
