//! Memory-maps a file.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::path::Path;

use memmap2::Mmap;

/// Maps a file read-only.
pub(super) fn map(path: &Path) -> io::Result<Mmap> {
    let file = File::open(path)?;
    // SAFETY: the mapping is read-only and owned by the storage. As for every memory-mapped reader, nobody may truncate or
    // rewrite the file while it is in use.
    unsafe { Mmap::map(&file) }
}
