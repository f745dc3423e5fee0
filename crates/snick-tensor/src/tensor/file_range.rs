//! Where the elements of a tensor lie in a file.

use std::ops::Range;
use std::path::Path;

use super::Tensor;

impl Tensor {
    /// The mapped file that the elements lie in, and the range of its bytes that they are, if they are packed and start
    /// on a byte. No element is read.
    pub fn file_range(&self) -> Option<(&Path, Range<usize>)> {
        let (range, offset) = (self.packed_range()?, self.storage.file_offset()?);
        Some((self.storage.file()?, offset + range.start..offset + range.end))
    }
}
