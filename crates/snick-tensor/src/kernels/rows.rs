//! Views a tensor as groups of elements along a set of axes, for reductions and normalisation. A group is a
//! row ([`Rows`]) or a column of a block ([`Blocks`]).

use bytemuck::Pod;

use crate::kernels::broadcast::Strided;
use crate::kernels::sharing;
use crate::layout::checked_len;
use crate::{Dims, Tensor, TensorError};

/// Accumulators per row, which stay in vector registers.
pub(crate) const PARTS: usize = 16;

/// Folds a row into [`PARTS`] accumulators. Element `i` goes to accumulator `i % PARTS`, but if the row is
/// longer than [`PARTS`], the last `row.len() % PARTS` elements go to the last accumulators.
#[inline(always)]
pub(crate) fn fold_in_parts<T: Copy, A: Copy>(row: &[T], start: A, step: impl Fn(A, T) -> A) -> [A; PARTS] {
    let (lines, rest) = row.as_chunks::<PARTS>();
    let mut parts = [start; PARTS];
    // Assigning all accumulators together keeps them in registers.
    for line in lines {
        parts = std::array::from_fn(|i| step(parts[i], line[i]));
    }
    match row.last_chunk::<PARTS>() {
        // Reads the last `PARTS` elements and skips those that are already folded.
        Some(line) => {
            let known = PARTS - rest.len();
            parts = std::array::from_fn(|i| if i < known { parts[i] } else { step(parts[i], line[i]) });
        }
        None => parts.iter_mut().zip(rest).for_each(|(part, &x)| *part = step(*part, x)),
    }
    parts
}

/// A contiguous tensor with the chosen axes moved to the end: each row is one group of a reduction or
/// normalisation.
pub(crate) struct Rows {
    /// Contiguous, with the axes in `order`.
    pub tensor: Tensor,
    /// Axis `i` of `tensor` is axis `order[i]` of the original.
    order: Dims,
    /// The number of axes that were not moved to the end.
    kept: usize,
}

impl Rows {
    /// Moves `axes` to the end. Repeated axes count once.
    ///
    /// # Errors
    /// [`TensorError::AxisOutOfRange`].
    pub fn new(tensor: &Tensor, axes: &[usize]) -> Result<Self, TensorError> {
        for &axis in axes {
            tensor.layout().check_axis(axis)?;
        }
        let (kept, chosen): (Vec<_>, Vec<_>) = (0..tensor.rank()).partition(|axis| !axes.contains(axis));
        let order: Dims = kept.iter().chain(&chosen).copied().collect();
        Ok(Rows { tensor: tensor.permute(&order)?.contiguous(), order, kept: kept.len() })
    }

    /// The number of elements in a row. It overflows only if there are no rows.
    pub fn width(&self) -> usize {
        checked_len(&self.tensor.dims()[self.kept..]).unwrap_or(usize::MAX)
    }

    /// Moves the axes of a tensor in the row layout back to their original order.
    pub fn restore(&self, rows: &Tensor) -> Result<Tensor, TensorError> {
        let mut inverse = Dims::from_elem(0, self.order.len());
        for (i, &axis) in self.order.iter().enumerate() {
            inverse[axis] = i;
        }
        Ok(rows.reshape(self.tensor.dims())?.permute(&inverse)?.contiguous())
    }
}

/// A tensor as contiguous blocks of `count` lines of `inner` elements. The indices of the elements in a
/// column differ only along the chosen axes. With `inner` 1, a block is a row.
pub(crate) struct Blocks {
    /// Blocks are contiguous, but may have gaps between them, so that rows of a slice are read without a
    /// copy.
    pub tensor: Tensor,
    /// The first axis within a block.
    first: usize,
    /// Lines in a block.
    pub count: usize,
    /// Elements in a line.
    pub inner: usize,
    /// The permutation, if axes had to be moved.
    moved: Option<Rows>,
}

impl Blocks {
    /// Views the tensor as blocks along `axes`. If the axes are not adjacent, they are moved to the end.
    /// Repeated axes count once.
    ///
    /// # Errors
    /// [`TensorError::AxisOutOfRange`].
    pub fn new(tensor: &Tensor, axes: &[usize]) -> Result<Self, TensorError> {
        for &axis in axes {
            tensor.layout().check_axis(axis)?;
        }
        let dims = tensor.dims();
        // Axes of size 1 do not matter.
        let matters = |axis: &usize| dims[*axis] != 1 && axes.contains(axis);
        let chosen: Dims = (0..dims.len()).filter(matters).collect();
        let (first, end) = match (chosen.first(), chosen.last()) {
            (Some(&first), Some(&last)) => (first, last + 1),
            // Nothing is grouped: every element is a column of its own, and all columns form a single block
            // with one line.
            _ => (0, 0),
        };
        let together = (first..end).all(|axis| dims[axis] == 1 || axes.contains(&axis));
        if !together || tensor.is_empty() {
            let rows = Rows::new(tensor, axes)?;
            let (count, inner) = (rows.width(), 1);
            let (tensor, first) = (rows.tensor.clone(), rows.kept);
            return Ok(Blocks { tensor, first, count, inner, moved: Some(rows) });
        }
        let size = |dims: &[usize]| checked_len(dims).unwrap_or(usize::MAX);
        let (count, inner) = (size(&dims[first..end]), size(&dims[end..]));
        let is_packed = tensor.layout().split(first).1.is_contiguous();
        let tensor = if is_packed { tensor.clone() } else { tensor.contiguous() };
        Ok(Blocks { tensor, first, count, inner, moved: None })
    }

    /// Calls `visit` with each block and the corresponding part of `to`, on all threads if there is enough
    /// work. All parts of `to` have the same size, which may differ from the size of a block.
    pub fn each_to<T: Pod + Send + Sync>(&self, to: &mut [T], visit: impl Fn(&[T], &mut [T]) + Sync) {
        if self.tensor.is_empty() || to.is_empty() {
            return;
        }
        let Strided { data, layout } = Strided::new(&self.tensor);
        let (blocks, _) = layout.split(self.first);
        let mut starts = Vec::with_capacity(blocks.len());
        blocks.collapse().for_each_offset(|at| starts.push(at));
        let (size, width) = (self.size(), to.len() / starts.len());
        let some = |(starts, to): (&[usize], &mut [T])| {
            for (&at, to) in starts.iter().zip(to.chunks_exact_mut(width)) {
                visit(&data[at..at + size], to);
            }
        };
        let at_once = sharing::part(starts.len(), sharing::ELEMENTS / size);
        if at_once < starts.len() {
            sharing::for_each(starts.chunks(at_once).zip(to.chunks_mut(at_once * width)), some);
        } else {
            some((&starts, to));
        }
    }

    /// The number of elements in a block, at least 1.
    pub fn size(&self) -> usize {
        self.count.saturating_mul(self.inner).max(1)
    }

    /// Moves the axes of a tensor in the block layout back to their original order.
    pub fn restore(&self, blocks: Tensor) -> Result<Tensor, TensorError> {
        match &self.moved {
            Some(rows) => rows.restore(&blocks),
            None => Ok(blocks),
        }
    }
}

/// The dims of a result with one element per block: without the chosen axes, or with size 1 for them.
pub(crate) fn reduced_dims(dims: &[usize], axes: &[usize], keep_dims: bool) -> Dims {
    let reduced = |(axis, &dim)| match axes.contains(&axis) {
        true => keep_dims.then_some(1),
        false => Some(dim),
    };
    dims.iter().enumerate().filter_map(reduced).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::strided_copy::packed_parts;

    #[test]
    fn parts_have_every_element_once() {
        for len in 0..3 * PARTS {
            let row: Vec<usize> = (0..len).collect();
            let parts = fold_in_parts(&row, 0u64, |known, x| {
                assert_eq!(known >> x & 1, 0);
                known | 1 << x
            });
            assert_eq!(parts.into_iter().fold(0, |all, part| all ^ part), (1 << len) - 1);
        }
    }

    #[test]
    fn rows_of_slices_are_read_without_a_copy() {
        let whole = Tensor::from_vec(&[4, 3, 6], (0..72i32).collect()).unwrap();
        let part = whole.slice(0, 3, 2, -2).unwrap().slice(2, 1, 4, 1).unwrap();
        let lines = whole.slice(0, 1, 2, 1).unwrap().slice(1, 0, 2, 2).unwrap();
        for (tensor, axes, copies) in [
            (&part, &[2][..], false),
            (&part, &[1], true),
            (&part, &[0, 2], true),
            (&lines, &[2], false),
            (&whole.slice(0, 1, 2, 1).unwrap(), &[1], false),
            (&whole.slice(1, 0, 0, 1).unwrap(), &[2], false),
        ] {
            let before = packed_parts();
            let blocks = Blocks::new(tensor, axes).unwrap();
            let mut seen = vec![0; blocks.tensor.len()];
            blocks.each_to(&mut seen, |block: &[i32], to| to.copy_from_slice(block));
            assert_eq!(packed_parts() > before, copies, "{tensor:?} {axes:?}");
            let seen = Tensor::from_vec(blocks.tensor.dims(), seen).unwrap();
            assert_eq!(blocks.restore(seen).unwrap(), *tensor);
        }
    }
}
