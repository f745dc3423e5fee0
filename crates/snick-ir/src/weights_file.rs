//! A weights file that is written without copying its constants.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::ops::Range;

use foldhash::quality::RandomState;
use snick_tensor::Tensor;

/// The alignment of constants, in bytes.
const ALIGNMENT: usize = 64;

/// A weights file: constants in sequence, without duplicates. It holds the tensors, and writes them one at a
/// time. If there are constants, the file has at least one byte, because OpenVINO finds no constants in an
/// empty file, not even empty constants.
///
/// ```
/// use snick::{Tensor, WeightsFile};
///
/// let mut file = WeightsFile::new();
/// let one = Tensor::from_vec(&[2], vec![1.0f32, 2.0])?;
/// let other = Tensor::from_vec(&[2], vec![3.0f32, 4.0])?;
/// assert_eq!([&one, &other, &one].map(|constant| file.place(constant)), [0..8, 64..72, 0..8]);
/// assert_eq!(file.to_bytes().len(), 72);
/// # Ok::<(), snick::TensorError>(())
/// ```
#[derive(Clone, Default, Debug)]
pub struct WeightsFile {
    /// The constants in file order with their offsets.
    constants: Vec<(usize, Tensor)>,
    len: usize,
    /// Constants by hash of their bytes. The hash only finds candidates, because hashes can collide.
    by_hash: HashMap<u64, Vec<usize>>,
    /// The hash function, which is random for each process, so that collisions cannot be constructed.
    hash: RandomState,
}

impl WeightsFile {
    /// An empty file.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a constant if the file does not contain it, and returns the range of its bytes.
    pub fn place(&mut self, constant: &Tensor) -> Range<usize> {
        let bytes = constant.to_bytes();
        let mut hasher = self.hash.build_hasher();
        hasher.write(&bytes);
        let same = self.by_hash.entry(hasher.finish()).or_default();
        let placed =
            same.iter().map(|&at| &self.constants[at]).find(|(_, placed)| placed.to_bytes() == bytes);
        let start = placed.map(|&(start, _)| start).unwrap_or_else(|| {
            let start = self.len.next_multiple_of(ALIGNMENT);
            same.push(self.constants.len());
            self.constants.push((start, constant.clone()));
            self.len = start + bytes.len();
            start
        });
        start..start + bytes.len()
    }

    /// The length of the file in bytes.
    pub fn len(&self) -> usize {
        self.len.max(usize::from(!self.constants.is_empty()))
    }

    /// Whether the file has no constants.
    pub fn is_empty(&self) -> bool {
        self.constants.is_empty()
    }

    /// Writes the file.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn write(&self, mut to: impl io::Write) -> io::Result<()> {
        let mut end = 0;
        for (start, constant) in &self.constants {
            let bytes = constant.to_bytes();
            to.write_all(&[0; ALIGNMENT][..start - end])?;
            to.write_all(&bytes)?;
            end = start + bytes.len();
        }
        to.write_all(&[0; ALIGNMENT][..self.len() - end])
    }

    /// The content of the whole file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.len());
        // Writing to memory cannot fail.
        let _ = self.write(&mut bytes);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_bytes_share_a_place() {
        let mut file = WeightsFile::new();
        let small = |values: &[u8]| Tensor::from_vec(&[values.len()], values.to_vec()).unwrap();
        let places = [&[1, 2][..], &[3], &[1, 2]].map(|values| file.place(&small(values)));
        assert_eq!(places, [0..2, 64..65, 0..2]);
        // Only bytes are compared: element type and strides do not matter.
        let other = Tensor::from_vec(&[2], vec![2i8, 1]).unwrap().slice(0, 1, 2, -1).unwrap();
        assert_eq!(file.place(&other), 0..2);
        let mut written = Vec::new();
        file.write(&mut written).unwrap();
        assert_eq!((written.len(), &written), (65, &file.to_bytes()));
        assert_eq!((written[1], written[2], written[64]), (2, 0, 3));
    }

    #[test]
    fn a_file_of_empty_constants_has_a_byte() {
        let mut file = WeightsFile::new();
        assert_eq!((file.len(), file.to_bytes()), (0, vec![]));
        let vector = |values: &[u8]| Tensor::from_vec(&[values.len()], values.to_vec()).unwrap();
        assert_eq!(file.place(&vector(&[])), 0..0);
        assert_eq!((file.len(), file.to_bytes()), (1, vec![0]));
        assert_eq!(file.place(&vector(&[7])), 0..1);
        assert_eq!((file.len(), file.to_bytes()), (1, vec![7]));
    }
}
