//! Iterates over several tensors together, with numpy broadcasting.

use std::borrow::Cow;

use bytemuck::Pod;

use crate::layout::{Layout, Offsets, Strides};
use crate::{Dims, Tensor, TensorError};

/// The dims that two shapes broadcast to: axes are aligned at the right, size 1 broadcasts, a missing axis
/// has size 1.
///
/// # Errors
/// [`TensorError::ShapeMismatch`].
pub fn broadcast_dims(a: &[usize], b: &[usize]) -> Result<Dims, TensorError> {
    let rank = a.len().max(b.len());
    let at = |dims: &[usize], i: usize| (i + dims.len()).checked_sub(rank).map_or(1, |i| dims[i]);
    (0..rank)
        .map(|i| match (at(a, i), at(b, i)) {
            (x, y) if x == y => Ok(x),
            (1, y) => Ok(y),
            (x, 1) => Ok(x),
            _ => Err(TensorError::mismatch("cannot broadcast {} with {}", a, b)),
        })
        .collect()
}

/// The elements of a tensor and the layout in which to read them. Unaligned elements are copied.
pub(crate) struct Strided<'a, T: Pod> {
    pub data: Cow<'a, [T]>,
    pub layout: Layout,
}

impl<'a, T: Pod> Strided<'a, T> {
    /// The elements of `tensor`, whose type has the size of `T`.
    pub fn new(tensor: &'a Tensor) -> Self {
        let bytes = tensor.storage().bytes();
        let whole = &bytes[..bytes.len() - bytes.len() % size_of::<T>()];
        match bytemuck::try_cast_slice(whole) {
            Ok(data) => Strided { data: Cow::Borrowed(data), layout: tensor.layout().clone() },
            Err(_) => Strided { data: tensor.units(), layout: Layout::packed(tensor.dims()) },
        }
    }

    /// The elements, broadcast to `dims`.
    pub fn broadcast(tensor: &'a Tensor, dims: &[usize]) -> Result<Self, TensorError> {
        let own = Self::new(tensor);
        Ok(Strided { layout: own.layout.broadcast_to(dims)?, ..own })
    }

    /// The elements, broadcast to `dims`, with axes merged into as few as possible.
    pub fn collapsed(tensor: &'a Tensor, dims: &[usize]) -> Result<Self, TensorError> {
        let packed = tensor.packed_bytes().and_then(|bytes| bytemuck::try_cast_slice(bytes).ok());
        if let Some(data) = packed.filter(|_| tensor.dims() == dims) {
            return Ok(Strided { data: Cow::Borrowed(data), layout: Layout::packed(&[data.len()]) });
        }
        let own = Self::broadcast(tensor, dims)?;
        Ok(Strided { layout: own.layout.collapse(), ..own })
    }

    /// The run that starts at element `at`, with stride `step`.
    pub fn run(&self, at: usize, step: isize) -> Run<'_, T> {
        Run { data: &self.data, at, step }
    }
}

/// Visits the elements of a view in row-major order, one block at a time. Contiguous elements are visited in
/// place; others are gathered into blocks that stay in the cache.
pub(crate) fn for_each_block<T: Pod>(view: &Strided<T>, mut visit: impl FnMut(&[T])) {
    const BLOCK: usize = 256;
    let (start, len) = (view.layout.start, view.layout.len());
    if view.layout.is_contiguous() {
        return visit(if len == 0 { &[] } else { &view.data[start..start + len] });
    }
    let mut block = [T::zeroed(); BLOCK];
    let mut filled = 0;
    for_each_run([&view.layout], |[start], [step], len| {
        let run = view.run(start, step);
        if let Some(neighbours) = run.slice(len).filter(|run| filled == 0 && run.len() >= BLOCK) {
            return visit(neighbours);
        }
        for i in 0..len {
            block[filled] = run.get(i);
            filled += 1;
            if filled == BLOCK {
                visit(&block);
                filled = 0;
            }
        }
    });
    visit(&block[..filled]);
}

/// Fills `to` from the start of a run. Short runs are copied inline, as two possibly overlapping pieces.
#[inline(always)]
pub(crate) fn copy_run<T: Copy>(to: &mut [T], from: &[T]) {
    #[inline(always)]
    fn pieces<T: Copy, const LEN: usize>(to: &mut [T], from: &[T]) {
        if let (Some(to), Some(from)) = (to.first_chunk_mut::<LEN>(), from.first_chunk()) {
            *to = *from;
        }
        if let (Some(to), Some(from)) = (to.last_chunk_mut::<LEN>(), from.last_chunk()) {
            *to = *from;
        }
    }
    match to.len() {
        0 => {}
        1 => pieces::<T, 1>(to, from),
        2..=3 => pieces::<T, 2>(to, from),
        4..=7 => pieces::<T, 4>(to, from),
        8..=15 => pieces::<T, 8>(to, from),
        16..=32 => pieces::<T, 16>(to, from),
        _ => to.copy_from_slice(from),
    }
}

/// Fills `to` with every `step`-th element.
#[inline(never)]
fn copy_apart<T: Copy>(from: &[T], step: usize, to: &mut [T]) {
    if step > 2 {
        to.iter_mut().zip(from.iter().step_by(step)).for_each(|(to, &x)| *to = x);
        return;
    }
    // Copies in pairs, which the compiler deinterleaves with vector instructions.
    let pairs = from.as_chunks::<2>().0;
    to.iter_mut().zip(pairs).for_each(|(to, pair)| *to = pair[0]);
    // The last element of the data may have no pair.
    if let (Some(&last), Some(to)) = (from.last(), to.get_mut(pairs.len())) {
        *to = last;
    }
}

/// A run of elements with a constant stride.
#[derive(Copy, Clone)]
pub(crate) struct Run<'a, T> {
    pub data: &'a [T],
    /// The position of the first element.
    pub at: usize,
    pub step: isize,
}

impl<'a, T: Copy> Run<'a, T> {
    /// Every `stride`-th element from element `first` on.
    pub fn every(self, stride: usize, first: usize) -> Self {
        let at = self.at.wrapping_add_signed(first as isize * self.step);
        Run { at, step: self.step * stride as isize, ..self }
    }

    /// Fills `to` with the first elements.
    #[inline(always)]
    pub fn copy_to(&self, to: &mut [T]) {
        match self.step {
            _ if to.is_empty() => {}
            0 => to.fill(self.data[self.at]),
            1 => copy_run(to, &self.data[self.at..self.at + to.len()]),
            2.. => copy_apart(&self.data[self.at..], self.step.unsigned_abs(), to),
            _ => to.iter_mut().enumerate().for_each(|(i, to)| *to = self.get(i)),
        }
    }

    /// The first `len` elements, if they are contiguous.
    pub fn slice(&self, len: usize) -> Option<&'a [T]> {
        (self.step == 1).then(|| &self.data[self.at..self.at + len])
    }

    /// The element, if the stride is 0.
    pub fn constant(&self) -> Option<T> {
        (self.step == 0).then(|| self.data[self.at])
    }

    pub fn get(&self, i: usize) -> T {
        self.data[self.at.wrapping_add_signed(i as isize * self.step)]
    }
}

/// Merges the axes of layouts with the same non-zero dims into as few as possible. Returns the merged sizes
/// and appends each layout's strides to its entry.
fn merge(layouts: &[&Layout], strides: &mut [Strides]) -> Dims {
    let mut dims = Dims::new();
    let Some(first) = layouts.first() else { return dims };
    for (axis, &dim) in first.dims.iter().enumerate() {
        if dim == 1 {
            continue;
        }
        let mut both = strides.iter().zip(layouts);
        // Axes merge only if they merge in every layout.
        let merges = both.all(|(s, layout)| s.last() == Some(&(layout.strides[axis] * dim as isize)));
        match dims.last_mut() {
            Some(outer) if merges => {
                *outer *= dim;
                strides.iter_mut().for_each(|s| s.truncate(s.len() - 1));
            }
            _ => dims.push(dim),
        }
        for (s, layout) in strides.iter_mut().zip(layouts) {
            s.push(layout.strides[axis]);
        }
    }
    dims
}

/// Iterates over layouts with the same dims together, in row-major order. Calls `visit(starts, steps, len)`
/// for each of the longest possible runs in which every layout has a constant stride.
pub(crate) fn for_each_run<const N: usize>(
    layouts: [&Layout; N],
    mut visit: impl FnMut([usize; N], [isize; N], usize),
) {
    if layouts[0].len() == 0 {
        return;
    }
    let mut strides: [Strides; N] = std::array::from_fn(|_| Strides::new());
    let mut dims = merge(&layouts, &mut strides);
    let len = dims.pop().unwrap_or(1);
    let steps = std::array::from_fn(|n| strides[n].pop().unwrap_or(0));
    let mut offsets: [Offsets; N] =
        std::array::from_fn(|n| Offsets::new(&dims, &strides[n], layouts[n].start));
    let runs = if dims.contains(&0) { 0 } else { dims.iter().product() };
    for _ in 0..runs {
        let starts = offsets.each_mut().map(|offsets| offsets.next().unwrap_or_default());
        visit(starts, steps, len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_runs_are_copied_whole() {
        for len in 0..40 {
            let from: Vec<u32> = (0..len).collect();
            let mut to = vec![99; from.len()];
            copy_run(&mut to, &from);
            assert_eq!(to, from);
        }
    }

    #[test]
    fn runs_of_any_step_are_copied() {
        let data: Vec<i32> = (0..40).collect();
        for step in [-3, -1, 0, 1, 2, 3] {
            let at = if step < 0 { 39 } else { 0 };
            // The longest run in the data: with step 2, the last element may lack a neighbour.
            for data in [&data[..], &data[..39]] {
                let run = Run { data, at: at.min(data.len() - 1), step };
                let most = if step == 0 { 9 } else { data.len().div_ceil(step.unsigned_abs()) };
                for len in [0, 1, most - 1, most] {
                    let mut to = vec![-1; len];
                    run.copy_to(&mut to);
                    let expected: Vec<i32> = (0..len).map(|i| run.get(i)).collect();
                    assert_eq!(to, expected, "{step} {len}");
                }
            }
        }
    }

    #[test]
    fn dims_align_at_the_right() {
        assert_eq!(broadcast_dims(&[2, 1, 3], &[4, 1]).unwrap()[..], [2, 4, 3]);
        assert_eq!(broadcast_dims(&[], &[0, 1]).unwrap()[..], [0, 1]);
        assert!(broadcast_dims(&[2], &[3]).is_err());
    }

    #[test]
    fn blocks_are_all_elements_in_order() {
        let all = Tensor::from_vec(&[3, 4, 300], (0..3600i32).collect()).unwrap();
        let cut = all.slice(1, 0, 2, 2).unwrap();
        for view in [&all, &cut, &cut.slice(2, 299, 100, -2).unwrap(), &cut.slice(2, 1, 299, 1).unwrap()] {
            let mut seen = Vec::new();
            for_each_block(&Strided::<i32>::new(view), |block| seen.extend_from_slice(block));
            assert_eq!(seen, view.values::<i32>().unwrap()[..]);
        }
    }

    #[test]
    fn runs_merge_as_far_as_all_allow() {
        let full = Layout::packed(&[2, 3, 4]);
        let row = Layout::packed(&[4]).broadcast_to(&[2, 3, 4]).unwrap();
        let mut runs = Vec::new();
        for_each_run([&full, &row], |starts, steps, len| runs.push((starts, steps, len)));
        assert_eq!(runs.len(), 6);
        assert_eq!(runs[5], ([20, 0], [1, 1], 4));
        let mut runs = 0;
        for_each_run([&full, &full], |_, _, len| runs += len);
        assert_eq!(runs, 24);
    }
}
