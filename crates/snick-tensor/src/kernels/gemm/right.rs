//! The right matrix of a product, read in panels.

use super::left::turn;
use super::{Factor, Matrix, panel_columns};
use crate::buffer::Buffer;
use crate::kernels::vectors::Isa;

/// Columns in panels of a few vectors. A panel is read without a copy if each of its rows is contiguous, and packed
/// otherwise; elements beyond the last column are computed, too, and discarded.
pub(crate) struct PackedRhs<'a, T> {
    data: &'a [T],
    /// The start of each row.
    starts: Vec<usize>,
    columns: usize,
    width: usize,
    /// Panels from this one on are in `packed`.
    direct: usize,
    packed: Buffer<T>,
}

/// One panel: its rows start at `starts` plus `shift`.
#[derive(Copy, Clone)]
pub(crate) enum Panel<'a, T> {
    /// The matrix in place.
    Direct { data: &'a [T], starts: &'a [usize], shift: usize },
    /// Packed, row-major.
    Packed(&'a [T]),
}

impl<'a, T: Factor> PackedRhs<'a, T> {
    /// Any matrix within its data.
    pub fn new(isa: Isa, matrix: &Matrix<'a, T>) -> Self {
        let width = panel_columns::<T>(isa);
        if matrix.column_step == 1 {
            let starts = (0..matrix.rows).map(|row| matrix.at(row, 0)).collect();
            return Self::of_runs(isa, matrix.data, starts, matrix.columns);
        }
        let panels = matrix.columns.div_ceil(width);
        let mut packed = Buffer::scratch(panels * width * matrix.rows);
        if matrix.rows > 0 {
            for (i, panel) in packed.chunks_exact_mut(width * matrix.rows).enumerate() {
                let count = width.min(matrix.columns - i * width);
                if count < width {
                    panel.fill(T::default());
                }
                turn(panel, width, count, |c| (matrix.at(0, i * width + c), matrix.row_step), matrix.data);
            }
        }
        PackedRhs { data: &[], starts: Vec::new(), columns: matrix.columns, width, direct: 0, packed }
    }

    /// Rows of `columns` contiguous elements of `data` with any starts: rows may overlap.
    pub fn of_runs(isa: Isa, data: &'a [T], starts: Vec<usize>, columns: usize) -> Self {
        let width = panel_columns::<T>(isa);
        let furthest = starts.iter().copied().max().unwrap_or(0);
        // Whole panels, and a last one where there is memory to read beyond its columns.
        let room = data.len().saturating_sub(furthest) / width;
        let direct = room.min(columns.div_ceil(width));
        let rest = direct * width..columns;
        let mut packed = Buffer::scratch(rest.len().div_ceil(width) * width * starts.len());
        if !rest.is_empty() && !starts.is_empty() {
            for (i, panel) in packed.chunks_exact_mut(width * starts.len()).enumerate() {
                let first = rest.start + i * width;
                let len = width.min(columns - first);
                for (row, start) in panel.chunks_exact_mut(width).zip(&starts) {
                    row[..len].copy_from_slice(&data[start + first..][..len]);
                    row[len..].fill(T::default());
                }
            }
        }
        PackedRhs { data, starts, columns, width, direct, packed }
    }

    /// The same without borrowing: all panels are packed.
    pub fn into_packed(self) -> PackedRhs<'static, T> {
        let width = self.width;
        let packed = if self.direct == 0 {
            self.packed
        } else {
            let mut packed = Buffer::scratch(self.direct * width * self.starts.len() + self.packed.len());
            let mut lines = packed.chunks_exact_mut(width);
            for i in 0..self.direct {
                for (start, line) in self.starts.iter().zip(&mut lines) {
                    line.copy_from_slice(&self.data[start + i * width..][..width]);
                }
            }
            lines.zip(self.packed.chunks_exact(width)).for_each(|(to, from)| to.copy_from_slice(from));
            packed
        };
        PackedRhs { data: &[], starts: Vec::new(), columns: self.columns, width, direct: 0, packed }
    }

    /// Whether no panel is read where the matrix lies.
    pub fn is_packed(&self) -> bool {
        self.direct == 0
    }

    pub fn columns(&self) -> usize {
        self.columns
    }

    /// An element of a matrix of runs.
    pub fn at(&self, row: usize, column: usize) -> Option<T> {
        self.data.get(self.starts.get(row)? + column).copied()
    }

    /// The panel of number `i`, for a product along `depth` rows.
    #[inline(always)]
    pub fn panel(&self, i: usize, depth: usize) -> Panel<'_, T> {
        if i < self.direct {
            return Panel::Direct { data: self.data, starts: &self.starts, shift: i * self.width };
        }
        let size = self.width * depth;
        Panel::Packed(&self.packed[(i - self.direct) * size..][..size])
    }
}
