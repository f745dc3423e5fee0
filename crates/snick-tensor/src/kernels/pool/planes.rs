//! The greatest elements of windows over two axes: those of each column of a row of windows, and then of these.

use bytemuck::Pod;

use crate::kernels::extremum::greatest;
use crate::kernels::quantizer::CHANNELS;
use crate::kernels::sharing;
use crate::kernels::vectors::{Instructions, Vectorised};
use crate::kernels::window::WindowAxis;

/// Elements of four bytes that are compared.
pub(super) trait Greatest: Pod + Sync {
    /// The greatest of none.
    const NONE: Self;

    /// Replaces elements by those of `from` that are greater.
    fn greatest(elements: &mut [Self], from: &[Self]);
}

impl Greatest for f32 {
    const NONE: f32 = f32::NEG_INFINITY;

    #[inline(always)]
    fn greatest(elements: &mut [f32], from: &[f32]) {
        for (element, &other) in elements.iter_mut().zip(from) {
            *element = greatest(other, *element);
        }
    }
}

/// The levels of four channels at one position.
pub(super) type Four = [u8; CHANNELS];

impl Greatest for Four {
    const NONE: Four = [0; CHANNELS];

    #[inline(always)]
    fn greatest(elements: &mut [Four], from: &[Four]) {
        for (element, &other) in elements.as_flattened_mut().iter_mut().zip(from.as_flattened()) {
            *element = (*element).max(other);
        }
    }
}

/// So many elements of rows of windows are computed together: they stay in the innermost cache.
const CACHED: usize = 1 << 11;

/// Windows over planes that follow each other.
pub(super) struct Planes<'a, T> {
    pub axes: [WindowAxis; 2],
    /// The number of windows on both axes.
    pub out: [usize; 2],
    pub planes: &'a [T],
    pub results: &'a mut [T],
}

impl<T: Greatest> Planes<'_, T> {
    /// Gives `run` all planes, or some at a time on several threads.
    pub fn share_out(self, run: impl Fn(Planes<T>) + Send + Sync) {
        let Planes { axes, out, planes, results } = self;
        let area = axes[0].size.saturating_mul(axes[1].size);
        let windows = out[0].saturating_mul(out[1]);
        sharing::in_parts(results, windows, sharing::ELEMENTS / area.max(1), |first, results| {
            run(Planes { axes, out, planes: planes.get(first * area..).unwrap_or_default(), results });
        });
    }
}

impl<T: Greatest> Vectorised for Planes<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { axes: [rows, columns], out: [height, width], planes, results } = self;
        let (area, windows) = (rows.size * columns.size, height * width);
        if area == 0 || windows == 0 {
            return;
        }
        // The windows that have each tap of their row, and where the first of them has it.
        let taps: Vec<_> = (0..columns.kernel)
            .filter_map(|tap| {
                let inside = columns.outputs_inside(tap, width);
                let first = columns.inside(inside.start, tap)?;
                (!inside.is_empty()).then_some((inside, first))
            })
            .collect();
        // Windows side by side: those of several rows are one row, if the rest of each line is left out.
        let apart = width.saturating_mul(columns.stride);
        let are_apart = apart <= columns.size
            && taps.iter().all(|(inside, first)| *inside == (0..width) && *first < columns.stride);
        let (line_len, at_once) = match are_apart {
            true => (apart, (CACHED / apart).clamp(1, height)),
            false => (columns.size, 1),
        };
        // The greatest of each column, and those of these that windows begin with. One element more makes pairs of all.
        let mut lines = vec![T::NONE; at_once * line_len + 1];
        let mut some = vec![T::NONE; at_once * width];
        for (plane, results) in planes.chunks_exact(area).zip(results.chunks_exact_mut(windows)) {
            for (first, results) in (0..height).step_by(at_once).zip(results.chunks_mut(at_once * width)) {
                for (y, line) in (first..height).zip(lines.chunks_exact_mut(line_len)) {
                    line.fill(T::NONE);
                    for row in (0..rows.kernel).filter_map(|tap| rows.inside(y, tap)) {
                        T::greatest(line, &plane[row * columns.size..][..columns.size]);
                    }
                }
                let others = results.len() - width;
                results.fill(T::NONE);
                for (inside, first) in &taps {
                    let inside = inside.start..inside.end + others;
                    let (line, some) = (&lines[*first..], &mut some[..inside.len()]);
                    let from = match columns.stride {
                        1 => line,
                        2 => {
                            let pairs = bytemuck::cast_slice(&line[..2 * some.len()]);
                            I::copy_even(pairs, bytemuck::cast_slice_mut(some));
                            some
                        }
                        stride => {
                            some.iter_mut().zip(line.iter().step_by(stride)).for_each(|(to, &x)| *to = x);
                            some
                        }
                    };
                    T::greatest(&mut results[inside], from);
                }
            }
        }
    }
}
