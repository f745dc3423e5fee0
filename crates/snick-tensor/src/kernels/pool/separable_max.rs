//! Maximum pooling over two axes, one axis at a time: a maximum is separable.
//!
//! **Loop nest**, outer to inner: plane; block of rows of windows. Per block, column maxima (row; tap in
//! height; column), then maxima of windows (tap in width; window).
//!
//! **Layout.** Planes are contiguous `[plane, height, width]`. An element is an `f32` or the quantised codes
//! of four channels. The column maxima of a block stay in the L1 cache.
//!
//! **Threads.** Each thread computes some planes.

use crate::kernels::extremum::greatest;
use crate::kernels::gemm::Factor;
use crate::kernels::sharing;
use crate::kernels::vectors::{I8x4Dot, Instructions, Isa, Vectorised};
use crate::kernels::window::WindowAxis;

/// A four-byte element type with a maximum.
pub(super) trait Maximum: Factor {
    /// The maximum of no elements.
    const LOWEST: Self;

    /// Replaces each element with the maximum of the element and its counterpart in `from`.
    fn raise(elements: &mut [Self], from: &[Self]);
}

impl Maximum for f32 {
    const LOWEST: f32 = f32::NEG_INFINITY;

    #[inline(always)]
    fn raise(elements: &mut [f32], from: &[f32]) {
        for (element, &other) in elements.iter_mut().zip(from) {
            *element = greatest(other, *element);
        }
    }
}

/// The quantised codes of four channels.
impl Maximum for I8x4Dot {
    const LOWEST: I8x4Dot = I8x4Dot(0);

    #[inline(always)]
    fn raise(elements: &mut [I8x4Dot], from: &[I8x4Dot]) {
        let (elements, from): (&mut [u8], &[u8]) =
            (bytemuck::cast_slice_mut(elements), bytemuck::cast_slice(from));
        for (element, &other) in elements.iter_mut().zip(from) {
            *element = (*element).max(other);
        }
    }
}

/// The number of column maxima computed together: 8 KiB, which stay in an L1 cache of 32 KiB or more.
const BLOCK: usize = 1 << 11;

/// Windows over consecutive planes.
pub(super) struct SeparableMax<'a, T> {
    pub axes: [WindowAxis; 2],
    /// The number of windows on both axes.
    pub out: [usize; 2],
    pub planes: &'a [T],
    pub results: &'a mut [T],
}

impl<T: Maximum> SeparableMax<'_, T> {
    pub fn compute(self) {
        let SeparableMax { axes, out, planes, results } = self;
        let area = axes[0].size.saturating_mul(axes[1].size);
        let windows = out[0].saturating_mul(out[1]);
        sharing::in_parts(results, windows, sharing::ELEMENTS / area.max(1), |first, results| {
            let planes = planes.get(first * area..).unwrap_or_default();
            T::dispatch_on(Isa::best(), SeparableMax { axes, out, planes, results });
        });
    }
}

impl<T: Maximum> Vectorised for SeparableMax<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { axes: [rows, columns], out: [height, width], planes, results } = self;
        let (area, windows, stride) = (rows.size * columns.size, height * width, columns.stride);
        if area == 0 || windows == 0 {
            return;
        }
        let taps: Vec<_> = (0..columns.kernel).filter_map(|tap| columns.outputs_inside(tap, width)).collect();
        // If each window reads only its own `stride` columns, rows of maxima need only `width * stride`
        // columns. They are then stored without gaps, and each tap is one pass over the block.
        let row_len = width.saturating_mul(stride);
        let are_disjoint = row_len <= columns.size
            && taps.iter().all(|(windows, first)| *windows == (0..width) && *first < stride);
        let (row_len, block) = match are_disjoint {
            true => (row_len, (BLOCK / row_len).clamp(1, height)),
            false => (columns.size, 1),
        };
        // One extra element, so that a stride of 2 reads whole pairs.
        let mut maxima = vec![T::LOWEST; block * row_len + 1];
        let mut strided = vec![T::LOWEST; block * width];
        for (plane, results) in planes.chunks_exact(area).zip(results.chunks_exact_mut(windows)) {
            for (first, results) in (0..height).step_by(block).zip(results.chunks_mut(block * width)) {
                for (y, maxima) in (first..height).zip(maxima.chunks_exact_mut(row_len)) {
                    maxima.fill(T::LOWEST);
                    for row in (0..rows.kernel).filter_map(|tap| rows.inside(y, tap)) {
                        T::raise(maxima, &plane[row * columns.size..][..columns.size]);
                    }
                }
                let other_rows = results.len() - width;
                results.fill(T::LOWEST);
                for (windows, first) in &taps {
                    let windows = windows.start..windows.end + other_rows;
                    let (from, strided) = (&maxima[*first..], &mut strided[..windows.len()]);
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
                    T::raise(&mut results[windows], from);
                }
            }
        }
    }
}
