//! Splits the output of a product among threads.

use std::ops::Range;

/// The part of an output that one thread writes.
pub(super) enum Output<'a, T> {
    /// Consecutive rows.
    Rows(&'a mut [T]),
    /// The same columns of each row.
    Columns(Vec<&'a mut [T]>),
}

impl<'a, T> Output<'a, T> {
    /// Splits rows of `row_len` elements into parts of `at_once` rows.
    pub fn by_rows(out: &'a mut [T], row_len: usize, at_once: usize) -> impl Iterator<Item = Self> {
        out.chunks_mut(at_once * row_len).map(Output::Rows)
    }

    /// Splits rows of `row_len` elements into parts of `at_once` columns.
    pub fn by_columns(out: &'a mut [T], row_len: usize, at_once: usize) -> impl Iterator<Item = Self> {
        columns_of(out, row_len, at_once).map(Output::Columns)
    }

    /// The number of rows.
    pub fn rows(&self, row_len: usize) -> usize {
        match self {
            Output::Rows(rows) => rows.len().div_ceil(row_len),
            Output::Columns(rows) => rows.len(),
        }
    }

    /// At most `N` rows of this part, followed by empty slices.
    #[inline(always)]
    pub fn rows_mut<const N: usize>(&mut self, wanted: Range<usize>, row_len: usize) -> [&mut [T]; N] {
        let mut all: [&mut [T]; N] = std::array::from_fn(|_| Default::default());
        match self {
            Output::Rows(rows) => {
                let rows = rows.get_mut(wanted.start * row_len..).unwrap_or_default().chunks_mut(row_len);
                all.iter_mut().zip(rows).take(wanted.len()).for_each(|(to, row)| *to = row);
            }
            Output::Columns(rows) => {
                let rows = rows.get_mut(wanted).unwrap_or_default();
                all.iter_mut().zip(rows).for_each(|(to, row)| *to = row);
            }
        }
        all
    }
}

/// Splits rows of `row_len` elements into parts of `at_once` columns; a part has a piece of each row.
pub(crate) fn columns_of<T>(
    out: &mut [T],
    row_len: usize,
    at_once: usize,
) -> impl Iterator<Item = Vec<&mut [T]>> {
    let mut parts = Vec::new();
    parts.resize_with(row_len.div_ceil(at_once), Vec::new);
    for row in out.chunks_mut(row_len) {
        parts.iter_mut().zip(row.chunks_mut(at_once)).for_each(|(part, piece)| part.push(piece));
    }
    parts.into_iter()
}
