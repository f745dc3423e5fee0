//! Packs views: the copy that materialises slices, transposes and broadcasts.
//!
//! **Loop nest.** Rows of the view in row-major order. A transpose is cut into square blocks of the last axis
//! and the axis with the smallest stride.
//!
//! **Threads.** Each thread copies some indices of the first axis. Large results other than transposes use
//! streaming stores.

use std::cell::Cell;
use std::marker::PhantomData;

use crate::kernels::sharing;
use crate::kernels::streaming::{Elements, LARGE, RowsAhead, Stream};
use crate::kernels::vectors::{Instructions, Vectorised, dispatch_best};
use crate::layout::{Layout, Offsets};
use crate::{ElementType, Tensor, packing};

/// The block size of a transpose on both axes: source and result of a block stay in the cache.
const BLOCK: usize = 32;

/// This many elements of any type are a whole number of bytes.
const BIT_GROUP: usize = 8;

thread_local! {
    static PARTS: Cell<u64> = const { Cell::new(0) };
}

/// The bytes that this thread has packed so far from partial views of a storage, such as slices: the cost of
/// slices that are not read in place.
pub fn packed_parts() -> u64 {
    PARTS.get()
}

/// Packs the elements of a view in row-major order. Strings are copied as indices.
pub(crate) fn pack(tensor: &Tensor, packed: &mut [u8]) {
    let et = tensor.element_type();
    let walk = tensor.layout().collapse();
    let bytes = tensor.storage().bytes();
    if packed.is_empty() {
        return;
    }
    if packed.len() < bytes.len() && walk.strides.iter().all(|&stride| stride != 0) {
        PARTS.set(PARTS.get().wrapping_add(packed.len() as u64));
    }
    match et.unit_bytes() {
        Some(1) => copy::<1>(&walk, bytes, packed),
        Some(2) => copy::<2>(&walk, bytes, packed),
        Some(4) => copy::<4>(&walk, bytes, packed),
        Some(_) => copy::<8>(&walk, bytes, packed),
        None => {
            // Elements are set bit by bit, so the memory must be zero.
            packed.fill(0);
            if let ([len], [0]) = (&walk.dims[..], &walk.strides[..]) {
                return repeat_bits(et, packed, *len, packing::get(et, bytes, walk.start));
            }
            let mut next = 0;
            walk.for_each_offset(|at| {
                packing::set(et, packed, next, packing::get(et, bytes, at));
                next += 1;
            });
        }
    }
}

/// The minimum number of bytes per thread.
const SHARED: usize = 1 << 17;

/// Runs [`Copy`], on all threads for large copies.
fn copy<const N: usize>(walk: &Layout, bytes: &[u8], packed: &mut [u8]) {
    let count = walk.dims.first().copied().unwrap_or(1);
    let row = packed.len() / count;
    sharing::in_parts(packed, row, SHARED / row, |first, packed| {
        // A view without axes has one element.
        let some = walk.slice(0, first, packed.len() / row, 1);
        dispatch_best(Copy::<N> { walk: some.as_ref().unwrap_or(walk), bytes, packed });
    });
}

/// Sets the first `len` sub-byte elements of zeroed memory to the same value.
fn repeat_bits(et: ElementType, packed: &mut [u8], len: usize, value: u8) {
    let whole = len / BIT_GROUP * BIT_GROUP;
    (0..BIT_GROUP.min(len)).for_each(|index| packing::set(et, packed, index, value));
    if let Some(width) = et.stored_len(BIT_GROUP).filter(|_| whole > 0) {
        let (group, rest) = packed.split_at_mut(width);
        rest[..(whole / BIT_GROUP - 1) * width]
            .chunks_exact_mut(width)
            .for_each(|to| to.copy_from_slice(group));
    }
    (whole..len).for_each(|index| packing::set(et, packed, index, value));
}

/// Packs a view with whole-byte elements in row-major order. Each index of the axes before `axis` starts a
/// new row of `pitch` bytes.
pub(crate) fn pack_apart(tensor: &Tensor, axis: usize, out: &mut [u8], pitch: usize) {
    let (outer, inner) = tensor.layout().split(axis);
    let (outer, inner) = (outer.collapse(), inner.collapse());
    let bytes = tensor.storage().bytes();
    if tensor.is_empty() {
        return;
    }
    match tensor.element_type().unit_bytes() {
        Some(1) => dispatch_best(CopyApart::<1> { outer, inner, bytes, out, pitch }),
        Some(2) => dispatch_best(CopyApart::<2> { outer, inner, bytes, out, pitch }),
        Some(4) => dispatch_best(CopyApart::<4> { outer, inner, bytes, out, pitch }),
        _ => dispatch_best(CopyApart::<8> { outer, inner, bytes, out, pitch }),
    }
}

/// Packs one layout `inner` for each offset of `outer`: see [`pack_apart`].
struct CopyApart<'a, const N: usize> {
    outer: Layout,
    inner: Layout,
    bytes: &'a [u8],
    out: &'a mut [u8],
    pitch: usize,
}

impl<const N: usize> Vectorised for CopyApart<'_, N> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { outer, mut inner, bytes, out, pitch } = self;
        let width = inner.len() * N;
        let mut parts = out.chunks_mut(pitch);
        outer.for_each_offset(|at| {
            inner.start = at;
            if let Some(packed) = parts.next().and_then(|part| part.get_mut(..width)) {
                copy_rows::<I, N>(&inner, bytes.as_chunks().0, packed.as_chunks_mut().0, false);
            }
        });
    }
}

/// Copies the elements of `walk` (collapsed, not empty) to `packed`, in order.
///
/// Elements are byte arrays, because weights in a mapped file may be unaligned.
struct Copy<'a, const N: usize> {
    walk: &'a Layout,
    bytes: &'a [u8],
    packed: &'a mut [u8],
}

impl<const N: usize> Vectorised for Copy<'_, N> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { walk, bytes, packed } = self;
        let is_large = packed.len() >= LARGE;
        copy_rows::<I, N>(walk, bytes.as_chunks().0, packed.as_chunks_mut().0, is_large);
    }
}

/// Copies the elements of `walk` to `packed`, in order, with streaming stores if the result `is_large`.
#[inline(always)]
fn copy_rows<I: Instructions, const N: usize>(
    walk: &Layout,
    source: &[[u8; N]],
    packed: &mut [[u8; N]],
    is_large: bool,
) {
    let Some((&inner, outer)) = walk.dims.split_last() else {
        packed[0] = source[walk.start];
        return;
    };
    let last = outer.len();
    let step = walk.strides[last];
    // A transpose has an outer axis with a smaller stride than the last axis.
    let near = (0..last)
        .filter(|&axis| walk.strides[axis] != 0)
        .min_by_key(|&axis| walk.strides[axis].unsigned_abs());
    if let Some(near) = near
        && walk.strides[near].unsigned_abs() < step.unsigned_abs()
    {
        return copy_blocks::<I, N>(walk, near, source, packed);
    }
    let rows = |start| Offsets::new(outer, &walk.strides[..last], start);
    if !is_large {
        for (at, row) in rows(walk.start).zip(packed.chunks_exact_mut(inner)) {
            copy_row::<I, N>(source, at, step, row);
        }
        return;
    }
    let mut stream = Stream::new(packed);
    let lowest = walk.start.wrapping_add_signed(step.min(0) * (inner - 1) as isize);
    let mut ahead = RowsAhead::new(source, rows(lowest), inner, step.unsigned_abs());
    for start in rows(walk.start) {
        match step {
            1 => stream.copy::<I>(&source[start..start + inner], &mut ahead),
            _ => {
                // Ascending reads are prefetched best.
                let row = Row { source, start, step, instructions: PhantomData::<I> };
                stream.write::<I>(inner, step < 0, &row, &mut ahead);
            }
        }
    }
}

/// A row of elements that begins at `start`, with stride `step`.
struct Row<'a, I, const N: usize> {
    source: &'a [[u8; N]],
    start: usize,
    step: isize,
    instructions: PhantomData<I>,
}

impl<I, const N: usize> Row<'_, I, N> {
    #[inline(always)]
    fn at(&self, index: usize) -> usize {
        self.start.wrapping_add_signed(index as isize * self.step)
    }
}

impl<I: Instructions, const N: usize> Elements<N> for Row<'_, I, N> {
    #[inline(always)]
    fn get(&self, index: usize) -> [u8; N] {
        self.source[self.at(index)]
    }

    #[inline(always)]
    fn copy_to(&self, first: usize, to: &mut [[u8; N]]) {
        copy_row::<I, N>(self.source, self.at(first), self.step, to);
    }
}

/// Copies the row of elements that begins at `at`, with stride `step`.
#[inline(always)]
fn copy_row<I: Instructions, const N: usize>(
    source: &[[u8; N]],
    at: usize,
    step: isize,
    row: &mut [[u8; N]],
) {
    let Some(gaps) = row.len().checked_sub(1) else { return };
    let other = at.wrapping_add_signed(gaps as isize * step);
    // Slicing to exactly the row makes further bounds checks unnecessary.
    let stretch = &source[at.min(other)..at.max(other) + 1];
    match step {
        0 => row.fill(stretch[0]),
        1 => row.copy_from_slice(stretch),
        -1 => {
            for (to, unit) in row.iter_mut().zip(stretch.iter().rev()) {
                *to = *unit;
            }
        }
        // Copies the first element of each pair, which the compiler can vectorise. At the end of the data,
        // the last pair may be incomplete.
        2 => match source.get(at..at + 2 * row.len()) {
            Some(pairs) => copy_even::<I, N>(pairs, row),
            None => {
                row[gaps] = stretch[2 * gaps];
                copy_even::<I, N>(&stretch[..2 * gaps], &mut row[..gaps]);
            }
        },
        3.. => fill(row, stretch.iter().step_by(step.unsigned_abs())),
        _ => fill(row, stretch.iter().rev().step_by(step.unsigned_abs())),
    }
}

/// Copies the first element of each pair.
#[inline(always)]
fn copy_even<I: Instructions, const N: usize>(pairs: &[[u8; N]], row: &mut [[u8; N]]) {
    let pairs = pairs.as_chunks::<2>().0;
    if N == 4 {
        return I::copy_even(bytemuck::cast_slice(pairs), bytemuck::cast_slice_mut(row));
    }
    for (to, [unit, _]) in row.iter_mut().zip(pairs) {
        *to = *unit;
    }
}

fn fill<'a, const N: usize>(row: &mut [[u8; N]], from: impl Iterator<Item = &'a [u8; N]>) {
    for (to, &unit) in row.iter_mut().zip(from) {
        *to = unit;
    }
}

/// Transposes: cuts the last axis and `near`, the axis with the smallest stride, into blocks.
fn copy_blocks<I: Instructions, const N: usize>(
    walk: &Layout,
    near: usize,
    source: &[[u8; N]],
    packed: &mut [[u8; N]],
) {
    let last = walk.dims.len() - 1;
    let (rows, columns) = (walk.dims[near], walk.dims[last]);
    let (row_step, column_step) = (walk.strides[near], walk.strides[last]);
    // The stride of the axis `near` in `packed`.
    let row_size: usize = walk.dims[near + 1..].iter().product();

    let mut rest = walk.clone();
    rest.dims[near] = 1;
    rest.dims[last] = 1;
    let mut targets = Layout::packed(&walk.dims);
    targets.dims.clone_from(&rest.dims);
    let firsts = Offsets::new(&targets.dims, &targets.strides, targets.start);
    // Rows are complete and close together in the target, and each column is contiguous in the source, as when
    // the few channels of an image become its last axis.
    let interleaves = row_step == 1 && row_size == columns;
    for (from, to) in Offsets::new(&rest.dims, &rest.strides, rest.start).zip(firsts) {
        let column = |column: usize| {
            let at = from.wrapping_add_signed(column as isize * column_step);
            &source[at..at + rows]
        };
        match columns {
            2 if interleaves => interleave([0, 1].map(column), &mut packed[to..]),
            3 if interleaves => interleave([0, 1, 2].map(column), &mut packed[to..]),
            4 if interleaves => interleave([0, 1, 2, 3].map(column), &mut packed[to..]),
            _ => {
                for row in (0..rows).step_by(BLOCK) {
                    let row_end = (row + BLOCK).min(rows);
                    for column in (0..columns).step_by(BLOCK) {
                        let width = BLOCK.min(columns - column);
                        for r in row..row_end {
                            let first = from
                                .wrapping_add_signed(r as isize * row_step)
                                .wrapping_add_signed(column as isize * column_step);
                            let target = to + r * row_size + column;
                            copy_row::<I, N>(source, first, column_step, &mut packed[target..target + width]);
                        }
                    }
                }
            }
        }
    }
}

/// Writes the first elements of all columns, then the second ones, and so on.
fn interleave<const N: usize, const COUNT: usize>(columns: [&[[u8; N]]; COUNT], packed: &mut [[u8; N]]) {
    for (i, to) in packed.as_chunks_mut::<COUNT>().0.iter_mut().enumerate().take(columns[0].len()) {
        *to = columns.map(|column| column[i]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares every view of a small tensor with a plain loop over indices.
    fn check(view: &Tensor, all: &[i64]) {
        let mut expected = Vec::new();
        view.layout().for_each_offset(|at| expected.push(all[at]));
        assert_eq!(view.contiguous().to_i64_vec().unwrap(), expected);
    }

    #[test]
    fn any_view_of_any_width() {
        let all: Vec<i64> = (0..2 * 3 * 40).map(|i| i % 8).collect();
        let source = Tensor::from_vec(&[2, 3, 40], all.clone()).unwrap();
        for et in ["i8", "i16", "f32", "i64", "u3", "u4"] {
            let t = source.cast(et.parse().unwrap()).unwrap();
            for step in [-3, -2, -1, 1, 2, 3] {
                let start = if step < 0 { 39 } else { 0 };
                let cut = t.slice(2, start, 13, step).unwrap();
                check(&cut, &all);
                check(&cut.permute(&[2, 0, 1]).unwrap(), &all);
                check(&cut.permute(&[2, 1, 0]).unwrap(), &all);
                check(&cut.permute(&[1, 0, 2]).unwrap(), &all);
            }
            check(&t.slice(2, 1, 1, 1).unwrap().broadcast_to(&[2, 2, 3, 5]).unwrap(), &all);
        }
    }

    #[test]
    fn channels_are_interleaved() {
        for (channels, et) in (1..=5).flat_map(|channels| ["u8", "f32"].map(|et| (channels, et))) {
            let all: Vec<i64> = (0..2 * channels as i64 * 37).collect();
            let images = Tensor::from_vec(&[2, channels, 37], all.clone()).unwrap().cast(et.parse().unwrap());
            let turned = images.unwrap().permute(&[0, 2, 1]).unwrap();
            check(&turned, &all.iter().map(|x| if et == "u8" { x % 256 } else { *x }).collect::<Vec<_>>());
        }
    }

    #[test]
    fn one_number_for_all_fills_any_width() {
        for et in ["u1", "u2", "u3", "u4", "u6", "u8"] {
            for len in [1, 3, 7, 8, 9, 16, 1001] {
                let view =
                    Tensor::scalar(1u8).cast(et.parse().unwrap()).unwrap().broadcast_to(&[len]).unwrap();
                let plain =
                    Tensor::from_vec(&[len], vec![1u8; len]).unwrap().cast(et.parse().unwrap()).unwrap();
                assert_eq!(view.contiguous().to_bytes(), plain.to_bytes(), "{len} of {et}");
            }
        }
    }

    #[test]
    fn a_large_transpose_goes_in_blocks() {
        let all: Vec<i64> = (0..70 * 90).collect();
        let t = Tensor::from_vec(&[70, 90], all.clone()).unwrap();
        check(&t.transposed(), &all);
        let scalar = Tensor::scalar(3u8).contiguous();
        assert_eq!(scalar.element_type(), ElementType::U8);
    }

    #[test]
    fn a_large_view_is_streamed() {
        let columns = LARGE / 3 + 5;
        let all: Vec<u8> = (0..6 * columns).map(|i| (i % 251) as u8).collect();
        let t = Tensor::from_vec(&[3, 2 * columns], all.clone()).unwrap();
        for (start, step) in [(0, 2), (2 * columns - 1, -1), (columns - 1, 1), (2 * columns - 1, -2)] {
            let view = t.slice(1, start, columns, step).unwrap();
            assert!(view.len() >= LARGE);
            let packed = view.contiguous();
            let units = packed.units::<u8>();
            let mut found = units.iter();
            view.layout().for_each_offset(|at| assert_eq!(found.next(), Some(&all[at])));
        }
    }
}
