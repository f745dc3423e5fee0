//! Where the results of a product lie in an image.

use crate::kernels::broadcast::copy_run;
use crate::kernels::gemm::{Gemm, PackedLhs, PackedRhs, product, write_row};

/// Positions in lines, and the lines in blocks, of which only the first ones are windows.
pub(super) struct Placement {
    /// Positions in a line.
    pub line: usize,
    /// Lines in a block.
    pub lines: usize,
    /// Lines of a block that are windows.
    pub rows: usize,
    /// Positions of a line that are windows.
    pub columns: usize,
    /// Windows from one line to the next.
    pub row: usize,
    /// The window of the first position.
    pub first: usize,
}

impl Placement {
    /// The product of filters with all positions: each row of the output is an image of `windows`.
    #[inline(never)]
    pub fn product<T: Gemm>(&self, left: &PackedLhs<T>, right: &PackedRhs<T>, out: &mut [T], windows: usize) {
        // Positions without gaps are windows one after the other.
        let is_direct = right.columns() == windows;
        product(left, right, out, windows, |image, _, first, values| match is_direct {
            true => write_row(image, first, values),
            false => self.place(image, first, values),
        });
    }

    /// Writes the results of the positions from `first` on to their windows.
    #[inline(always)]
    pub fn place<T: Copy>(&self, image: &mut [T], first: usize, values: &[T]) {
        let mut at = 0;
        while at < values.len() {
            let (line, column) = ((first + at) / self.line, (first + at) % self.line);
            let to_next = self.line - column;
            if column < self.columns && line % self.lines < self.rows {
                let row = line / self.lines * self.rows + line % self.lines;
                let window = self.first + row * self.row + column;
                let len = (self.columns - column).min(values.len() - at);
                let Some(to) = image.get_mut(window..window + len) else { return };
                copy_run(to, &values[at..at + len]);
            }
            at += to_next;
        }
    }
}
