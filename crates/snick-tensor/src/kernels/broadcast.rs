//! Walks several tensors together by numpy's broadcasting rule.

use std::borrow::Cow;

use bytemuck::Pod;
use smallvec::SmallVec;

use crate::buffer::Buffer;
use crate::kernels::vectors::{Instructions, Number, Vectorised};
use crate::layout::{Layout, Offsets, Strides};
use crate::tensor::stored_bytes;
use crate::{Dims, ElementType, Tensor, TensorError};

/// The dims that two broadcast to: aligned at the right, 1 broadcasts, a missing axis is 1.
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

/// Elements and the layout to walk them. Unaligned elements are packed first.
pub(crate) struct Strided<'a, T: Pod> {
    pub data: Cow<'a, [T]>,
    pub layout: Layout,
}

impl<'a, T: Pod> Strided<'a, T> {
    /// The elements of `tensor`, whose type has the width of `T`.
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

    /// `len` elements from `at` on, `step` apart.
    pub fn run(&self, at: usize, step: isize) -> Run<'_, T> {
        Run { data: &self.data, at, step }
    }
}

/// Visits the elements of a view in row-major order, a block at a time: contiguous ones in place, others gathered in
/// blocks that stay in the cache.
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

/// Copies a run as long as `to`; a short one without a call, as two pieces that may overlap.
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
        8..=16 => pieces::<T, 8>(to, from),
        _ => to.copy_from_slice(from),
    }
}

/// A run of elements of constant stride.
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

    /// Copies the first elements, as many as `to` holds.
    #[inline(always)]
    pub fn copy_to(&self, to: &mut [T]) {
        match self.step {
            _ if to.is_empty() => {}
            1 => copy_run(to, &self.data[self.at..self.at + to.len()]),
            2.. => {
                let from = self.data[self.at..].iter().step_by(self.step.unsigned_abs());
                to.iter_mut().zip(from).for_each(|(to, &x)| *to = x);
            }
            _ => to.iter_mut().enumerate().for_each(|(i, to)| *to = self.get(i)),
        }
    }

    /// The first `len` elements, if they are contiguous.
    pub fn slice(&self, len: usize) -> Option<&'a [T]> {
        (self.step == 1).then(|| &self.data[self.at..self.at + len])
    }

    /// The first `len` elements: in place if they are contiguous, otherwise copied to `copies`.
    pub fn slice_or<'c>(&self, len: usize, copies: &'c mut [T]) -> &'c [T]
    where
        'a: 'c,
    {
        if let Some(slice) = self.slice(len) {
            return slice;
        }
        let copies = &mut copies[..len];
        match self.constant() {
            Some(x) => copies.fill(x),
            None => self.copy_to(copies),
        }
        copies
    }

    /// The element, if it repeats.
    pub fn constant(&self) -> Option<T> {
        (self.step == 0).then(|| self.data[self.at])
    }

    pub fn get(&self, i: usize) -> T {
        self.data[self.at.wrapping_add_signed(i as isize * self.step)]
    }
}

/// Merges the axes of layouts of equal dims, none of them 0, into the fewest axes: returns their sizes, and appends the
/// strides of each layout to its entry.
pub(crate) fn merge(layouts: &[&Layout], strides: &mut [Strides]) -> Dims {
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

/// Walks layouts of equal dims together, in row-major order, in the longest runs of constant strides: `visit(starts,
/// steps, len)`.
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

/// The element of a scalar; arithmetic on sizes has many.
fn scalar<T: Pod>(tensor: &Tensor) -> Option<T> {
    bytemuck::try_pod_read_unaligned(tensor.packed_bytes()?).ok()
}

/// All elements of a tensor as one run over `dims`, if possible: packed in its own dims, or one that repeats.
fn whole<'a, T: Pod>(tensor: &'a Tensor, dims: &[usize]) -> Option<Run<'a, T>> {
    let data: &[T] = bytemuck::try_cast_slice(tensor.packed_bytes()?).ok()?;
    match data {
        _ if tensor.dims() == dims => Some(Run { data, at: 0, step: 1 }),
        [_] => Some(Run { data, at: 0, step: 0 }),
        _ => None,
    }
}

/// `f` of every pair of elements, broadcast, as a tensor of type `et`.
pub(crate) fn zip<A: Number, R: Pod + Send + Sync>(
    et: ElementType,
    a: &Tensor,
    b: &Tensor,
    f: impl Fn(A, A) -> R,
) -> Result<Tensor, TensorError> {
    fill_rows(et, a, b, &mut |rows, to| A::vectorised(Zip { rows, to, f: &f }))
}

/// A tensor of type `et` whose elements `fill` computes from the rows of two others, broadcast. Nothing in here depends
/// on the function of a [`zip`], so that it is compiled once for many.
fn fill_rows<A: Number, R: Pod + Send + Sync>(
    et: ElementType,
    a: &Tensor,
    b: &Tensor,
    fill: &mut dyn FnMut(Rows<A>, &mut [R]),
) -> Result<Tensor, TensorError> {
    if let ([], [], Some(x), Some(y)) = (a.dims(), b.dims(), scalar(a), scalar(b)) {
        let (x, y) = (Run { data: &[x], at: 0, step: 0 }, Run { data: &[y], at: 0, step: 0 });
        let mut out = Buffer::any(1)?;
        fill(Rows { x, y, outer: None, len: 1 }, &mut out);
        return Tensor::from_buffer(et, &[], out);
    }
    let dims = match a.dims() == b.dims() {
        true => Dims::from_slice(a.dims()),
        false => broadcast_dims(a.dims(), b.dims())?,
    };
    stored_bytes(et, &dims)?;
    // Without elements, the other sizes may overflow.
    let count = if dims.contains(&0) { 0 } else { dims.iter().product() };
    let mut out = Buffer::<R>::any(count)?;
    if count == 0 {
        return Tensor::from_buffer(et, &dims, out);
    }
    if let (Some(x), Some(y)) = (whole(a, &dims), whole(b, &dims)) {
        let len = out.len();
        fill(Rows { x, y, outer: None, len }, &mut out);
        return Tensor::from_buffer(et, &dims, out);
    }
    let (a, b) = (in_rows(a)?, in_rows(b)?);
    let (x, y) = (Strided::<A>::broadcast(&a, &dims)?, Strided::<A>::broadcast(&b, &dims)?);
    let mut strides = [Strides::new(), Strides::new()];
    let mut merged = merge(&[&x.layout, &y.layout], &mut strides);
    fill(Rows::new(&x, &y, &mut merged, &mut strides), &mut out);
    Tensor::from_buffer(et, &dims, out)
}

/// The tensor with neighbours in its last axis, so that each row of it is contiguous, or one element that repeats.
fn in_rows(tensor: &Tensor) -> Result<Cow<'_, Tensor>, TensorError> {
    let layout = tensor.layout();
    let mut axes = layout.dims.iter().zip(&layout.strides).rev();
    match axes.find(|&(&dim, _)| dim != 1) {
        Some((_, stride)) if !matches!(stride, 0 | 1) => Ok(Cow::Owned(tensor.try_contiguous()?)),
        _ => Ok(Cow::Borrowed(tensor)),
    }
}

/// The rows of two inputs that are walked together: each is contiguous, or one element that repeats.
struct Rows<'a, A> {
    /// The first row of each input.
    x: Run<'a, A>,
    y: Run<'a, A>,
    /// Where the further rows begin.
    outer: Option<[Offsets<'a>; 2]>,
    /// The number of elements, not 0.
    len: usize,
}

impl<'a, A: Pod> Rows<'a, A> {
    /// The rows of two inputs of the same dims; `dims` and `strides` are theirs, merged as far as both allow.
    fn new(x: &'a Strided<A>, y: &'a Strided<A>, dims: &'a mut Dims, strides: &'a mut [Strides; 2]) -> Self {
        let len = dims.pop().unwrap_or(1);
        let [p, q] = strides;
        let steps = (p.pop().unwrap_or(0), q.pop().unwrap_or(0));
        let mut outer = [Offsets::new(dims, p, x.layout.start), Offsets::new(dims, q, y.layout.start)];
        let [i, j] = outer.each_mut().map(|offsets| offsets.next().unwrap_or_default());
        Rows { x: x.run(i, steps.0), y: y.run(j, steps.1), outer: Some(outer), len }
    }
}

/// How many copies of an element that repeats lie side by side: as many as fit into the innermost cache.
const COPIES: usize = 1024;

/// One input of a [`Zip`]. Rows that repeat an element are read from copies of it, so that one loop serves all rows.
struct Operand<'a, A: Copy> {
    row: Run<'a, A>,
    copies: SmallVec<[A; COPIES]>,
    /// Which element the copies are of.
    copied: usize,
}

impl<'a, A: Copy> Operand<'a, A> {
    fn new(row: Run<'a, A>) -> Self {
        Operand { row, copies: SmallVec::new(), copied: usize::MAX }
    }

    fn repeats(&self) -> bool {
        self.row.step == 0
    }

    /// Goes on with the row of `len` elements at `at`.
    fn start_row(&mut self, at: usize, len: usize) {
        self.row.at = at;
        if self.repeats() && self.copied != at {
            self.copies.clear();
            self.copies.resize(len.min(COPIES), self.row.data[at]);
            self.copied = at;
        }
    }

    /// `len` elements of the row, from element `first` on.
    fn piece(&self, first: usize, len: usize) -> &[A] {
        match self.repeats() {
            true => &self.copies[..len],
            false => &self.row.data[self.row.at + first..][..len],
        }
    }
}

/// A function of two elements, on all rows.
struct Zip<'a, A, R, F> {
    rows: Rows<'a, A>,
    to: &'a mut [R],
    f: &'a F,
}

impl<A: Copy, R, F: Fn(A, A) -> R> Vectorised for Zip<'_, A, R, F> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { rows: Rows { x, y, mut outer, len }, to, f } = self;
        let (mut starts, mut x, mut y) = ((x.at, y.at), Operand::new(x), Operand::new(y));
        let most = if x.repeats() || y.repeats() { COPIES } else { len };
        for row in to.chunks_exact_mut(len) {
            x.start_row(starts.0, len);
            y.start_row(starts.1, len);
            for (n, to) in row.chunks_mut(most).enumerate() {
                let (x, y) = (x.piece(n * most, to.len()), y.piece(n * most, to.len()));
                for ((to, &x), &y) in to.iter_mut().zip(x).zip(y) {
                    *to = f(x, y);
                }
            }
            if let Some([i, j]) = &mut outer {
                starts = (i.next().unwrap_or_default(), j.next().unwrap_or_default());
            }
        }
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
    fn pairs_are_the_same_however_the_operands_lie() {
        let tensor = |dims: &[usize]| {
            let len = dims.iter().product::<usize>();
            Tensor::from_vec(dims, (0..len).map(|i| (i * 37 % 101) as f32 - 50.0).collect()).unwrap()
        };
        let subtract = |a: &Tensor, b: &Tensor| zip(ElementType::F32, a, b, |x: f32, y: f32| x - y).unwrap();
        // The last axis is longer than the copies of an element.
        let full = tensor(&[2, 3, COPIES + 9]);
        let turned = tensor(&[COPIES + 9, 3, 2]).permute(&[2, 1, 0]).unwrap();
        let backwards = full.slice(2, COPIES + 8, COPIES + 9, -1).unwrap();
        let others =
            [tensor(&[3, 1]), tensor(&[COPIES + 9]), tensor(&[2, 1, 1]), tensor(&[]), tensor(&[1, 1])];
        for a in [&full, &turned, &backwards] {
            for b in others.iter().chain([&full, &turned, &backwards]) {
                let (a_alone, b_alone) = (a.contiguous(), b.contiguous());
                let expected: Vec<f32> = {
                    let [a, b] =
                        [&a_alone, &b_alone].map(|t| Strided::<f32>::broadcast(t, full.dims()).unwrap());
                    let mut all = Vec::new();
                    for_each_run([&a.layout, &b.layout], |[i, j], [p, q], len| {
                        let (x, y) = (a.run(i, p), b.run(j, q));
                        all.extend((0..len).map(|n| x.get(n) - y.get(n)));
                    });
                    all
                };
                assert_eq!(
                    subtract(a, b).to_f32_vec().unwrap(),
                    expected,
                    "{:?} {:?}",
                    a.layout(),
                    b.layout()
                );
                let swapped: Vec<f32> = expected.iter().map(|x| -x).collect();
                assert_eq!(
                    subtract(b, a).to_f32_vec().unwrap(),
                    swapped,
                    "{:?} {:?}",
                    b.layout(),
                    a.layout()
                );
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
