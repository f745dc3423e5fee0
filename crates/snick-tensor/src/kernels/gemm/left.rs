//! The left matrix of a product, packed into tiles.

use std::ops::Range;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use super::{Gemm, Matrix, tile_rows};
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
    /// The length of a row in memory.
    columns: usize,
    parts: Parts,
    data: Arc<Vec<T>>,
}

/// The columns that are multiplied, in order.
#[derive(Clone)]
pub(super) struct Parts {
    pub ranges: SmallVec<[Range<usize>; 1]>,
    /// Whether the sums go on from one part to the next; else each part is summed separately.
    pub go_on: bool,
}

/// Long sums of floats are more precise in two steps.
const PARTIAL: usize = 1024;

impl<T: Gemm> PackedLhs<T> {
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
        let ranges = (0..columns).step_by(PARTIAL).map(|first| first..columns.min(first + PARTIAL)).collect();
        PackedLhs { isa, rows, columns, parts: Parts { ranges, go_on: false }, data: Arc::new(data) }
    }

    /// The same with its columns permuted by `order`.
    pub fn with_columns(mut self, order: &[usize]) -> Self {
        let height = tile_rows(self.isa);
        let mut data = Vec::with_capacity(self.data.len());
        for tile in self.data.chunks_exact((height * self.columns).max(1)) {
            for from in order {
                data.extend_from_slice(&tile[from * height..][..height]);
            }
        }
        self.data = Arc::new(data);
        self
    }

    /// The same for sums in one step, however long.
    pub fn in_one_step(self) -> Self {
        let all = 0..self.columns;
        PackedLhs { parts: Parts { ranges: smallvec![all], go_on: true }, ..self }
    }

    /// Some of its columns, for sums in one step.
    pub fn of_columns(&self, ranges: impl IntoIterator<Item = Range<usize>>) -> Self {
        let parts = Parts { ranges: ranges.into_iter().collect(), go_on: true };
        PackedLhs { parts, data: self.data.clone(), ..*self }
    }

    pub fn isa(&self) -> Isa {
        self.isa
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The length of the summed axis.
    pub fn depth(&self) -> usize {
        self.parts.ranges.iter().map(|part| part.len()).sum()
    }

    /// The tile whose first row is `row`, column-major, and the columns to multiply.
    #[inline(always)]
    pub(super) fn tile<const ROWS: usize>(&self, row: usize) -> (&[[T; ROWS]], &Parts) {
        let first = row * self.columns;
        (self.data[first..first + ROWS * self.columns].as_chunks().0, &self.parts)
    }
}
