//! Writes large results past the caches, with streaming (non-temporal) stores.
//!
//! To store part of a cache line, the processor first reads the line. A large result is evicted before it is
//! used, so these reads only double its memory traffic. Streaming stores write whole lines without reading
//! them.

use std::ops::Range;

use crate::kernels::vectors::{CacheLine, Fence, Instructions, prefetch};
use crate::layout::Offsets;

/// The minimum size of a streamed result in bytes: more than a core's share of any cache. Smaller results
/// should stay in the cache for their consumer.
pub(crate) const LARGE: usize = 16 << 20;

/// Lines collected before they are streamed: few enough for the L1 cache.
const BLOCK: usize = 2;

/// Contiguous cache lines that are copied between two calls of [`RowsAhead::fetch`].
const AT_ONCE: usize = 16;

/// A result with elements of `N` bytes that is written in order.
pub(crate) struct Stream<'a, const N: usize> {
    /// The unwritten part, starting with the elements in `block`.
    rest: &'a mut [[u8; N]],
    /// The number of elements before the first whole line of `rest`, which are stored normally.
    unaligned: usize,
    /// Elements collected for the next block.
    block: [CacheLine; BLOCK],
    /// The number of elements in `block`.
    filled: usize,
    fence: Fence,
}

impl<'a, const N: usize> Stream<'a, N> {
    const PER_LINE: usize = size_of::<CacheLine>() / N;
    const PER_BLOCK: usize = BLOCK * Self::PER_LINE;

    #[inline(always)]
    pub fn new(result: &'a mut [[u8; N]]) -> Self {
        let unaligned = result.as_ptr().align_offset(align_of::<CacheLine>()).min(result.len());
        Stream { rest: result, unaligned, block: [CacheLine::default(); BLOCK], filled: 0, fence: Fence }
    }

    /// Writes the next `len` elements. With `is_backward`, whole blocks are written in descending order.
    #[inline(always)]
    pub fn write<I: Instructions>(
        &mut self,
        len: usize,
        is_backward: bool,
        from: &impl Elements<N>,
        ahead: &mut RowsAhead<N>,
    ) {
        let begun = self.begun().min(len);
        let count = (len - begun) / Self::PER_BLOCK;
        let rest = begun + count * Self::PER_BLOCK;
        ahead.fetch(begun + len - rest);
        self.write_each::<I>(0..begun, from);
        if count > 0 {
            let lines = bytemuck::cast_slice_mut::<_, CacheLine>(self.next(rest - begun));
            let blocks = lines.as_chunks_mut::<BLOCK>().0;
            for i in 0..count {
                let i = if is_backward { count - 1 - i } else { i };
                ahead.fetch(Self::PER_BLOCK);
                from.copy_to(begun + i * Self::PER_BLOCK, bytemuck::cast_slice_mut(&mut self.block));
                I::stream(bytemuck::cast_slice(&self.block), &mut blocks[i], &self.fence);
            }
        }
        self.write_each::<I>(rest..len, from);
    }

    /// Writes less than a block, one element at a time.
    #[inline(always)]
    fn write_each<I: Instructions>(&mut self, mut range: Range<usize>, from: &impl Elements<N>) {
        while !range.is_empty() {
            let room = self.room(range.len());
            let len = room.len();
            for (i, to) in range.clone().zip(room) {
                *to = from.get(i);
            }
            self.written::<I>(len);
            range.start += len;
        }
    }

    /// The number of elements up to the next block boundary.
    #[inline(always)]
    fn begun(&self) -> usize {
        match self.filled {
            0 => self.unaligned,
            filled => Self::PER_BLOCK - filled,
        }
    }

    /// Memory for the next elements: at least one and at most `most`, unless `most` is 0. The caller must
    /// pass the number of written elements to [`Stream::written`].
    #[inline(always)]
    fn room(&mut self, most: usize) -> &mut [[u8; N]] {
        match self.unaligned {
            0 => {
                let block: &mut [[u8; N]] = bytemuck::cast_slice_mut(&mut self.block);
                let len = most.min(Self::PER_BLOCK - self.filled);
                &mut block[self.filled..][..len]
            }
            unaligned => &mut self.rest[..most.min(unaligned)],
        }
    }

    /// Advances past `len` written elements.
    #[inline(always)]
    fn written<I: Instructions>(&mut self, len: usize) {
        if self.unaligned > 0 {
            self.unaligned -= len;
            self.next(len);
            return;
        }
        self.filled += len;
        if self.filled == Self::PER_BLOCK {
            self.filled = 0;
            let lines = bytemuck::cast_slice_mut(self.next(Self::PER_BLOCK));
            I::stream(bytemuck::cast_slice(&self.block), lines, &self.fence);
        }
    }

    /// Copies contiguous elements, bypassing the block for whole lines, and prefetches the same number from
    /// `ahead`.
    #[inline(always)]
    pub fn copy<I: Instructions>(&mut self, from: &[[u8; N]], ahead: &mut RowsAhead<N>) {
        let (begun, from) = from.split_at(self.begun().min(from.len()));
        let (lines, rest) = from.split_at(from.len() - from.len() % Self::PER_LINE);
        ahead.fetch(begun.len() + rest.len());
        self.copy_piece::<I>(begun);
        for lines in lines.chunks(AT_ONCE * Self::PER_LINE) {
            ahead.fetch(lines.len());
            let to = bytemuck::cast_slice_mut(self.next(lines.len()));
            I::stream(lines.as_flattened(), to, &self.fence);
        }
        self.copy_piece::<I>(rest);
    }

    /// Copies elements into one block.
    #[inline(always)]
    fn copy_piece<I: Instructions>(&mut self, from: &[[u8; N]]) {
        if !from.is_empty() {
            self.room(from.len()).copy_from_slice(from);
            self.written::<I>(from.len());
        }
    }

    /// Splits the next elements off the result.
    #[inline(always)]
    fn next(&mut self, len: usize) -> &'a mut [[u8; N]] {
        let (next, rest) = std::mem::take(&mut self.rest).split_at_mut(len);
        self.rest = rest;
        next
    }
}

impl<const N: usize> Drop for Stream<'_, N> {
    /// Writes the elements of an incomplete block.
    fn drop(&mut self) {
        let block: &[[u8; N]] = bytemuck::cast_slice(&self.block);
        self.rest[..self.filled].copy_from_slice(&block[..self.filled]);
    }
}

/// The elements that a [`Stream`] writes. A trait instead of a closure, because its functions must be inlined
/// into kernels to use their instruction set.
pub(crate) trait Elements<const N: usize> {
    /// The element with this index.
    fn get(&self, index: usize) -> [u8; N];

    /// Copies the elements from `first` on.
    fn copy_to(&self, first: usize, to: &mut [[u8; N]]);
}

/// The prefetch distance in bytes. The processor prefetches contiguous memory, but cannot predict the start
/// of the next row.
const AHEAD: usize = 1 << 14;

/// Prefetches the rows that are copied next, all of the same length.
pub(crate) struct RowsAhead<'a, const N: usize> {
    source: &'a [[u8; N]],
    /// The starts of the rows.
    rows: Offsets<'a>,
    /// The distance between copied elements in the source.
    step: usize,
    /// The source elements that a row spans.
    width: usize,
    /// The position of the next element, and the remaining span of its row.
    at: usize,
    left: usize,
}

impl<'a, const N: usize> RowsAhead<'a, N> {
    /// Starts [`AHEAD`] bytes after the first of `rows`, which have `len` elements with stride `step`.
    /// Prefetches nothing if `step` is at least 3 but shorter than a cache line: the processor then
    /// prefetches the adjacent lines itself, and only a few elements of each line are copied.
    // Called once per copy, so there is no need to inline it into every kernel.
    #[inline(never)]
    pub fn new(source: &'a [[u8; N]], mut rows: Offsets<'a>, len: usize, step: usize) -> Self {
        let step = if (3..size_of::<CacheLine>() / N).contains(&step) { 0 } else { step };
        let width = (len * step).max(1);
        rows.skip_to(AHEAD / N / width);
        let within = AHEAD / N % width;
        let within = within - within % step.max(1);
        let (at, left) = rows.next().map_or((0, 0), |at| (at + within, width - within));
        RowsAhead { source, rows, step, width, at, left }
    }

    /// Prefetches the next `count` elements.
    #[inline(always)]
    fn fetch(&mut self, count: usize) {
        let mut count = count * self.step;
        while count > 0 && self.left > 0 {
            let some = count.min(self.left);
            // Elements that are far apart have a line each; the lines between them are skipped.
            for at in (self.at..self.at + some).step_by((size_of::<CacheLine>() / N).max(self.step)) {
                prefetch(self.source.as_ptr().wrapping_add(at));
            }
            count -= some;
            (self.at, self.left) = match self.left - some {
                0 => self.rows.next().map_or((0, 0), |at| (at, self.width)),
                left => (self.at + some, left),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::vectors::{Isa, Vectorised, dispatch_best, dispatch_on};

    impl<const N: usize> Elements<N> for &[[u8; N]] {
        fn get(&self, index: usize) -> [u8; N] {
            self[index]
        }

        fn copy_to(&self, first: usize, to: &mut [[u8; N]]) {
            to.copy_from_slice(&self[first..first + to.len()]);
        }
    }

    /// Rows of all lengths, filled and copied alternately. The start may be inside a line.
    struct Rows<'a, const N: usize>(&'a [[u8; N]], &'a mut [[u8; N]]);

    impl<const N: usize> Vectorised for Rows<'_, N> {
        type Output = ();

        #[inline(always)]
        fn run<I: Instructions>(self) {
            let Self(mut from, to) = self;
            let mut stream = Stream::new(to);
            for len in [1, 3, 0, 200, 2000, 64, 5, 1024, 17].into_iter().cycle() {
                let (row, rest) = from.split_at(len.min(from.len()));
                let ahead = &mut RowsAhead::new(row, Offsets::new(&[], &[], 0), row.len(), 1);
                match len % 3 {
                    0 => stream.copy::<I>(row, ahead),
                    rest => stream.write::<I>(row.len(), rest == 1, &row, ahead),
                }
                from = rest;
                if from.is_empty() {
                    break;
                }
            }
        }
    }

    fn check<const N: usize>() {
        let from: Vec<[u8; N]> =
            (0..9000usize).map(|i| std::array::from_fn(|k| (i * 7 + i / 256 + k) as u8)).collect();
        for start in [0, 1, 5] {
            for len in [0, 1, 63, 8990] {
                for isa in [Isa::best(), Isa::Baseline] {
                    let mut to = [[0; N]; 9000];
                    dispatch_on(isa, Rows(&from[..len], &mut to[start..start + len]));
                    assert_eq!(to[start..start + len], from[..len]);
                    assert!(to[..start].iter().chain(&to[start + len..]).all(|element| *element == [0; N]));
                }
            }
        }
    }

    #[test]
    fn every_element_is_written_once_in_its_place() {
        check::<1>();
        check::<2>();
        check::<4>();
        check::<8>();
        dispatch_best(Rows(&[[1u8; 4]; 4], &mut [[0; 4]; 4]));
    }
}
