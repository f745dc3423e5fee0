//! The location of the elements of a tensor in a file.

use std::ops::Range;
use std::path::Path;

use super::Tensor;

impl Tensor {
    /// The mapped file that contains the elements, and their byte range in it, if they are packed and start
    /// at a byte boundary. Reads no elements.
    pub fn file_range(&self) -> Option<(&Path, Range<usize>)> {
        let (range, offset) = (self.packed_range()?, self.storage.file_offset()?);
        Some((self.storage.file()?, offset + range.start..offset + range.end))
    }
}
