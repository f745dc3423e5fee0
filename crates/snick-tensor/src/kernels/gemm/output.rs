//! The memory that a product is written to.

use std::ops::Range;

/// What a thread writes: some rows of the output, or some columns of all rows.
pub(super) enum Output<'a, T> {
    /// Whole rows, one after the other.
    Rows(&'a mut [T]),
    /// The same columns of each row.
    Columns(Vec<&'a mut [T]>),
}

impl<'a, T> Output<'a, T> {
    /// Cuts rows of `row_len` into parts of `at_once` rows.
    pub fn by_rows(out: &'a mut [T], row_len: usize, at_once: usize) -> impl Iterator<Item = Self> {
        out.chunks_mut(at_once * row_len).map(Output::Rows)
    }

    /// Cuts rows of `row_len` into parts of `at_once` columns.
    pub fn by_columns(out: &'a mut [T], row_len: usize, at_once: usize) -> impl Iterator<Item = Self> {
        let mut parts = Vec::new();
        parts.resize_with(row_len.div_ceil(at_once), Vec::new);
        for row in out.chunks_mut(row_len) {
            parts.iter_mut().zip(row.chunks_mut(at_once)).for_each(|(part, piece)| part.push(piece));
        }
        parts.into_iter().map(Output::Columns)
    }

    /// The number of rows.
    pub fn rows(&self, row_len: usize) -> usize {
        match self {
            Output::Rows(rows) => rows.len().div_ceil(row_len),
            Output::Columns(rows) => rows.len(),
        }
    }

    /// Some rows, at most `N`, or their columns; behind them empty ones.
    #[inline(always)]
    pub fn some<const N: usize>(&mut self, some: Range<usize>, row_len: usize) -> [&mut [T]; N] {
        let mut all: [&mut [T]; N] = std::array::from_fn(|_| Default::default());
        match self {
            Output::Rows(rows) => {
                let rows = rows.get_mut(some.start * row_len..).unwrap_or_default().chunks_mut(row_len);
                all.iter_mut().zip(rows).take(some.len()).for_each(|(to, row)| *to = row);
            }
            Output::Columns(rows) => {
                let rows = rows.get_mut(some).unwrap_or_default();
                all.iter_mut().zip(rows).for_each(|(to, row)| *to = row);
            }
        }
        all
    }
}
