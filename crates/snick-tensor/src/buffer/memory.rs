//! The memory of a buffer.

use std::ops::{Deref, DerefMut, Range};

use bytemuck::allocation::try_zeroed_vec;

/// Zeroed words, on the heap or, for large buffers, in separately mapped pages.
///
/// Mapped pages are huge pages if the system supports them. With 4 KiB pages, a model that uses hundreds of
/// megabytes spends a tenth of its time on address translation, and another tenth in the system, which clears
/// the pages.
///
/// Both kinds are aligned to a cache line, so that a vector as long as a line never straddles two lines.
#[derive(Debug)]
pub(super) enum Memory {
    Heap {
        /// The whole allocation, including the words that are skipped for alignment.
        words: Vec<u64>,
        used: Range<usize>,
    },
    #[cfg(target_os = "linux")]
    Pages(memmap2::MmapMut),
}

/// Minimum size of separately mapped memory, in bytes.
#[cfg(target_os = "linux")]
const LARGE: usize = 1 << 20;

/// The size of a cache line in bytes.
const LINE: usize = 64;

impl Memory {
    /// Memory of `words` zeros; an error if the system refuses.
    pub fn zeroed(words: usize) -> Result<Self, ()> {
        #[cfg(target_os = "linux")]
        if let Some(bytes) = words.checked_mul(size_of::<u64>()).filter(|&bytes| bytes >= LARGE) {
            let pages = memmap2::MmapMut::map_anon(bytes).map_err(|_| ())?;
            // The system may ignore the advice.
            let _ = pages.advise(memmap2::Advice::HugePage);
            return Ok(Self::Pages(pages));
        }
        let all = words.checked_add(LINE / size_of::<u64>()).ok_or(())?;
        try_zeroed_vec(all).map(|all| Self::of_heap(all, words))
    }

    /// Aligns `words` words of heap memory. `all` has a spare cache line, so that an aligned range fits.
    fn of_heap(all: Vec<u64>, words: usize) -> Self {
        let first = all.as_ptr().align_offset(LINE).min(all.len() - words);
        Self::Heap { words: all, used: first..first + words }
    }

    /// [`Memory::zeroed`], but aborts if the system refuses.
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

    // Called once per kernel, so inlining would only increase code size.
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
