//! The one unsafe line of the crate: a file seen as bytes.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::path::Path;

use memmap2::Mmap;

/// Maps a file read-only.
pub(super) fn map(path: &Path) -> io::Result<Mmap> {
    let file = File::open(path)?;
    // SAFETY: the mapping is read-only and owned by the storage. What remains is the contract of
    // every memory-mapped reader: nobody truncates or rewrites the file while it is in use.
    unsafe { Mmap::map(&file) }
}
