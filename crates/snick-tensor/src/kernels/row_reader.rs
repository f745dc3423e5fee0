//! Reads the operands of element-wise functions row by row.
//!
//! A row of an operand is its last axis after [collapsing](Strided::collapsed): the longest run of elements
//! with a constant stride.

use crate::SmallVector;
use std::ops::Range;

use bytemuck::Pod;

use crate::kernels::broadcast::{Run, Strided};
use crate::kernels::sharing;
use crate::layout::Offsets;

/// The maximum number of elements in a block: one block each of a few operands fits in the L1 cache.
pub(crate) const BLOCK: usize = 1024;

/// Shorter rows are copied into longer blocks: copying so few elements costs less than starting a loop.
const SHORT: usize = 64;

/// The maximum number of rows in a gathered tile: in a transpose, adjacent rows share cache lines.
const TILE_ROWS: usize = 16;

/// The maximum number of elements in a gathered tile, which fits in the L2 cache.
const TILE_ELEMENTS: usize = 1 << 15;

/// Elements gathered per row before moving to the next row of the tile.
const TILE_COLUMNS: usize = 32;

/// How to split a result into parts, and each part into blocks that are computed one at a time. In each
/// operand, a block is a piece of one row or several whole rows.
#[derive(Copy, Clone)]
pub(crate) struct BlockSizes {
    pub part: usize,
    pub block: usize,
}

impl BlockSizes {
    /// Sizes for operands with these row lengths. Each length must divide the next larger one.
    pub fn new(row_lens: impl Iterator<Item = usize> + Clone) -> Self {
        let shortest = row_lens.clone().min().unwrap_or(BLOCK);
        if shortest >= SHORT {
            return BlockSizes { part: shortest, block: BLOCK };
        }
        let part = row_lens.clone().filter(|&len| len > BLOCK).min().unwrap_or(usize::MAX);
        let short = row_lens.filter(|&len| len <= BLOCK).max().unwrap_or(1);
        BlockSizes { part, block: BLOCK / short * short }
    }

    /// For a result of `len` elements: readers of these operands can only skip to multiples of this number.
    pub fn unit<'a, T: Pod>(self, len: usize, readers: impl Iterator<Item = &'a RowReader<'a, T>>) -> usize {
        let unit = if self.part < len { self.part } else { self.block };
        // A reader gathers whole rows.
        let gathers = |reader: &&RowReader<T>| !matches!(reader.row.step, 0 | 1);
        readers.filter(gathers).map(RowReader::row_len).fold(unit, usize::max)
    }
}

/// Consecutive elements of an operand.
#[derive(Copy, Clone)]
pub(crate) enum Piece<'a, T> {
    /// All elements are equal.
    Equal(T),
    Each(&'a [T]),
}

/// Reads the elements of an operand in row-major order. Rows with step 1 are read in place, rows with step 0
/// as copies of their element; other rows, and short rows, are gathered.
pub(crate) struct RowReader<'a, T> {
    /// The rest of the current row.
    row: Run<'a, T>,
    /// The number of elements left in the current row.
    left: usize,
    /// Elements in a row.
    row_len: usize,
    /// The number of rows to gather together if their step is neither 0 nor 1.
    tile_rows: usize,
    /// The starts of the next rows.
    starts: Offsets<'a>,
    /// Elements that cannot be read in place.
    copies: SmallVector<T, 64>,
    /// The gathered elements in `copies` that are still unread.
    gathered: Range<usize>,
    /// The position of the element that fills `copies`.
    cached: Option<usize>,
}

impl<'a, T: Pod> RowReader<'a, T> {
    /// The operand is [collapsed](Strided::collapsed) and not empty.
    pub fn new(operand: &'a Strided<T>) -> Self {
        let (data, start) = (&operand.data[..], operand.layout.start);
        let (dims, strides) = (&operand.layout.dims, &operand.layout.strides);
        // A layout without axes has one element.
        let (&row_len, outer) = dims.split_last().unwrap_or((&1, &[]));
        let (&step, outer_strides) = strides.split_last().unwrap_or((&0, &[]));
        RowReader {
            row: Run { data, at: start, step },
            left: 0,
            row_len,
            tile_rows: (TILE_ELEMENTS / row_len).min(TILE_ROWS).min(outer.iter().product()),
            starts: Offsets::new(outer, outer_strides, start),
            copies: SmallVector::new(),
            gathered: 0..0,
            cached: None,
        }
    }

    /// Elements in a row.
    pub fn row_len(&self) -> usize {
        self.row_len
    }

    /// Skips to an element, a multiple of the operands' [unit](BlockSizes::unit). Must be called before the
    /// first read.
    pub fn skip_to(&mut self, element: usize) {
        self.starts.skip_to(element / self.row_len);
        let rest = element % self.row_len;
        if rest > 0 {
            self.advance(rest);
        }
    }

    /// Reads the `len` elements of the next block.
    pub fn read(&mut self, len: usize) -> &[T] {
        let in_row = len <= self.row_len;
        match self.row.step {
            1 if in_row => {
                let row = self.advance(len);
                &row.data[row.at..][..len]
            }
            0 if in_row => self.repeat(len),
            _ if !in_row => self.gather(len / self.row_len, len),
            _ if self.tile_rows > 1 => self.gather(self.tile_rows, len),
            _ => {
                let row = self.advance(len);
                let copies = room(&mut self.copies, len);
                row.copy_to(copies);
                copies
            }
        }
    }

    /// As [`RowReader::read`], but does not copy a repeated element.
    pub fn read_piece(&mut self, len: usize) -> Piece<'_, T> {
        if self.row.step == 0 && len <= self.row_len {
            let Run { data, at, .. } = self.advance(len);
            return Piece::Equal(data[at]);
        }
        Piece::Each(self.read(len))
    }

    /// Advances by `len` elements of a row and returns where they start.
    #[inline(always)]
    fn advance(&mut self, len: usize) -> Run<'a, T> {
        if self.left == 0 {
            self.row.at = self.starts.next().unwrap_or_default();
            self.left = self.row_len;
        }
        let row = self.row;
        self.row.at = row.every(1, len).at;
        self.left -= len;
        row
    }

    /// Reads the next `len` elements, all equal.
    // Not inlined, so that the code for reading in place stays short.
    #[inline(never)]
    fn repeat(&mut self, len: usize) -> &[T] {
        let Run { data, at, .. } = self.advance(len);
        if self.copies.len() < len {
            self.copies = SmallVector::from_elem(data[at], len);
        } else if self.cached != Some(at) {
            self.copies.fill(data[at]);
        }
        self.cached = Some(at);
        &self.copies[..len]
    }

    /// Reads the next `len` gathered elements. If none are left, gathers `rows` whole rows first.
    // Not inlined, as above.
    #[inline(never)]
    fn gather(&mut self, rows: usize, len: usize) -> &[T] {
        if self.gathered.is_empty() {
            self.cached = None;
            self.gathered = 0..0;
            for tile in room(&mut self.copies, rows * self.row_len).chunks_mut(TILE_ROWS * self.row_len) {
                let rows = tile.len() / self.row_len;
                let starts: SmallVector<usize, TILE_ROWS> = self.starts.by_ref().take(rows).collect();
                for column in (0..self.row_len).step_by(TILE_COLUMNS) {
                    let end = self.row_len.min(column + TILE_COLUMNS);
                    for (to, &at) in tile.chunks_exact_mut(self.row_len).zip(&starts) {
                        Run { at, ..self.row }.every(1, column).copy_to(&mut to[column..end]);
                    }
                }
                self.gathered.end += starts.len() * self.row_len;
            }
        }
        let first = self.gathered.start;
        self.gathered.start += len;
        &self.copies[first..][..len]
    }
}

/// Calls `some` with parts of a result, at least `least` elements long, and with readers that start at the part: on all
/// threads if there are several parts. `readers` returns new readers of all operands.
pub(crate) fn in_parts<'a, T, R, S>(
    to: &mut [R],
    least: usize,
    readers: impl Fn() -> S + Sync,
    some: impl Fn(&mut S, BlockSizes, &mut [R]) + Send + Sync,
) where
    T: Pod,
    R: Send,
    S: AsRef<[RowReader<'a, T>]> + AsMut<[RowReader<'a, T>]>,
{
    let mut all = readers();
    let sizes = BlockSizes::new(all.as_ref().iter().map(RowReader::row_len));
    let unit = sizes.unit(to.len(), all.as_ref().iter());
    let len = sharing::part(to.len(), least).checked_next_multiple_of(unit).unwrap_or(usize::MAX);
    if len >= to.len() {
        return some(&mut all, sizes, to);
    }
    sharing::for_each(to.chunks_mut(len).enumerate(), |(i, to)| {
        let mut readers = readers();
        readers.as_mut().iter_mut().for_each(|reader| reader.skip_to(i * len));
        some(&mut readers, sizes, to);
    });
}

/// The first `len` elements of `copies`, which grows if necessary.
fn room<T: Pod>(copies: &mut SmallVector<T, 64>, len: usize) -> &mut [T] {
    // Allocates only for the first block, which is the largest. A new vector of zeros is cheap, because
    // allocators often have zeroed memory.
    if copies.len() < len {
        *copies = SmallVector::from_elem(T::zeroed(), len);
    }
    &mut copies[..len]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;

    /// Reads layouts of the same dims together and checks the elements of each.
    fn check(layouts: &[Layout]) {
        let data: Vec<u32> = (0..200_000).collect();
        let collapsed = |layout: &Layout| Strided { data: (&data[..]).into(), layout: layout.collapse() };
        let operands: Vec<Strided<u32>> = layouts.iter().map(collapsed).collect();
        let mut readers: Vec<_> = operands.iter().map(RowReader::new).collect();
        let mut found = vec![Vec::new(); layouts.len()];
        let sizes = BlockSizes::new(readers.iter().map(RowReader::row_len));
        let BlockSizes { part, block } = sizes;
        for part in vec![(); layouts[0].len()].chunks(part) {
            for block in part.chunks(block) {
                assert!(block.len() <= BLOCK);
                for (reader, found) in readers.iter_mut().zip(&mut found) {
                    found.extend_from_slice(reader.read(block.len()));
                }
            }
        }
        for (layout, found) in layouts.iter().zip(&found) {
            let mut expected = Vec::new();
            layout.for_each_offset(|at| expected.push(data[at]));
            assert!(*found == expected, "{layout:?} with {layouts:?}");
        }
        check_parts(&operands, sizes, &found);
    }

    /// Reads operands in two parts, so that readers also start in the middle.
    fn check_parts(operands: &[Strided<u32>], sizes: BlockSizes, expected: &[Vec<u32>]) {
        let readers = || operands.iter().map(RowReader::new).collect::<Vec<_>>();
        let len = expected[0].len();
        let unit = sizes.unit(len, readers().iter());
        let middle = (len / 2).next_multiple_of(unit).min(len);
        for part in [0..middle, middle..len] {
            let mut readers = readers();
            readers.iter_mut().for_each(|reader| reader.skip_to(part.start));
            for (reader, expected) in readers.iter_mut().zip(expected) {
                for range in
                    expected[part.clone()].chunks(sizes.part).flat_map(|part| part.chunks(sizes.block))
                {
                    assert_eq!(reader.read(range.len()), range);
                }
            }
        }
    }

    /// Views of these dims with every kind of row.
    fn views(dims: &[usize; 3]) -> Vec<Layout> {
        let &[a, b, c] = dims;
        let steps = Layout::packed(&[a, b, 2 * c]).slice(2, 1, c, 2);
        let backwards = Layout::packed(&[a, b, c]).slice(2, c - 1, c, -1);
        let transposed = Layout::packed(&[c, b, a]).permute(&[2, 1, 0]);
        let parts = Layout::packed(&[a, b, c + 3]).slice(2, 2, c, 1);
        let broadcast = [&[c][..], &[b, 1], &[b, c], &[a, 1, 1], &[a, 1, c], &[1]];
        let broadcast = broadcast.into_iter().map(|own| Layout::packed(own).broadcast_to(dims));
        let all = broadcast.chain([steps, backwards, transposed, parts, Ok(Layout::packed(dims))]);
        all.collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn every_pair_of_views_is_read_in_order() {
        for dims in
            [[3, 40, 4], [1, 1, 1], [5, 3, 12], [40, 7, 40], [2, 33, 1100], [4, 300, 31], [2, 1, 9000]]
        {
            let views = views(&dims);
            for x in &views {
                for y in &views {
                    check(&[x.clone(), y.clone()]);
                }
            }
            check(&views);
        }
    }

    #[test]
    fn rows_too_long_for_a_tile_are_read_in_parts() {
        let rows = Layout::packed(&[2, 2 * TILE_ELEMENTS]).slice(1, 0, TILE_ELEMENTS, 2).unwrap();
        check(&[rows]);
    }
}
