//! Where the words of a buffer lie.

use std::ops::{Deref, DerefMut, Range};

use bytemuck::allocation::try_zeroed_vec;

/// Zeroed words, on the heap or, if they are many, in pages of their own.
///
/// Pages of their own are huge ones where the system has them: a model that works through hundreds of megabytes spends a
/// tenth of its time on finding pages of 4 KiB, and the system as much on clearing them one by one.
///
/// Both begin with a cache line: vectors as long as one then never lie in two.
#[derive(Debug)]
pub(super) enum Memory {
    Heap {
        /// More than are used.
        words: Vec<u64>,
        used: Range<usize>,
    },
    #[cfg(target_os = "linux")]
    Pages(memmap2::MmapMut),
}

/// Memory of so many bytes gets pages of its own.
#[cfg(target_os = "linux")]
const LARGE: usize = 1 << 20;

/// Bytes of a cache line.
const LINE: usize = 64;

impl Memory {
    /// Memory of `words` zeros; an error if the system has none.
    pub fn zeroed(words: usize) -> Result<Self, ()> {
        #[cfg(target_os = "linux")]
        if let Some(bytes) = words.checked_mul(size_of::<u64>()).filter(|&bytes| bytes >= LARGE) {
            let pages = memmap2::MmapMut::map_anon(bytes).map_err(|_| ())?;
            // Advice may be refused.
            let _ = pages.advise(memmap2::Advice::HugePage);
            return Ok(Self::Pages(pages));
        }
        let all = words.checked_add(LINE / size_of::<u64>()).ok_or(())?;
        try_zeroed_vec(all).map(|all| Self::of_heap(all, words))
    }

    /// `words` of memory of the heap, which has as many as are in a line beyond them.
    fn of_heap(all: Vec<u64>, words: usize) -> Self {
        let first = all.as_ptr().align_offset(LINE).min(all.len() - words);
        Self::Heap { words: all, used: first..first + words }
    }

    /// As [`Memory::zeroed`]; aborts if the system has none.
    pub fn zeroed_or_abort(words: usize) -> Self {
        Self::of_heap(vec![0; words.saturating_add(LINE / size_of::<u64>())], words)
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::Heap { words: Vec::new(), used: 0..0 }
    }
}

impl Deref for Memory {
    type Target = [u64];

    // A kernel does so once: copies of it everywhere would be larger, not faster.
    #[inline(never)]
    fn deref(&self) -> &[u64] {
        match self {
            Self::Heap { words, used } => &words[used.clone()],
            #[cfg(target_os = "linux")]
            Self::Pages(pages) => bytemuck::cast_slice(pages),
        }
    }
}

impl DerefMut for Memory {
    #[inline(never)]
    fn deref_mut(&mut self) -> &mut [u64] {
        match self {
            Self::Heap { words, used } => &mut words[used.clone()],
            #[cfg(target_os = "linux")]
            Self::Pages(pages) => bytemuck::cast_slice_mut(pages),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_memory_is_zeroed_and_can_be_written() {
        for words in [0, 1, 1000, 1 << 17, (1 << 18) + 3] {
            let mut memory = Memory::zeroed(words).unwrap();
            assert_eq!(memory.len(), words);
            assert_eq!(memory.as_ptr().align_offset(LINE), 0);
            assert!(memory.iter().all(|&word| word == 0));
            memory.fill(7);
            assert!(memory.iter().all(|&word| word == 7));
        }
    }

    #[test]
    fn memory_that_the_system_does_not_have_is_an_error() {
        assert!(Memory::zeroed(usize::MAX / 8).is_err());
        assert!(Memory::zeroed(usize::MAX).is_err());
    }
}
