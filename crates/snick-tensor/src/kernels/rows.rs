//! A tensor as rows along a set of axes.

use crate::layout::checked_len;
use crate::{Dims, Tensor, TensorError};

/// The other axes first, in order, then the chosen ones: packed, each row is what a reduction or
/// a normalisation treats as one.
pub(crate) struct Rows {
    /// Packed, with the axes in `order`.
    pub tensor: Tensor,
    /// Axis `i` of `tensor` is axis `order[i]` of the original.
    order: Dims,
    /// How many axes were not chosen.
    kept: usize,
}

impl Rows {
    /// # Errors
    /// [`TensorError::AxisOutOfRange`]. Naming an axis twice is naming it once.
    pub fn new(tensor: &Tensor, axes: &[usize]) -> Result<Self, TensorError> {
        for &axis in axes {
            tensor.layout().check_axis(axis)?;
        }
        let (kept, chosen): (Vec<_>, Vec<_>) = (0..tensor.rank()).partition(|axis| !axes.contains(axis));
        let order: Dims = kept.iter().chain(&chosen).copied().collect();
        Ok(Rows { tensor: tensor.permute(&order)?.contiguous(), order, kept: kept.len() })
    }

    /// Elements in a row. Only a tensor without rows has rows too wide to count.
    pub fn width(&self) -> usize {
        checked_len(&self.tensor.dims()[self.kept..]).unwrap_or(usize::MAX)
    }

    /// The dims of one element a row: without the chosen axes, or with size 1 for them.
    pub fn reduced_dims(&self, keep_dims: bool) -> Dims {
        if !keep_dims {
            return Dims::from_slice(&self.tensor.dims()[..self.kept]);
        }
        let mut dims = Dims::from_elem(1, self.order.len());
        for (&axis, &dim) in self.order[..self.kept].iter().zip(self.tensor.dims()) {
            dims[axis] = dim;
        }
        dims
    }

    /// A tensor laid out like the rows, with its axes back in their places.
    pub fn restore(&self, rows: &Tensor) -> Result<Tensor, TensorError> {
        let mut inverse = Dims::from_elem(0, self.order.len());
        for (i, &axis) in self.order.iter().enumerate() {
            inverse[axis] = i;
        }
        Ok(rows.reshape(self.tensor.dims())?.permute(&inverse)?.contiguous())
    }
}
