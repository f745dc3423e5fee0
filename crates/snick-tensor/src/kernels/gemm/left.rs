//! The left matrix of a product, packed into tiles.

use super::{Gemm, Matrix, tile_rows};
use crate::kernels::vectors::Isa;

/// Rows in tiles; within a tile column after column. Rows that fill the last tile up are zeros.
pub(crate) struct Left<T> {
    isa: Isa,
    rows: usize,
    depth: usize,
    data: Vec<T>,
}

impl<T: Gemm> Left<T> {
    /// Packs a matrix for an instruction set.
    pub fn pack(isa: Isa, matrix: &Matrix<T>) -> Self {
        let height = tile_rows(isa);
        let (rows, depth) = (matrix.rows, matrix.columns);
        let mut data = vec![T::default(); rows.div_ceil(height) * height * depth];
        if depth > 0 {
            for (i, tile) in data.chunks_exact_mut(height * depth).enumerate() {
                for r in 0..height.min(rows - i * height) {
                    let mut at = matrix.at(i * height + r, 0);
                    for column in tile.chunks_exact_mut(height) {
                        column[r] = matrix.data[at];
                        at = at.wrapping_add_signed(matrix.column_step);
                    }
                }
            }
        }
        Left { isa, rows, depth, data }
    }

    pub fn isa(&self) -> Isa {
        self.isa
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The length of the summed axis.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The tile whose first row is `row`, column after column.
    #[inline(always)]
    pub fn tile<const ROWS: usize>(&self, row: usize) -> &[[T; ROWS]] {
        let first = row * self.depth;
        self.data[first..first + ROWS * self.depth].as_chunks().0
    }
}
