//! Pooling over two axes, one axis at a time: a maximum or sum is separable.
//!
//! **Source.** The pooling kernels of XNNPACK, for adding whole lines.
//!
//! **Loop nest**, outer to inner: plane; block of rows of windows. Per block, columns (row; tap in height;
//! column), then windows (tap in width; window).
//!
//! **Layout.** Planes are contiguous `[plane, height, width]`. An element is an `f32` or the quantised codes
//! of four channels. The columns of a block stay in the L1 cache.
//!
//! **Threads.** Each thread computes some planes.

use crate::kernels::extremum::greatest;
use crate::kernels::gemm::Factor;
use crate::kernels::sharing;
use crate::kernels::vectors::{I8x4Dot, Instructions, Isa, Vectorised};
use crate::kernels::window::WindowAxis;

/// A reduction of windows of four-byte elements.
pub(super) trait Reduction<T> {
    /// The result for no elements.
    const START: T;

    /// Combines each element with its counterpart in `from`.
    fn combine(elements: &mut [T], from: &[T]);
}

/// The maximum.
#[derive(Copy, Clone)]
pub(super) struct Maximum;

impl Reduction<f32> for Maximum {
    const START: f32 = f32::NEG_INFINITY;

    #[inline(always)]
    fn combine(elements: &mut [f32], from: &[f32]) {
        each(elements, from, |element, other| greatest(other, element));
    }
}

/// The quantised codes of four channels.
impl Reduction<I8x4Dot> for Maximum {
    const START: I8x4Dot = I8x4Dot(0);

    #[inline(always)]
    fn combine(elements: &mut [I8x4Dot], from: &[I8x4Dot]) {
        let (elements, from) = (bytemuck::cast_slice_mut(elements), bytemuck::cast_slice(from));
        each(elements, from, |element: u8, other| element.max(other));
    }
}

/// The sum.
#[derive(Copy, Clone)]
pub(super) struct Sum;

impl Reduction<f32> for Sum {
    const START: f32 = 0.0;

    #[inline(always)]
    fn combine(elements: &mut [f32], from: &[f32]) {
        each(elements, from, |sum, other| sum + other);
    }
}

/// Replaces each element by `f` of it and its counterpart.
#[inline(always)]
fn each<T: Copy>(elements: &mut [T], from: &[T], f: impl Fn(T, T) -> T) {
    elements.iter_mut().zip(from).for_each(|(element, &other)| *element = f(*element, other));
}

/// The number of column results computed together: 8 KiB, which stay in an L1 cache of 32 KiB or more.
const BLOCK: usize = 1 << 11;

/// Windows over consecutive planes.
pub(super) struct Separable<'a, T, R> {
    pub axes: [WindowAxis; 2],
    /// The number of windows on both axes.
    pub out: [usize; 2],
    pub planes: &'a [T],
    pub results: &'a mut [T],
    pub reduction: R,
}

impl<T: Factor, R: Reduction<T> + Copy + Sync> Separable<'_, T, R> {
    pub fn compute(self) {
        let Separable { axes, out, planes, results, reduction } = self;
        let area = axes[0].size.saturating_mul(axes[1].size);
        let windows = out[0].saturating_mul(out[1]);
        sharing::in_parts(results, windows, sharing::ELEMENTS / area.max(1), |first, results| {
            let planes = planes.get(first * area..).unwrap_or_default();
            T::dispatch_on(Isa::best(), Separable { axes, out, planes, results, reduction });
        });
    }
}

impl<T: Factor, R: Reduction<T>> Vectorised for Separable<'_, T, R> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { axes: [rows, columns], out: [height, width], planes, results, .. } = self;
        if planes.is_empty() || results.is_empty() {
            return;
        }
        let (area, windows, stride) = (rows.size * columns.size, height * width, columns.stride);
        let taps: Vec<_> = (0..columns.kernel).filter_map(|tap| columns.outputs_inside(tap, width)).collect();
        // If each window reads only its own `stride` columns, rows of columns need only `width * stride`
        // columns. They are then stored without gaps, and each tap is one pass over the block.
        let row_len = width.saturating_mul(stride);
        let are_disjoint = row_len <= columns.size
            && taps.iter().all(|(windows, first)| *windows == (0..width) && *first < stride);
        let (row_len, block) = match are_disjoint {
            true => (row_len, (BLOCK / row_len).clamp(1, height)),
            false => (columns.size, 1),
        };
        // One extra element, so that a stride of 2 reads whole pairs.
        let mut partial = vec![R::START; block * row_len + 1];
        let mut strided = vec![R::START; block * width];
        for (plane, results) in planes.chunks_exact(area).zip(results.chunks_exact_mut(windows)) {
            for (first, results) in (0..height).step_by(block).zip(results.chunks_mut(block * width)) {
                for (y, partial) in (first..height).zip(partial.chunks_exact_mut(row_len)) {
                    partial.fill(R::START);
                    for row in (0..rows.kernel).filter_map(|tap| rows.inside(y, tap)) {
                        R::combine(partial, &plane[row * columns.size..][..columns.size]);
                    }
                }
                let other_rows = results.len() - width;
                results.fill(R::START);
                for (windows, first) in &taps {
                    let windows = windows.start..windows.end + other_rows;
                    let (from, strided) = (&partial[*first..], &mut strided[..windows.len()]);
                    let from = match stride {
                        1 => from,
                        2 => {
                            let pairs = bytemuck::cast_slice(&from[..2 * strided.len()]);
                            I::copy_even(pairs, bytemuck::cast_slice_mut(strided));
                            strided
                        }
                        _ => {
                            strided.iter_mut().zip(from.iter().step_by(stride)).for_each(|(to, &x)| *to = x);
                            strided
                        }
                    };
                    R::combine(&mut results[windows], from);
                }
            }
        }
    }
}
