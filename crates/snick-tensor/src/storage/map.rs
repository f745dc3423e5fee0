//! Memory-maps a file, or reads it where there is no mapping.
#![allow(unsafe_code)]

use std::io;
use std::path::Path;

/// Maps a file read-only.
#[cfg(any(unix, windows))]
pub(super) fn map(path: &Path) -> io::Result<memmap2::Mmap> {
    let file = std::fs::File::open(path)?;
    // SAFETY: the mapping is read-only and owned by the storage. As for every memory-mapped reader, nobody may truncate or
    // rewrite the file while it is in use.
    unsafe { memmap2::Mmap::map(&file) }
}

/// Reads a file.
#[cfg(not(any(unix, windows)))]
pub(super) fn map(path: &Path) -> io::Result<super::Heap<u8>> {
    std::fs::read(path).map(super::Heap)
}
