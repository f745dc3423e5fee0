//! Shared, immutable bytes: on the heap or in a mapped file.

mod map;
mod read;

use std::fmt;
use std::path::Path;
#[cfg(any(unix, windows))]
use std::path::PathBuf;
use std::sync::Arc;

use bytemuck::{NoUninit, Pod};

use crate::buffer::{Buffer, Charge};
use crate::memo::Memo;
use crate::{Element, TensorError};

/// A window into shared bytes. Cloning increments a reference count.
///
/// ```
/// use snick::{ElementType, Storage, Tensor};
///
/// let weights = Storage::heap(vec![0, 0, 128, 63, 0, 0, 0, 64]);
/// let second = weights.window(4, 4)?;
/// assert!(second.shares_with(&weights));
/// assert_eq!(Tensor::new(ElementType::F32, &[1], second)?.to_f32_vec()?, [2.0]);
/// # Ok::<(), snick::TensorError>(())
/// ```
#[derive(Clone)]
pub struct Storage {
    owner: Arc<dyn Owner>,
    offset: usize,
    len: usize,
}

/// The owner of the bytes.
trait Owner: Send + Sync {
    fn bytes(&self) -> &[u8];

    /// The same bytes, if they may be overwritten.
    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        None
    }

    /// The path of the mapped file, if these bytes are its whole content.
    fn file(&self) -> Option<&Path> {
        None
    }

    /// The cache of data that kernels derived from these bytes.
    fn memo(&self) -> Option<&Memo> {
        None
    }
}

/// A vector of elements. It keeps their type, and thus their alignment, so that they can be read without a
/// copy.
struct Heap<T> {
    values: Vec<T>,
    _charge: Charge,
}

impl<T: NoUninit + Send + Sync> Owner for Heap<T> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.values)
    }
}

impl<T: Pod + Send + Sync> Owner for Buffer<T> {
    fn bytes(&self) -> &[u8] {
        Buffer::bytes(self)
    }

    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        Some(bytemuck::cast_slice_mut(self))
    }
}

/// Bytes owned by the caller or by a library in another language.
struct Foreign<T>(T);

impl<T: AsRef<[u8]> + Send + Sync> Owner for Foreign<T> {
    fn bytes(&self) -> &[u8] {
        self.0.as_ref()
    }
}

/// Bytes that kernels read repeatedly, with a cache of derived data.
struct Kept {
    bytes: Storage,
    memo: Memo,
}

impl Owner for Kept {
    fn bytes(&self) -> &[u8] {
        self.bytes.bytes()
    }

    fn memo(&self) -> Option<&Memo> {
        Some(&self.memo)
    }
}

/// A mapped file.
#[cfg(any(unix, windows))]
struct MappedFile {
    map: memmap2::Mmap,
    path: PathBuf,
}

#[cfg(any(unix, windows))]
impl Owner for MappedFile {
    fn bytes(&self) -> &[u8] {
        &self.map
    }

    fn file(&self) -> Option<&Path> {
        Some(&self.path)
    }
}

#[cfg(unix)]
impl Owner for memmap2::MmapMut {
    fn bytes(&self) -> &[u8] {
        self
    }
}

impl Storage {
    /// Storage on the heap.
    pub fn heap(bytes: Vec<u8>) -> Self {
        Self::from_vec(bytes)
    }

    /// Storage over the elements of a vector, without a copy.
    pub fn from_vec<T: Element>(values: Vec<T>) -> Self {
        Self::from_units(values)
    }

    /// Storage over the units of a vector, without a copy.
    pub(crate) fn from_units<T: NoUninit + Send + Sync>(values: Vec<T>) -> Self {
        let charge = Charge::new(size_of_val(values.as_slice()));
        Self::whole(Arc::new(Heap { values, _charge: charge }))
    }

    /// Storage over bytes held by `owner`, without a copy. `owner` must always return the same bytes.
    ///
    /// ```
    /// use snick::Storage;
    ///
    /// let bytes: std::sync::Arc<[u8]> = [1, 2, 3].into();
    /// assert_eq!(Storage::from_owner(bytes.clone()).bytes().as_ptr(), bytes.as_ptr());
    /// ```
    pub fn from_owner(owner: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        Self::whole(Arc::new(Foreign(owner)))
    }

    /// Storage over the results of a kernel.
    pub(crate) fn from_buffer<T: Pod + Send + Sync>(values: Buffer<T>) -> Self {
        Self::whole(Arc::new(values))
    }

    /// The same bytes with a cache for derived data.
    pub(crate) fn kept(self) -> Self {
        Self::whole(Arc::new(Kept { bytes: self, memo: Memo::default() }))
    }

    pub(crate) fn memo(&self) -> Option<&Memo> {
        self.owner.memo()
    }

    fn whole(owner: Arc<dyn Owner>) -> Self {
        let len = owner.bytes().len();
        Storage { owner, offset: 0, len }
    }

    /// A smaller window: `len` bytes from `offset`.
    ///
    /// # Errors
    /// [`TensorError::WindowOutOfRange`].
    pub fn window(&self, offset: usize, len: usize) -> Result<Self, TensorError> {
        let fits = offset.checked_add(len).is_some_and(|end| end <= self.len);
        if !fits {
            return Err(TensorError::WindowOutOfRange { offset, len, found: self.len });
        }
        Ok(Storage { owner: self.owner.clone(), offset: self.offset + offset, len })
    }

    /// The bytes of the window.
    pub fn bytes(&self) -> &[u8] {
        &self.owner.bytes()[self.offset..self.offset + self.len]
    }

    /// The bytes of the window, mutable, if a kernel computed them and nothing else owns them.
    pub(crate) fn exclusive(&mut self) -> Option<&mut [u8]> {
        let bytes = Arc::get_mut(&mut self.owner)?.bytes_mut()?;
        bytes.get_mut(self.offset..self.offset + self.len)
    }

    /// The offset of the window in its file, if it is in a mapped file.
    pub fn file_offset(&self) -> Option<usize> {
        self.owner.file().map(|_| self.offset)
    }

    /// The path of the mapped file that contains the window, as passed to [`Storage::map`].
    pub fn file(&self) -> Option<&Path> {
        self.owner.file()
    }

    /// The size of the window in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the window is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether both are windows into the same bytes, at any offsets.
    pub fn shares_with(&self, other: &Storage) -> bool {
        Arc::ptr_eq(&self.owner, &other.owner)
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Storage({} bytes)", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_nest_and_refuse_to_leave() {
        let all = Storage::heap(vec![1, 2, 3, 4]);
        let tail = all.window(1, 3).unwrap();
        assert_eq!(tail.window(1, 2).unwrap().bytes(), &[3, 4]);
        assert!(tail.window(1, 3).is_err());
        assert!(tail.window(usize::MAX, 2).is_err());
        assert!(tail.shares_with(&all));
    }
}
