//! Tensors: elements of one type, strided over shared bytes.

#[cfg(feature = "ndarray")]
mod arrays;
mod debug;
mod exclusive;
mod file_range;
mod repeats;
mod strided;

use std::ops::Range;
use std::sync::Arc;

use crate::buffer::{Buffer, Pool, filled};
use crate::kernels::strided_copy;
use crate::layout::{Layout, checked_len};
use crate::memo;
use crate::packing;
use crate::{Element, ElementType, Storage, TensorError};

/// The limit on the packed size of a tensor in bytes, even for views of much smaller storage: 64 GiB, or 1
/// GiB on 32-bit machines.
///
/// Models are untrusted input. A `Broadcast` to a hostile shape fails when the view is created, before a
/// kernel packs it.
pub const MAX_BYTES: usize = 1 << if usize::BITS < 64 { 30 } else { 36 };

/// Dims and strides (in elements) over a storage. Clones, and slices with any step, share the storage and are
/// created in O(rank). Elements are immutable.
///
/// Tensors are created from, and read as, elements of the Rust type with the same memory representation (see
/// [`Element`]).
///
/// String tensors store 4-byte indices into a shared table of strings, so kernels that only move elements
/// also work for strings.
///
/// ```
/// use snick::{ElementType, Tensor};
///
/// let x = Tensor::from_slice(&[1f32, 2., 3., 4., 5., 6.], &[2, 3])?;
/// assert_eq!((x.element_type(), x.dims()), (ElementType::F32, &[2, 3][..]));
/// // A view: no element is copied.
/// let last_column = x.slice(1, 2, 1, 1)?;
/// assert_eq!(last_column.to_f32_vec()?, [3., 6.]);
/// let mask = Tensor::from_slice(&[true, false], &[2])?;
/// assert_eq!((mask.element_type(), mask.as_slice::<bool>()?), (ElementType::Boolean, &[true, false][..]));
/// # Ok::<(), snick::TensorError>(())
/// ```
#[derive(Clone)]
pub struct Tensor {
    element_type: ElementType,
    layout: Layout,
    storage: Storage,
    texts: Option<Arc<[String]>>,
}

/// The storage size of a packed tensor in bytes, checked against [`MAX_BYTES`] and the limit of the thread.
pub(crate) fn stored_bytes(et: ElementType, dims: &[usize]) -> Result<usize, TensorError> {
    if et == ElementType::Dynamic {
        return Err(TensorError::UnsupportedType { element_type: et });
    }
    let bytes = checked_len(dims).and_then(|len| et.stored_len(len)).filter(|&bytes| bytes <= MAX_BYTES);
    let bytes = bytes.ok_or_else(|| TensorError::TooLarge { element_type: et, dims: dims.into() })?;
    match Pool::limit() {
        limit if bytes > limit => {
            Err(TensorError::AboveLimit { element_type: et, dims: dims.into(), bytes, limit })
        }
        _ => Ok(bytes),
    }
}

/// Constructors.
impl Tensor {
    /// A packed row-major tensor over the first bytes of `storage`; further bytes are ignored. For strings,
    /// the storage is in OpenVINO's packed form: count, `count + 1` offsets (all 32-bit little-endian), then
    /// the UTF-8 bytes.
    ///
    /// # Errors
    /// [`TensorError::StorageTooShort`], [`TensorError::TooLarge`], [`TensorError::MalformedStrings`], or
    /// [`TensorError::UnsupportedType`] for `dynamic`.
    pub fn new(et: ElementType, dims: &[usize], storage: Storage) -> Result<Self, TensorError> {
        match et {
            ElementType::String => Self::strings(dims, crate::text::unpack(storage.bytes())?),
            _ => Self::of_bytes(et, dims, storage),
        }
    }

    /// Takes ownership of elements in row-major order.
    ///
    /// # Errors
    /// [`TensorError::ElementCount`], [`TensorError::TooLarge`].
    pub fn from_vec<T: Element>(dims: &[usize], values: Vec<T>) -> Result<Self, TensorError> {
        Self::from_units(T::TYPE, dims, values)
    }

    /// Copies elements in row-major order.
    ///
    /// # Errors
    /// Same as [`Tensor::from_vec`].
    pub fn from_slice<T: Element>(values: &[T], dims: &[usize]) -> Result<Self, TensorError> {
        Self::from_vec(dims, values.to_vec())
    }

    /// A tensor of rank 0.
    pub fn scalar<T: Element>(value: T) -> Self {
        Tensor {
            element_type: T::TYPE,
            layout: Layout::packed(&[]),
            storage: Storage::from_vec(vec![value]),
            texts: None,
        }
    }

    /// A `boolean` tensor.
    ///
    /// # Errors
    /// Same as [`Tensor::from_vec`].
    pub fn from_bools(dims: &[usize], values: &[bool]) -> Result<Self, TensorError> {
        Self::from_slice(values, dims)
    }

    /// A tensor of strings.
    ///
    /// # Errors
    /// Same as [`Tensor::from_vec`]; also fails for more than `u32::MAX` strings.
    pub fn strings(dims: &[usize], values: Vec<String>) -> Result<Self, TensorError> {
        let count = u32::try_from(values.len())
            .map_err(|_| TensorError::MalformedStrings("more than u32::MAX texts"))?;
        let mut tensor = Self::from_units(ElementType::String, dims, (0..count).collect())?;
        tensor.texts = Some(values.into());
        Ok(tensor)
    }

    /// A tensor whose bits are all zero: 0, `false` or empty strings. In `nf4`, these bits represent -1; in
    /// `f8e8m0`, they represent 2^-127.
    ///
    /// # Errors
    /// [`TensorError::TooLarge`], [`TensorError::OutOfMemory`].
    pub fn zeros(et: ElementType, dims: &[usize]) -> Result<Self, TensorError> {
        let bytes = stored_bytes(et, dims)?;
        Ok(Tensor {
            element_type: et,
            layout: Layout::packed(dims),
            storage: Storage::heap(filled(bytes, 0)?),
            texts: (et == ElementType::String).then(|| Arc::from([String::new()])),
        })
    }

    /// A tensor that repeats one element. It is a view, which takes no memory.
    ///
    /// # Errors
    /// Same as [`Tensor::broadcast_to`].
    pub fn full<T: Element>(dims: &[usize], value: T) -> Result<Self, TensorError> {
        Self::scalar(value).broadcast_to(dims)
    }

    /// A tensor of whole-byte elements in row-major order.
    pub(crate) fn from_units<T>(et: ElementType, dims: &[usize], values: Vec<T>) -> Result<Self, TensorError>
    where
        T: bytemuck::NoUninit + Send + Sync,
    {
        Self::of_elements(et, dims, values.len(), Storage::from_units(values))
    }

    /// A tensor of elements computed by a kernel, in row-major order.
    pub(crate) fn from_buffer<T>(
        et: ElementType,
        dims: &[usize],
        values: Buffer<T>,
    ) -> Result<Self, TensorError>
    where
        T: bytemuck::Pod + Send + Sync,
    {
        Self::of_elements(et, dims, values.len(), Storage::from_buffer(values))
    }

    fn of_elements(
        et: ElementType,
        dims: &[usize],
        count: usize,
        storage: Storage,
    ) -> Result<Self, TensorError> {
        stored_bytes(et, dims)?;
        if checked_len(dims) != Some(count) {
            return Err(TensorError::ElementCount { dims: dims.into(), found: count });
        }
        Ok(Tensor { element_type: et, layout: Layout::packed(dims), storage, texts: None })
    }

    /// A tensor of packed bytes copied by a kernel.
    pub(crate) fn from_buffer_bytes(
        et: ElementType,
        dims: &[usize],
        bytes: Buffer<u8>,
    ) -> Result<Self, TensorError> {
        Self::of_bytes(et, dims, Storage::from_buffer(bytes))
    }

    /// A tensor of bytes packed by a kernel.
    pub(crate) fn from_packed(et: ElementType, dims: &[usize], bytes: Vec<u8>) -> Result<Self, TensorError> {
        Self::of_bytes(et, dims, Storage::heap(bytes))
    }

    fn of_bytes(et: ElementType, dims: &[usize], storage: Storage) -> Result<Self, TensorError> {
        let needed = stored_bytes(et, dims)?;
        if storage.len() < needed {
            return Err(TensorError::StorageTooShort { needed, found: storage.len() });
        }
        Ok(Tensor { element_type: et, layout: Layout::packed(dims), storage, texts: None })
    }

    /// The same indices into another string table.
    pub(crate) fn with_texts(self, texts: Option<Arc<[String]>>) -> Self {
        Tensor { texts, ..self }
    }

    /// The same bytes with another type of the same width.
    pub(crate) fn retyped(self, element_type: ElementType) -> Self {
        Tensor { element_type, ..self }
    }
}

/// Constants that kernels read repeatedly.
impl Tensor {
    /// The same tensor, packed and aligned, with a cache for derived data such as packed weights, which are
    /// kept from their second use on. For tensors that live as long as the model.
    pub fn kept(&self) -> Self {
        let packed = self.contiguous();
        Tensor { storage: packed.storage.clone().kept(), ..packed }
    }

    /// The cache of derived forms, if this is a view of a [`Tensor::kept`] tensor.
    pub(crate) fn memo(&self) -> Option<&memo::Memo> {
        self.storage.memo()
    }

    /// The result of `make`. If this tensor is [`Tensor::kept`], the result is cached from the second call
    /// with the same view and `purpose` on.
    pub(crate) fn memoised<T: Send + Sync + 'static>(
        &self,
        purpose: memo::Purpose,
        make: impl FnOnce() -> Result<T, TensorError>,
    ) -> Result<Arc<T>, TensorError> {
        match self.memo() {
            Some(memo) => memo.get(purpose, &self.layout, make),
            None => make().map(Arc::new),
        }
    }

    /// The result of `make`, such as an index of the elements, computed once if this tensor is
    /// [`Tensor::kept`].
    ///
    /// # Errors
    /// Errors of `make`.
    pub fn derived<T: Send + Sync + 'static, E>(
        &self,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        match self.memo() {
            Some(memo) => memo.get(memo::Purpose::Derived, &self.layout, make),
            None => make().map(Arc::new),
        }
    }
}

/// Properties.
impl Tensor {
    /// The element type.
    pub fn element_type(&self) -> ElementType {
        self.element_type
    }

    /// The size of each axis.
    pub fn dims(&self) -> &[usize] {
        &self.layout.dims
    }

    /// The stride of each axis, in elements.
    pub fn strides(&self) -> &[isize] {
        &self.layout.strides
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.layout.dims.len()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.layout.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The packed size of the elements in bytes; for strings, the size of their indices.
    pub fn size_in_bytes(&self) -> usize {
        self.element_type.stored_len(self.len()).unwrap_or(usize::MAX)
    }

    /// Whether the elements are contiguous in row-major order.
    pub fn is_contiguous(&self) -> bool {
        self.layout.is_contiguous()
    }

    /// The storage of this view.
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(crate) fn texts(&self) -> Option<&Arc<[String]>> {
        self.texts.as_ref()
    }

    /// The bytes of the elements, if they are packed and start at a byte boundary.
    pub(crate) fn packed_bytes(&self) -> Option<&[u8]> {
        let range = self.packed_range()?;
        if range.is_empty() {
            return Some(&[]);
        }
        let bytes = self.storage.bytes().get(range)?;
        packing::tail_is_clear(self.element_type, bytes, self.len()).then_some(bytes)
    }

    /// The range of the elements in the storage, if they are packed and start at a byte boundary.
    fn packed_range(&self) -> Option<Range<usize>> {
        if !self.is_contiguous() {
            return None;
        }
        let len = self.element_type.stored_len(self.len())?;
        let first = match self.element_type.unit_bytes() {
            _ if len == 0 => 0,
            Some(unit) => self.layout.start * unit,
            None => packing::first_byte(self.element_type, self.layout.start)?,
        };
        Some(first..first + len)
    }
}

/// Views: other dims and strides over the same bytes.
impl Tensor {
    fn with_layout(&self, layout: Layout) -> Self {
        let (storage, texts) = (self.storage.clone(), self.texts.clone());
        Tensor { element_type: self.element_type, layout, storage, texts }
    }

    /// Slices an axis: `len` indices from `start`, `step` apart; `step` may be negative.
    ///
    /// # Errors
    /// [`TensorError::AxisOutOfRange`], and [`TensorError::SliceOutOfRange`] if an index is outside the axis:
    /// nothing is clamped.
    pub fn slice(&self, axis: usize, start: usize, len: usize, step: isize) -> Result<Self, TensorError> {
        Ok(self.with_layout(self.layout.slice(axis, start, len, step)?))
    }

    /// [`Tensor::slice`] in place.
    ///
    /// # Errors
    /// Same as [`Tensor::slice`]; nothing is changed on error.
    pub fn narrow(&mut self, axis: usize, start: usize, len: usize, step: isize) -> Result<(), TensorError> {
        self.layout.narrow(axis, start, len, step)
    }

    /// Permutes axes: axis `i` of the view is axis `order[i]` of this tensor.
    ///
    /// # Errors
    /// [`TensorError::BadPermutation`].
    pub fn permute(&self, order: &[usize]) -> Result<Self, TensorError> {
        Ok(self.with_layout(self.layout.permute(order)?))
    }

    /// Reverses the order of the axes.
    pub fn transposed(&self) -> Self {
        let mut layout = self.layout.clone();
        layout.dims.reverse();
        layout.strides.reverse();
        self.with_layout(layout)
    }

    /// Broadcasts as in numpy: aligns dims at the right, and repeats new axes and axes of size 1 (stride 0).
    ///
    /// # Errors
    /// [`TensorError::ShapeMismatch`]; [`TensorError::TooLarge`] if the packed result would be too large.
    pub fn broadcast_to(&self, dims: &[usize]) -> Result<Self, TensorError> {
        stored_bytes(self.element_type, dims)?;
        Ok(self.with_layout(self.layout.broadcast_to(dims)?))
    }

    /// Inserts an axis of size 1 before `axis`.
    ///
    /// # Errors
    /// [`TensorError::AxisOutOfRange`] if `axis` is above the rank.
    pub fn unsqueeze(&self, axis: usize) -> Result<Self, TensorError> {
        Ok(self.with_layout(self.layout.unsqueeze(axis)?))
    }

    /// Removes `axis`, which must have size 1.
    ///
    /// # Errors
    /// [`TensorError::AxisOutOfRange`], [`TensorError::ShapeMismatch`].
    pub fn squeeze(&self, axis: usize) -> Result<Self, TensorError> {
        Ok(self.with_layout(self.layout.squeeze(axis)?))
    }

    /// Reshapes in row-major order: a view if strides can express it, otherwise a copy.
    ///
    /// # Errors
    /// [`TensorError::ShapeMismatch`] if the element counts differ.
    pub fn reshape(&self, dims: &[usize]) -> Result<Self, TensorError> {
        if checked_len(dims) != Some(self.len()) {
            return Err(TensorError::mismatch("cannot reshape {} to {}", self.dims(), dims));
        }
        match self.layout.reshape(dims) {
            Some(layout) => Ok(self.with_layout(layout)),
            None => {
                let packed = self.contiguous();
                let layout = Layout::packed(dims);
                Ok(Tensor { layout, ..packed })
            }
        }
    }

    /// Packs the elements in row-major order, aligned for [`Tensor::as_slice`]. Returns a clone if the
    /// elements are already packed and aligned. Constants in a mapped file may be unaligned.
    ///
    /// ```
    /// use snick::{ElementType, Storage, Tensor};
    ///
    /// // One of the two is unaligned.
    /// let bytes = Storage::heap(vec![0; 6]);
    /// for offset in [0, 1] {
    ///     let tensor = Tensor::new(ElementType::F32, &[1], bytes.window(offset, 4)?)?;
    ///     assert_eq!(tensor.contiguous().as_slice::<f32>()?, [0.0]);
    /// }
    /// # Ok::<(), snick::TensorError>(())
    /// ```
    pub fn contiguous(&self) -> Tensor {
        let unit = self.element_type.unit_bytes().unwrap_or(1);
        let packed = self.packed_bytes();
        if packed.is_some_and(|bytes| bytes.is_empty() || (bytes.as_ptr() as usize).is_multiple_of(unit)) {
            return self.clone();
        }
        let mut copy = Buffer::any_or_abort(self.element_type.stored_len(self.len()).unwrap_or(0));
        match packed {
            Some(bytes) => copy.copy_from_slice(bytes),
            None => strided_copy::pack(self, &mut copy),
        }
        Tensor {
            element_type: self.element_type,
            layout: Layout::packed(self.dims()),
            storage: Storage::from_buffer(copy),
            texts: self.texts.clone(),
        }
    }
}

impl PartialEq for Tensor {
    /// Compares types, dims and bits: `NaN` equals itself, and 0.0 differs from -0.0. For booleans, every
    /// nonzero byte is true.
    fn eq(&self, other: &Self) -> bool {
        self.element_type == other.element_type
            && self.dims() == other.dims()
            && match self.element_type {
                ElementType::String => self.as_strings() == other.as_strings(),
                ElementType::Boolean => {
                    let (mine, theirs) = (self.to_bytes(), other.to_bytes());
                    mine.iter().map(|&byte| byte != 0).eq(theirs.iter().map(|&byte| byte != 0))
                }
                _ => self.to_bytes() == other.to_bytes(),
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_dims_are_refused_before_memory_is_taken() {
        let huge = [usize::MAX, 2];
        assert!(Tensor::zeros(ElementType::F32, &huge).is_err());
        assert!(Tensor::full(&[MAX_BYTES + 1], 1u8).is_err());
        assert!(Tensor::new(ElementType::U8, &[3], Storage::heap(vec![0; 2])).is_err());
        assert!(Tensor::from_vec(&[3], vec![0u8; 4]).is_err());
        let none = Tensor::zeros(ElementType::F32, &[0, usize::MAX, usize::MAX]).unwrap();
        assert_eq!(none.len(), 0);
        assert_eq!(none.permute(&[2, 1, 0]).unwrap().contiguous().to_bytes().len(), 0);
    }

    #[test]
    fn equality_is_of_bits() {
        let nan = Tensor::scalar(f32::NAN);
        assert_eq!(nan, nan.clone());
        assert_ne!(Tensor::scalar(0.0f32), Tensor::scalar(-0.0f32));
        assert_ne!(Tensor::scalar(0i32), Tensor::scalar(0u32));
    }

    #[test]
    fn views_share_storage_and_reshape_copies_only_if_it_must() {
        let t = Tensor::from_vec(&[2, 3], vec![1i32, 2, 3, 4, 5, 6]).unwrap();
        let turned = t.transposed();
        assert!(turned.storage().shares_with(t.storage()));
        let flat = turned.reshape(&[6]).unwrap();
        assert_eq!(flat.to_i64_vec().unwrap(), [1, 4, 2, 5, 3, 6]);
        assert!(t.reshape(&[3, 2]).unwrap().storage().shares_with(t.storage()));
        assert!(t.reshape(&[4]).is_err());
        assert!(t.permute(&[0, 0]).is_err());
        assert_eq!(t.unsqueeze(1).unwrap().squeeze(1).unwrap(), t);
        assert!(t.squeeze(0).is_err());
    }

    #[test]
    fn a_view_within_a_byte_is_packed_again() {
        let t = Tensor::new(ElementType::U4, &[4], Storage::heap(vec![0x21, 0x43])).unwrap();
        assert_eq!(t.slice(0, 1, 2, 1).unwrap().to_bytes()[..], [0x32]);
        assert_eq!(t.slice(0, 0, 3, 1).unwrap().to_bytes()[..], [0x21, 0x03]);
        assert_eq!(t.slice(0, 2, 2, 1).unwrap().to_bytes()[..], [0x43]);
    }

    #[test]
    fn debug_is_short() {
        let t = Tensor::from_vec(&[2], vec![1.5f32, 2.0]).unwrap();
        assert_eq!(format!("{t:?}"), "f32[2] {1.5, 2}");
        let wide = Tensor::full(&[1 << 20], 1u8).unwrap();
        assert_eq!(format!("{wide:?}"), "u8[1048576]");
    }
}
