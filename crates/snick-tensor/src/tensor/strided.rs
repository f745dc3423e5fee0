//! Views of bytes with arbitrary strides.

use super::{Tensor, stored_bytes};
use crate::layout::Layout;
use crate::{ElementType, Storage, TensorError};

impl Tensor {
    /// A view of `storage` in which element `[i, j, ..]` is at `start + i * strides[0] + j * strides[1] +
    /// ..`, in elements. Only for types of whole bytes.
    ///
    /// ```
    /// use snick::{ElementType, Storage, Tensor};
    ///
    /// let bytes = Storage::heap(vec![1, 2, 3, 4]);
    /// let backward = Tensor::from_strided(ElementType::U8, &[4], &[-1], 3, bytes)?;
    /// assert_eq!(backward.to_i64_vec()?, [4, 3, 2, 1]);
    /// # Ok::<(), snick::TensorError>(())
    /// ```
    ///
    /// # Errors
    /// [`TensorError::WindowOutOfRange`] if an element is outside the storage;
    /// [`TensorError::UnsupportedType`], [`TensorError::TooLarge`]; [`TensorError::ElementCount`] unless
    /// there is one stride per dim.
    pub fn from_strided(
        et: ElementType,
        dims: &[usize],
        strides: &[isize],
        start: usize,
        storage: Storage,
    ) -> Result<Self, TensorError> {
        stored_bytes(et, dims)?;
        let unit = et.unit_bytes().filter(|_| et != ElementType::String);
        let unit = unit.ok_or(TensorError::UnsupportedType { element_type: et })?;
        let layout = Layout::strided(dims, strides, start, storage.len() / unit)?;
        Ok(Tensor { element_type: et, layout, storage, texts: None })
    }
}
