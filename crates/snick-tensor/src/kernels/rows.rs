//! A tensor as rows, or as columns of blocks, along a set of axes.

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

    /// A tensor laid out like the rows, with its axes back in their places.
    pub fn restore(&self, rows: &Tensor) -> Result<Tensor, TensorError> {
        let mut inverse = Dims::from_elem(0, self.order.len());
        for (i, &axis) in self.order.iter().enumerate() {
            inverse[axis] = i;
        }
        Ok(rows.reshape(self.tensor.dims())?.permute(&inverse)?.contiguous())
    }
}

/// A packed tensor in blocks of `count` lines of `inner` elements: the elements that differ only in the chosen axes
/// stand below each other. With `inner` 1 a block is a row.
pub(crate) struct Blocks {
    /// Packed.
    pub tensor: Tensor,
    /// Lines in a block.
    pub count: usize,
    /// Elements in a line.
    pub inner: usize,
    /// How the axes were moved, if they had to be.
    moved: Option<Rows>,
}

impl Blocks {
    /// Axes that follow each other stay where they are; others are moved to the end.
    ///
    /// # Errors
    /// [`TensorError::AxisOutOfRange`]. Naming an axis twice is naming it once.
    pub fn new(tensor: &Tensor, axes: &[usize]) -> Result<Self, TensorError> {
        for &axis in axes {
            tensor.layout().check_axis(axis)?;
        }
        let dims = tensor.dims();
        // Axes of one element are nowhere, and may be anywhere.
        let matters = |axis: &usize| dims[*axis] != 1 && axes.contains(axis);
        let chosen: Dims = (0..dims.len()).filter(matters).collect();
        let (first, end) = match (chosen.first(), chosen.last()) {
            (Some(&first), Some(&last)) => (first, last + 1),
            // Every element is alone: all of them are one line.
            _ => (0, 0),
        };
        let together = (first..end).all(|axis| dims[axis] == 1 || axes.contains(&axis));
        if !together || tensor.is_empty() {
            let rows = Rows::new(tensor, axes)?;
            let (count, inner) = (rows.width(), 1);
            return Ok(Blocks { tensor: rows.tensor.clone(), count, inner, moved: Some(rows) });
        }
        let size = |dims: &[usize]| checked_len(dims).unwrap_or(usize::MAX);
        let (count, inner) = (size(&dims[first..end]), size(&dims[end..]));
        Ok(Blocks { tensor: tensor.contiguous(), count, inner, moved: None })
    }

    /// Elements in a block, at least 1.
    pub fn size(&self) -> usize {
        self.count.saturating_mul(self.inner).max(1)
    }

    /// A tensor laid out like the blocks, with its axes back in their places.
    pub fn restore(&self, blocks: Tensor) -> Result<Tensor, TensorError> {
        match &self.moved {
            Some(rows) => rows.restore(&blocks),
            None => Ok(blocks),
        }
    }
}

/// The dims of one element a block: without the chosen axes, or with size 1 for them.
pub(crate) fn reduced_dims(dims: &[usize], axes: &[usize], keep_dims: bool) -> Dims {
    let reduced = |(axis, &dim)| match axes.contains(&axis) {
        true => keep_dims.then_some(1),
        false => Some(dim),
    };
    dims.iter().enumerate().filter_map(reduced).collect()
}
