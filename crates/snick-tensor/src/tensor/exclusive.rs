//! Access to elements with a single owner, which may be overwritten.

use super::Tensor;

impl Tensor {
    /// Whether a kernel computed the elements and nothing else owns them: a result may then overwrite them.
    pub fn is_exclusive(&mut self) -> bool {
        self.layout.is_contiguous() && self.storage.exclusive().is_some()
    }

    /// The bytes of the elements in row-major order, mutable, if [`Tensor::is_exclusive`].
    ///
    /// ```
    /// use snick::Tensor;
    ///
    /// let mut given = Tensor::from_slice(&[1u8, 2], &[2])?;
    /// assert_eq!(given.exclusive_bytes(), None); // no kernel computed it
    /// # Ok::<(), snick::TensorError>(())
    /// ```
    pub fn exclusive_bytes(&mut self) -> Option<&mut [u8]> {
        if !self.layout.is_contiguous() {
            return None;
        }
        let (start, len) = (self.layout.start, self.size_in_bytes());
        let first = start.checked_mul(self.element_type.unit_bytes()?)?;
        self.storage.exclusive()?.get_mut(first..first.checked_add(len)?)
    }

    /// The elements in row-major order, mutable, if a kernel computed them and nothing else owns them.
    pub(crate) fn exclusive<T: bytemuck::Pod>(&mut self) -> Option<&mut [T]> {
        if !self.layout.is_contiguous() {
            return None;
        }
        let (start, len) = (self.layout.start, self.len());
        let elements: &mut [T] = bytemuck::try_cast_slice_mut(self.storage.exclusive()?).ok()?;
        elements.get_mut(start..start + len)
    }
}
