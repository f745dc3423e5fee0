//! The layout of a tensor: dims, strides and start. Each view has its own.

use crate::{Dims, SmallVector, TensorError};

/// The stride of each axis, in elements.
pub(crate) type Strides = SmallVector<isize, 6>;

/// Element `[i, j, ..]` is at `start + i * strides[0] + j * strides[1] + ..`.
///
/// Checked against the storage on construction, so sums over valid indices never overflow.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Layout {
    pub start: usize,
    pub dims: Dims,
    pub strides: Strides,
}

/// The product of dims, if it is below `isize::MAX`. If any dim is 0, the product is 0 even if the other dims
/// would overflow.
pub(crate) fn checked_len(dims: &[usize]) -> Option<usize> {
    if dims.contains(&0) {
        return Some(0);
    }
    dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).filter(|&len| len < isize::MAX.unsigned_abs())
}

impl Layout {
    /// Packed row-major from element 0. The product of `dims` must not overflow (see [`checked_len`]).
    pub fn packed(dims: &[usize]) -> Self {
        let mut strides = Strides::from_elem(0, dims.len());
        let mut next = 1isize;
        if !dims.contains(&0) {
            for (stride, &dim) in strides.iter_mut().zip(dims).rev() {
                *stride = next;
                next *= dim as isize;
            }
        }
        Layout { start: 0, dims: Dims::from_slice(dims), strides }
    }

    /// Arbitrary strides from `start`, within `count` elements of storage. The product of `dims` must not
    /// overflow (see [`checked_len`]).
    pub fn strided(
        dims: &[usize],
        strides: &[isize],
        start: usize,
        count: usize,
    ) -> Result<Self, TensorError> {
        if dims.len() != strides.len() {
            return Err(TensorError::ElementCount { dims: dims.into(), found: strides.len() });
        }
        if dims.contains(&0) {
            return Ok(Layout::packed(dims));
        }
        // The offsets of the lowest and the highest element in memory.
        let (mut low, mut high) = (start as i128, start as i128);
        for (&dim, &stride) in dims.iter().zip(strides) {
            let reach = (dim as i128 - 1).saturating_mul(stride as i128);
            if reach < 0 { low += reach } else { high += reach }
        }
        if low < 0 || high >= count as i128 {
            let len = usize::try_from(high.saturating_sub(low)).unwrap_or(usize::MAX).saturating_add(1);
            return Err(TensorError::WindowOutOfRange { offset: start, len, found: count });
        }
        Ok(Layout { start, dims: Dims::from_slice(dims), strides: Strides::from_slice(strides) })
    }

    pub fn len(&self) -> usize {
        // Checked on construction; views are smaller or checked separately.
        checked_len(&self.dims).unwrap_or(usize::MAX)
    }

    /// Whether the elements are contiguous in row-major order, from any start.
    pub fn is_contiguous(&self) -> bool {
        if self.len() == 0 {
            return true;
        }
        let mut next = 1isize;
        for (&dim, &stride) in self.dims.iter().zip(&self.strides).rev() {
            match dim {
                1 => continue,
                _ if stride != next => return false,
                _ => next *= dim as isize,
            }
        }
        true
    }

    pub fn check_axis(&self, axis: usize) -> Result<(), TensorError> {
        let rank = self.dims.len();
        if axis < rank { Ok(()) } else { Err(TensorError::AxisOutOfRange { axis, rank }) }
    }

    pub fn slice(&self, axis: usize, start: usize, len: usize, step: isize) -> Result<Self, TensorError> {
        let mut view = self.clone();
        view.narrow(axis, start, len, step)?;
        Ok(view)
    }

    /// [`Layout::slice`] in place; unchanged on error.
    pub fn narrow(&mut self, axis: usize, start: usize, len: usize, step: isize) -> Result<(), TensorError> {
        self.check_axis(axis)?;
        let dim = self.dims[axis];
        let inside = match len {
            0 => start <= dim,
            _ => {
                let last = start as i128 + (len as i128 - 1) * step as i128;
                start < dim && (0..dim as i128).contains(&last) && (len == 1 || step != 0)
            }
        };
        if !inside {
            return Err(TensorError::SliceOutOfRange { axis, start, len, step, dim });
        }
        self.dims[axis] = len;
        if self.len() > 0 {
            self.start = self.offset_by(start as isize * self.strides[axis]);
        }
        // With at most one index the step is unused, and could overflow.
        if len > 1 {
            self.strides[axis] *= step;
        }
        Ok(())
    }

    /// Splits the layout into the axes before `axis` and the other axes. Each offset of the first layout is
    /// the start of one block with the second layout.
    pub fn split(&self, axis: usize) -> (Self, Self) {
        let part = |axes: std::ops::Range<usize>| {
            let (dims, strides) = (self.dims[axes.clone()].into(), self.strides[axes].into());
            Layout { start: self.start, dims, strides }
        };
        (part(0..axis), part(axis..self.dims.len()))
    }

    fn offset_by(&self, distance: isize) -> usize {
        self.start.wrapping_add_signed(distance)
    }

    pub fn permute(&self, order: &[usize]) -> Result<Self, TensorError> {
        let rank = self.dims.len();
        let mut seen = SmallVector::<bool, 8>::from_elem(false, rank);
        let valid = order.len() == rank
            && order.iter().all(|&axis| axis < rank && !std::mem::replace(&mut seen[axis], true));
        if !valid {
            return Err(TensorError::BadPermutation { order: order.into(), rank });
        }
        Ok(Layout {
            start: self.start,
            dims: order.iter().map(|&axis| self.dims[axis]).collect(),
            strides: order.iter().map(|&axis| self.strides[axis]).collect(),
        })
    }

    pub fn broadcast_to(&self, dims: &[usize]) -> Result<Self, TensorError> {
        let refuse = || TensorError::mismatch("cannot broadcast {} to {}", &self.dims, dims);
        let added = dims.len().checked_sub(self.dims.len()).ok_or_else(refuse)?;
        let mut strides = Strides::from_elem(0, dims.len());
        for (i, (&dim, &stride)) in self.dims.iter().zip(&self.strides).enumerate() {
            let wanted = dims[added + i];
            if wanted == dim {
                strides[added + i] = stride;
            } else if dim != 1 {
                return Err(refuse());
            }
        }
        Ok(Layout { start: self.start, dims: Dims::from_slice(dims), strides })
    }

    pub fn unsqueeze(&self, axis: usize) -> Result<Self, TensorError> {
        let rank = self.dims.len() + 1;
        if axis >= rank {
            return Err(TensorError::AxisOutOfRange { axis, rank });
        }
        let mut view = self.clone();
        view.dims.insert(axis, 1);
        view.strides.insert(axis, 0);
        Ok(view)
    }

    pub fn squeeze(&self, axis: usize) -> Result<Self, TensorError> {
        self.check_axis(axis)?;
        let mut view = self.clone();
        view.dims.remove(axis);
        view.strides.remove(axis);
        if self.dims[axis] != 1 {
            return Err(TensorError::mismatch("cannot squeeze {} to {}", &self.dims, &view.dims));
        }
        Ok(view)
    }

    /// The same elements in the same order with other dims, if strides can express that. The element counts
    /// must be equal.
    pub fn reshape(&self, dims: &[usize]) -> Option<Self> {
        let mut new = Layout::packed(dims);
        new.start = self.start;
        if self.len() == 0 {
            return Some(new);
        }
        let old = self.collapse();
        // New axes must divide each group of mergeable old axes exactly.
        let mut fresh = dims.len();
        for (&run, &stride) in old.dims.iter().zip(&old.strides).rev() {
            let (mut covered, mut next) = (1usize, stride);
            while covered < run {
                fresh = fresh.checked_sub(1)?;
                new.strides[fresh] = next;
                covered *= dims[fresh];
                next *= dims[fresh] as isize;
            }
            if covered != run {
                return None;
            }
        }
        Some(new)
    }

    /// The same order of elements with the fewest axes: drops axes of size 1 and merges axes if possible.
    pub fn collapse(&self) -> Self {
        if self.len() == 0 {
            return Layout::packed(&[0]);
        }
        let mut dims = Dims::new();
        let mut strides = Strides::new();
        for (&dim, &stride) in self.dims.iter().zip(&self.strides) {
            if dim == 1 {
                continue;
            }
            match (dims.last_mut(), strides.last_mut()) {
                (Some(outer), Some(outer_stride)) if *outer_stride == stride * dim as isize => {
                    *outer *= dim;
                    *outer_stride = stride;
                }
                _ => {
                    dims.push(dim);
                    strides.push(stride);
                }
            }
        }
        Layout { start: self.start, dims, strides }
    }

    /// The offset of an element by its row-major index.
    pub fn offset_of(&self, element: usize) -> usize {
        let (mut at, mut rest) = (self.start, element);
        for (&dim, &stride) in self.dims.iter().zip(&self.strides).rev() {
            at = at.wrapping_add_signed(stride.wrapping_mul((rest % dim.max(1)) as isize));
            rest /= dim.max(1);
        }
        at
    }

    /// Calls `visit` with the offset of every element, in row-major order.
    pub fn for_each_offset(&self, mut visit: impl FnMut(usize)) {
        let Some((&inner, outer)) = self.dims.split_last() else {
            return visit(self.start);
        };
        let step = self.strides[outer.len()];
        for start in Offsets::new(outer, &self.strides[..outer.len()], self.start) {
            let mut at = start;
            for _ in 0..inner {
                visit(at);
                at = at.wrapping_add_signed(step);
            }
        }
    }
}

/// Iterates over the offsets of all indices of `dims`, in row-major order.
pub(crate) struct Offsets<'a> {
    /// All axes but the last.
    dims: &'a [usize],
    strides: &'a [isize],
    index: Dims,
    next: Option<usize>,
    /// The last axis. It is stored separately because most steps go along it.
    last_dim: usize,
    last_stride: isize,
    /// Remaining indices of the last axis.
    last_left: usize,
}

impl<'a> Offsets<'a> {
    pub fn new(dims: &'a [usize], strides: &'a [isize], start: usize) -> Self {
        let next = (!dims.contains(&0)).then_some(start);
        let (&last_dim, dims) = dims.split_last().unwrap_or((&1, &[]));
        let (&last_stride, strides) = strides.split_last().unwrap_or((&0, &[]));
        let index = Dims::from_elem(0, dims.len());
        Offsets { dims, strides, index, next, last_dim, last_stride, last_left: last_dim }
    }

    /// Skips the first `count` offsets. Must be called before the first call of `next`.
    pub fn skip_to(&mut self, count: usize) {
        let Some(start) = self.next else { return };
        let (mut rest, last) = (count / self.last_dim, count % self.last_dim);
        self.last_left = self.last_dim - last;
        let mut at = start.wrapping_add_signed(self.last_stride.wrapping_mul(last as isize));
        for axis in (0..self.dims.len()).rev() {
            self.index[axis] = rest % self.dims[axis];
            rest /= self.dims[axis];
            at = at.wrapping_add_signed(self.strides[axis].wrapping_mul(self.index[axis] as isize));
        }
        self.next = (rest == 0).then_some(at);
    }
}

impl Iterator for Offsets<'_> {
    type Item = usize;

    // Inlined into loops of kernels, which use vector instructions that a called function would not.
    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let offset = self.next?;
        let mut at = offset.wrapping_add_signed(self.last_stride);
        self.last_left -= 1;
        if self.last_left > 0 {
            self.next = Some(at);
            return Some(offset);
        }
        let back = |stride: isize, dim: usize| stride.wrapping_mul(dim as isize).wrapping_neg();
        at = at.wrapping_add_signed(back(self.last_stride, self.last_dim));
        self.last_left = self.last_dim;
        self.next = None;
        for axis in (0..self.dims.len()).rev() {
            self.index[axis] += 1;
            at = at.wrapping_add_signed(self.strides[axis]);
            if self.index[axis] < self.dims[axis] {
                self.next = Some(at);
                break;
            }
            at = at.wrapping_add_signed(back(self.strides[axis], self.dims[axis]));
            self.index[axis] = 0;
        }
        Some(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(layout: &Layout) -> Vec<usize> {
        let mut all = Vec::new();
        layout.for_each_offset(|at| all.push(at));
        all
    }

    #[test]
    fn slices_of_slices_compose() {
        let rows = Layout::packed(&[4, 3]);
        let even = rows.slice(0, 0, 2, 2).unwrap();
        let back = even.slice(1, 2, 3, -1).unwrap();
        assert_eq!(offsets(&back), [2, 1, 0, 8, 7, 6]);
        assert!(rows.slice(0, 3, 2, 1).is_err());
        assert!(rows.slice(0, 0, 2, -1).is_err());
        assert!(rows.slice(0, 0, 2, 0).is_err());
        assert!(rows.slice(0, 0, 2, isize::MAX).is_err());
        assert_eq!(rows.slice(0, 4, 0, 1).unwrap().len(), 0);
    }

    #[test]
    fn strides_stay_inside_the_storage() {
        let backward = Layout::strided(&[2, 3], &[3, -1], 2, 6).unwrap();
        assert_eq!(offsets(&backward), [2, 1, 0, 5, 4, 3]);
        assert_eq!(offsets(&Layout::strided(&[3], &[0], 5, 6).unwrap()), [5, 5, 5]);
        assert_eq!(Layout::strided(&[0, 3], &[isize::MAX, 1], 9, 0).unwrap().len(), 0);
        assert_eq!(offsets(&Layout::strided(&[], &[], 0, 1).unwrap()), [0]);
        for (dims, strides, start) in [
            (&[2usize, 3][..], &[3isize, -1][..], 1),
            (&[7], &[1], 0),
            (&[2], &[6], 0),
            (&[3], &[isize::MAX], 0),
            (&[3], &[isize::MIN], 5),
            (&[], &[], 6),
            (&[1], &[1, 1], 0),
        ] {
            assert!(Layout::strided(dims, strides, start, 6).is_err(), "{dims:?} {strides:?} {start}");
        }
    }

    #[test]
    fn reshape_is_a_view_when_axes_divide_exactly() {
        let t = Layout::packed(&[2, 3, 4]);
        assert!(t.reshape(&[6, 2, 2, 1]).unwrap().is_contiguous());
        let cut = t.slice(2, 0, 2, 1).unwrap();
        let view = cut.reshape(&[3, 2, 1, 2]).unwrap();
        assert_eq!(offsets(&view), offsets(&cut));
        assert!(cut.reshape(&[12]).is_none());
        assert!(cut.reshape(&[2, 6]).is_none());
        let wide = Layout::packed(&[1]).broadcast_to(&[4, 6]).unwrap();
        assert_eq!(wide.reshape(&[3, 8]).unwrap().strides.as_slice(), [0, 0]);
    }

    #[test]
    fn reversing_every_axis_collapses_to_one() {
        let t = Layout::packed(&[2, 3]);
        let reversed = t.slice(0, 1, 2, -1).unwrap().slice(1, 2, 3, -1).unwrap();
        let flat = reversed.collapse();
        assert_eq!((flat.start, &flat.dims[..], &flat.strides[..]), (5, &[6][..], &[-1][..]));
    }
}
