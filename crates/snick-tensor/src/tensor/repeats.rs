//! Axes along which a tensor repeats the same memory.

use super::Tensor;
use crate::layout::Layout;

impl Tensor {
    /// Removes the axes of stride 0, along which broadcasting repeats the same elements. Returns a view
    /// without these axes, and the original positions of the remaining axes.
    ///
    /// ```
    /// # use snick::Tensor;
    /// let rows = Tensor::from_vec(&[3], vec![1i32, 2, 3])?.broadcast_to(&[1 << 30, 3])?;
    /// let (row, axes) = rows.without_repeats();
    /// assert_eq!((row.dims(), axes), (&[3][..], vec![1]));
    /// # Ok::<(), snick::TensorError>(())
    /// ```
    pub fn without_repeats(&self) -> (Tensor, Vec<usize>) {
        let Layout { start, dims, strides } = &self.layout;
        let axes: Vec<usize> =
            (0..self.rank()).filter(|&axis| self.is_empty() || strides[axis] != 0).collect();
        let (dims, strides) = axes.iter().map(|&axis| (dims[axis], strides[axis])).unzip();
        (self.with_layout(Layout { start: *start, dims, strides }), axes)
    }
}
