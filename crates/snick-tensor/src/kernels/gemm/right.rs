//! Packs the right operand of a product into panels.

use crate::SmallVector;
use std::ops::Range;

use super::left::transpose_into;
use super::{Factor, Matrix, panel_columns};
use crate::buffer::Buffer;
use crate::kernels::vectors::{Instructions, Isa, Vector};

/// The right operand: panels of [`panel_columns`] columns, each row-major. A matrix with contiguous rows can
/// stay unpacked; the product then packs a few panels at a time. The last panel is padded, and products of
/// its padding are discarded.
pub(crate) struct PackedRhs<'a, T> {
    columns: usize,
    /// Columns of a panel.
    width: usize,
    elements: Elements<'a, T>,
}

enum Elements<'a, T> {
    /// Not packed. `starts` holds the start of each row.
    Runs { data: &'a [T], starts: Vec<usize>, lines: Lines },
    /// All panels.
    Packed(Buffer<T>),
    /// All panels, borrowed.
    Panels(&'a [T]),
}

/// The offsets of columns from the start of their row: lines of equal length with gaps between them, such as
/// the rows of an image.
pub(crate) struct Lines {
    pub len: usize,
    pub starts: Vec<usize>,
}

impl Lines {
    /// A single line.
    pub fn one(len: usize) -> Self {
        Lines { len, starts: vec![0] }
    }

    fn columns(&self) -> usize {
        self.len * self.starts.len()
    }

    fn at(&self, column: usize) -> usize {
        self.starts[column / self.len] + column % self.len
    }

    /// Splits columns into pieces of up to `most` columns of one line. Yields the first column of each piece,
    /// the offset of that column and the length of the piece.
    fn pieces(&self, columns: Range<usize>, most: usize) -> impl Iterator<Item = (usize, usize, usize)> {
        let mut next = columns.start;
        std::iter::from_fn(move || {
            let column = next;
            let len = (columns.end - column).min(self.len - column % self.len).min(most);
            next += len;
            (len > 0).then(|| (column, self.at(column), len))
        })
    }

    /// Copies columns of the row that begins at `start`.
    fn copy<T: Copy>(&self, data: &[T], start: usize, columns: Range<usize>, to: &mut [T]) {
        let first = columns.start;
        for (column, at, len) in self.pieces(columns, usize::MAX) {
            to[column - first..][..len].copy_from_slice(&data[start + at..][..len]);
        }
    }
}

/// The same range of rows of consecutive panels.
#[derive(Copy, Clone)]
pub(super) struct Panels<'a, T> {
    data: &'a [T],
    /// Elements from one panel to the next.
    pub step: usize,
    /// Elements of a panel.
    len: usize,
}

impl<'a, T> Panels<'a, T> {
    /// The rows of panel `i`.
    #[inline(always)]
    pub fn panel(&self, i: usize) -> &'a [T] {
        &self.data[i * self.step..][..self.len]
    }
}

impl<'a, T: Factor> PackedRhs<'a, T> {
    /// Packs a matrix, unless its rows are contiguous.
    pub fn new(isa: Isa, matrix: &Matrix<'a, T>) -> Self {
        if matrix.column_step == 1 {
            let starts = (0..matrix.rows).map(|row| matrix.at(row, 0)).collect();
            return Self::of_lines(isa, matrix.data, starts, Lines::one(matrix.columns));
        }
        let (columns, width) = (matrix.columns, panel_columns::<T>(isa));
        let mut packed = Buffer::scratch(columns.div_ceil(width) * width * matrix.rows);
        if matrix.rows > 0 {
            for (i, panel) in packed.chunks_exact_mut(width * matrix.rows).enumerate() {
                let count = width.min(columns - i * width);
                if count < width {
                    panel.fill(T::default());
                }
                transpose_into(
                    panel,
                    width,
                    count,
                    |c| (matrix.at(0, i * width + c), matrix.row_step),
                    matrix.data,
                );
            }
        }
        PackedRhs { columns, width, elements: Elements::Packed(packed) }
    }

    /// A matrix whose rows begin at `starts` and whose columns are at the offsets `lines` from the start of
    /// their row. Rows may overlap.
    pub fn of_lines(isa: Isa, data: &'a [T], starts: Vec<usize>, lines: Lines) -> Self {
        let (columns, width) = (lines.columns(), panel_columns::<T>(isa));
        PackedRhs { columns, width, elements: Elements::Runs { data, starts, lines } }
    }

    /// Wraps packed panels.
    pub fn of_panels(isa: Isa, columns: usize, panels: &'a [T]) -> Self {
        PackedRhs { columns, width: panel_columns::<T>(isa), elements: Elements::Panels(panels) }
    }

    /// Packs all panels into owned memory.
    pub fn into_packed(self) -> PackedRhs<'static, T> {
        let (columns, width) = (self.columns, self.width);
        let packed = match self.elements {
            Elements::Packed(packed) => packed,
            Elements::Panels(panels) => {
                let mut packed = Buffer::scratch(panels.len());
                packed.copy_from_slice(panels);
                packed
            }
            Elements::Runs { data, starts, lines } => {
                let size = width * starts.len();
                let mut packed = Buffer::scratch(columns.div_ceil(width) * size);
                for (i, panel) in packed.chunks_exact_mut(size.max(1)).enumerate() {
                    let first = i * width;
                    if columns - first < width {
                        panel.fill(T::default());
                    }
                    for (&start, row) in starts.iter().zip(panel.chunks_exact_mut(width)) {
                        lines.copy(data, start, first..columns.min(first + width), row);
                    }
                }
                packed
            }
        };
        PackedRhs { columns, width, elements: Elements::Packed(packed) }
    }

    /// Whether all panels are packed.
    pub fn is_packed(&self) -> bool {
        !matches!(self.elements, Elements::Runs { .. })
    }

    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Columns of a panel.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The offset of a column from the start of its row, if the matrix is not packed.
    pub fn column(&self, column: usize) -> usize {
        match &self.elements {
            Elements::Runs { lines, .. } => lines.at(column),
            Elements::Packed(_) | Elements::Panels(_) => 0,
        }
    }

    /// The data from the start of a row on, if the matrix is not packed.
    pub fn row(&self, row: usize) -> &[T] {
        match &self.elements {
            Elements::Runs { data, starts, .. } => starts.get(row).and_then(|&start| data.get(start..)),
            Elements::Packed(_) | Elements::Panels(_) => None,
        }
        .unwrap_or_default()
    }

    /// The number of scratch elements that [`PackedRhs::panels`] needs.
    pub(super) fn scratch_len(&self, panels: usize, rows: usize) -> usize {
        match self.elements {
            Elements::Runs { .. } => panels * (self.width * rows + self.width),
            Elements::Packed(_) | Elements::Panels(_) => 0,
        }
    }

    /// The rows `rows` of some panels. A whole panel has `depth` rows. An unpacked matrix is packed into
    /// `scratch`: every tile reads these rows, and rows far apart in memory would evict each other from the
    /// cache.
    #[inline(always)]
    pub(super) fn panels<'b, I: Instructions>(
        &'b self,
        panels: Range<usize>,
        rows: Range<usize>,
        depth: usize,
        scratch: &'b mut [T],
    ) -> Panels<'b, T> {
        let (width, len) = (2 * T::Vector::<I>::LANES, self.width * rows.len());
        debug_assert!(width == self.width, "panels for these instructions");
        let packed: &[T] = match &self.elements {
            Elements::Packed(packed) => packed,
            Elements::Panels(packed) => packed,
            Elements::Runs { data, starts, lines } => {
                let step = len + width;
                for (panel, to) in panels.zip(scratch.chunks_exact_mut(step)) {
                    let columns = panel * width..self.columns.min((panel + 1) * width);
                    pack_panel::<I, T>(data, &starts[rows.clone()], lines, columns, to);
                }
                return Panels { data: scratch, step, len };
            }
        };
        let (first, step) = (panels.start * depth + rows.start, width * depth);
        Panels { data: &packed[first * width..], step, len }
    }
}

/// Packs columns of the rows that begin at `starts` into a panel with room for one extra row.
#[inline(always)]
fn pack_panel<I: Instructions, T: Factor>(
    data: &[T],
    starts: &[usize],
    lines: &Lines,
    columns: Range<usize>,
    panel: &mut [T],
) {
    let lanes = T::Vector::<I>::LANES;
    let width = 2 * lanes;
    let first = columns.start;
    if lines.len - first % lines.len >= columns.len() {
        let at = lines.at(first);
        for (&start, row) in starts.iter().zip(panel.chunks_exact_mut(width)) {
            match data.get(start + at..start + at + width) {
                Some(from) => {
                    T::Vector::<I>::load(from).store(row);
                    T::Vector::<I>::load(&from[lanes..]).store(&mut row[lanes..]);
                }
                None => lines.copy(data, start, columns.clone(), row),
            }
        }
        return;
    }
    // Pieces shorter than a vector are stored as whole vectors; the next piece overwrites the excess lanes.
    let pieces: SmallVector<_, 4> = lines.pieces(columns.clone(), lanes).collect();
    let furthest = pieces.iter().map(|&(_, at, _)| at + lanes).max().unwrap_or(0);
    for (row, &start) in starts.iter().enumerate() {
        let row = &mut panel[row * width..][..2 * width];
        if start + furthest <= data.len() {
            for &(column, at, _) in &pieces {
                T::Vector::<I>::load(&data[start + at..]).store(&mut row[column - first..]);
            }
        } else {
            lines.copy(data, start, columns.clone(), row);
        }
    }
}
