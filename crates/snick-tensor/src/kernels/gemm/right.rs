//! The right matrix of a product, read in panels.

use std::ops::Range;

use smallvec::SmallVec;

use super::left::turn;
use super::{Factor, Matrix, panel_columns};
use crate::buffer::Buffer;
use crate::kernels::vectors::{Instructions, Isa, Vector};

/// Columns in panels of a few vectors. A matrix whose rows are runs of memory is left where it lies, and packed panel by
/// panel while it is multiplied. Panels are whole: what is beyond the last column is computed, too, and discarded.
pub(crate) struct PackedRhs<'a, T> {
    columns: usize,
    /// Columns of a panel.
    width: usize,
    elements: Elements<'a, T>,
}

enum Elements<'a, T> {
    /// Each row begins at one of `starts`.
    Runs { data: &'a [T], starts: Vec<usize>, lines: Lines },
    /// Panel by panel, each row by row.
    Packed(Buffer<T>),
    /// The same in the memory of another.
    Panels(&'a [T]),
}

/// Where the columns of each row lie, from its start on: in lines of equal length.
pub(crate) struct Lines {
    pub len: usize,
    pub starts: Vec<usize>,
}

impl Lines {
    /// One line.
    pub fn one(len: usize) -> Self {
        Lines { len, starts: vec![0] }
    }

    fn columns(&self) -> usize {
        self.len * self.starts.len()
    }

    fn at(&self, column: usize) -> usize {
        self.starts[column / self.len] + column % self.len
    }

    /// Pieces of some columns that lie in one line and are not longer than `most`: the first column, where it lies, and
    /// their number.
    fn pieces(&self, columns: Range<usize>, most: usize) -> impl Iterator<Item = (usize, usize, usize)> {
        let mut next = columns.start;
        std::iter::from_fn(move || {
            let column = next;
            let len = (columns.end - column).min(self.len - column % self.len).min(most);
            next += len;
            (len > 0).then(|| (column, self.at(column), len))
        })
    }

    /// Copies some columns of the row that begins at `start`.
    fn copy<T: Copy>(&self, data: &[T], start: usize, columns: Range<usize>, to: &mut [T]) {
        let first = columns.start;
        for (column, at, len) in self.pieces(columns, usize::MAX) {
            to[column - first..][..len].copy_from_slice(&data[start + at..][..len]);
        }
    }
}

/// Some rows of consecutive panels.
#[derive(Copy, Clone)]
pub(super) struct Panels<'a, T> {
    data: &'a [T],
    /// Elements from one panel to the next.
    pub step: usize,
    /// Elements of a panel.
    len: usize,
}

impl<'a, T> Panels<'a, T> {
    /// The rows of the `i`-th of them.
    #[inline(always)]
    pub fn panel(&self, i: usize) -> &'a [T] {
        &self.data[i * self.step..][..self.len]
    }
}

impl<'a, T: Factor> PackedRhs<'a, T> {
    /// Any matrix within its data.
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
                turn(panel, width, count, |c| (matrix.at(0, i * width + c), matrix.row_step), matrix.data);
            }
        }
        PackedRhs { columns, width, elements: Elements::Packed(packed) }
    }

    /// A row for each of `starts`, which lies in `lines` of `data`: rows may overlap.
    pub fn of_lines(isa: Isa, data: &'a [T], starts: Vec<usize>, lines: Lines) -> Self {
        let (columns, width) = (lines.columns(), panel_columns::<T>(isa));
        PackedRhs { columns, width, elements: Elements::Runs { data, starts, lines } }
    }

    /// Whole panels, each row by row.
    pub fn of_panels(isa: Isa, columns: usize, panels: &'a [T]) -> Self {
        PackedRhs { columns, width: panel_columns::<T>(isa), elements: Elements::Panels(panels) }
    }

    /// The same without borrowing.
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

    /// Where a column of a matrix of runs lies, from the start of each row on.
    pub fn column(&self, column: usize) -> usize {
        match &self.elements {
            Elements::Runs { lines, .. } => lines.at(column),
            Elements::Packed(_) | Elements::Panels(_) => 0,
        }
    }

    /// A row of a matrix of runs, from its start on.
    pub fn row(&self, row: usize) -> &[T] {
        match &self.elements {
            Elements::Runs { data, starts, .. } => starts.get(row).and_then(|&start| data.get(start..)),
            Elements::Packed(_) | Elements::Panels(_) => None,
        }
        .unwrap_or_default()
    }

    /// The elements that `panels` need to pack so many panels of so many rows.
    pub(super) fn room(&self, panels: usize, rows: usize) -> usize {
        match self.elements {
            Elements::Runs { .. } => panels * (self.width * rows + self.width),
            Elements::Packed(_) | Elements::Panels(_) => 0,
        }
    }

    /// Rows `rows` of `depth` of some panels, which are packed into `room` unless they are. Rows far apart would drive each
    /// other out of the cache while tile after tile reads them.
    #[inline(always)]
    pub(super) fn panels<'b, I: Instructions>(
        &'b self,
        panels: Range<usize>,
        rows: Range<usize>,
        depth: usize,
        room: &'b mut [T],
    ) -> Panels<'b, T> {
        let (width, len) = (2 * T::Vector::<I>::LANES, self.width * rows.len());
        debug_assert!(width == self.width, "panels for these instructions");
        let packed: &[T] = match &self.elements {
            Elements::Packed(packed) => packed,
            Elements::Panels(packed) => packed,
            Elements::Runs { data, starts, lines } => {
                let step = len + width;
                for (panel, room) in panels.zip(room.chunks_exact_mut(step)) {
                    let columns = panel * width..self.columns.min((panel + 1) * width);
                    pack_panel::<I, T>(data, &starts[rows.clone()], lines, columns, room);
                }
                return Panels { data: room, step, len };
            }
        };
        let (first, step) = (panels.start * depth + rows.start, width * depth);
        Panels { data: &packed[first * width..], step, len }
    }
}

/// Writes some columns of rows, each of which begins at one of `starts`, to a panel with room for one row more.
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
    // A piece that is shorter than a vector is written with what follows, which the next one overwrites.
    let pieces: SmallVec<[_; 4]> = lines.pieces(columns.clone(), lanes).collect();
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
