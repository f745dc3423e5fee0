//! Writing large results past the caches.
//!
//! To store a part of a cache line, the processor reads the line first. A large result leaves the cache before it is
//! read, so these reads are wasted memory traffic, as much as the result itself. Streaming stores write whole lines
//! without reading.

use crate::kernels::vectors::{Fence, Instructions, Line};

/// Results of at least this size in bytes are streamed: more than a core's share of any cache. Smaller ones should stay
/// in the cache for their reader.
pub(crate) const LARGE: usize = 16 << 20;

/// Lines gathered before they are streamed: few enough to stay in the innermost cache.
const BLOCK: usize = 16;

/// A result of elements of `N` bytes, written in order.
pub(crate) struct Stream<'a, const N: usize> {
    /// The part that is not written yet; the elements in the block go to its start.
    rest: &'a mut [[u8; N]],
    /// The number of elements before the first whole line of `rest`, which are written directly.
    unaligned: usize,
    /// Gathers elements until it is full.
    block: [Line; BLOCK],
    /// Elements in the block.
    filled: usize,
    fence: Fence,
}

impl<'a, const N: usize> Stream<'a, N> {
    const PER_LINE: usize = size_of::<Line>() / N;
    const PER_BLOCK: usize = BLOCK * Self::PER_LINE;

    #[inline(always)]
    pub fn new(result: &'a mut [[u8; N]]) -> Self {
        let unaligned = result.as_ptr().align_offset(align_of::<Line>()).min(result.len());
        Stream { rest: result, unaligned, block: [Line::default(); BLOCK], filled: 0, fence: Fence }
    }

    /// The memory for the next elements: at least one and at most `most`, unless that is 0. Report how many were
    /// written to [`Stream::written`].
    #[inline(always)]
    pub fn room(&mut self, most: usize) -> &mut [[u8; N]] {
        match self.unaligned {
            0 => {
                let block: &mut [[u8; N]] = bytemuck::cast_slice_mut(&mut self.block);
                let len = most.min(Self::PER_BLOCK - self.filled);
                &mut block[self.filled..][..len]
            }
            unaligned => &mut self.rest[..most.min(unaligned)],
        }
    }

    /// Continues after the first `len` elements of that memory.
    #[inline(always)]
    pub fn written<I: Instructions>(&mut self, len: usize) {
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

    /// Copies contiguous elements, whole lines directly to the result.
    #[inline(always)]
    pub fn copy<I: Instructions>(&mut self, from: &[[u8; N]]) {
        let begun = match self.filled {
            0 => self.unaligned,
            filled => Self::PER_BLOCK - filled,
        };
        let (begun, from) = from.split_at(begun.min(from.len()));
        let (lines, rest) = from.split_at(from.len() - from.len() % Self::PER_LINE);
        self.copy_pieces::<I>(begun);
        if !lines.is_empty() {
            let to = bytemuck::cast_slice_mut(self.next(lines.len()));
            I::stream(lines.as_flattened(), to, &self.fence);
        }
        self.copy_pieces::<I>(rest);
    }

    #[inline(always)]
    fn copy_pieces<I: Instructions>(&mut self, mut from: &[[u8; N]]) {
        while !from.is_empty() {
            let room = self.room(from.len());
            let (piece, rest) = from.split_at(room.len());
            room.copy_from_slice(piece);
            self.written::<I>(piece.len());
            from = rest;
        }
    }

    /// The next elements of the result.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::vectors::{Isa, Vectorised, on, widest};

    /// Rows of all lengths, filled and copied alternately, from a start that may be within a line.
    struct Rows<'a, const N: usize>(&'a [[u8; N]], &'a mut [[u8; N]]);

    impl<const N: usize> Vectorised for Rows<'_, N> {
        type Output = ();

        #[inline(always)]
        fn run<I: Instructions>(self) {
            let Self(mut from, to) = self;
            let mut stream = Stream::new(to);
            for len in [1, 3, 0, 200, 2000, 64, 5, 1024, 17].into_iter().cycle() {
                let (row, rest) = from.split_at(len.min(from.len()));
                match len % 2 {
                    0 => stream.copy::<I>(row),
                    _ => stream.copy_pieces::<I>(row),
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
                for isa in [Isa::best(), Isa::Base] {
                    let mut to = [[0; N]; 9000];
                    on(isa, Rows(&from[..len], &mut to[start..start + len]));
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
        widest(Rows(&[[1u8; 4]; 4], &mut [[0; 4]; 4]));
    }
}
