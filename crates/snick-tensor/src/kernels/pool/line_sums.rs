//! Window sums computed by adding whole input lines.
//!
//! **Source.** The pooling kernels of XNNPACK.
//!
//! **Loop nest**, outer to inner: channel; row of windows; tap in depth and height; tap in width; window. A
//! tap adds every `stride`-th element of one line to the sums, as vectors. The taps of each sum are added in
//! order.
//!
//! **Layout.** Tensors are contiguous `[channel, spatial..]`. The sums of a row of windows stay in the L1
//! cache.
//!
//! **Threads.** Each thread computes some channels.

use crate::SmallVector;
use crate::kernels::sharing;
use crate::kernels::vectors::{Instructions, Vectorised, dispatch_best};
use crate::kernels::window::WindowGrid;

/// Writes the sum of the input elements in each window of `x` to `sums`.
pub(super) fn line_sums(grid: &WindowGrid, x: &[f32], sums: &mut [f32]) {
    let area = grid.area();
    sharing::in_parts(sums, grid.windows(), sharing::ELEMENTS / area.max(1), |first, sums| {
        sums.fill(0.0);
        dispatch_best(LineSums { grid, x: &x[first * area..], sums });
    });
}

struct LineSums<'a> {
    grid: &'a WindowGrid,
    x: &'a [f32],
    sums: &'a mut [f32],
}

impl Vectorised for LineSums<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { grid, x, sums } = self;
        let ([d, h, w], [planes, rows, columns]) = (&grid.axes, grid.out);
        if grid.area() == 0 || sums.is_empty() {
            return;
        }
        let taps: SmallVector<_, 4> =
            (0..w.kernel).filter_map(|tap| w.outputs_inside(tap, columns)).collect();
        let channels = x.chunks_exact(grid.area()).zip(sums.chunks_exact_mut(grid.windows()));
        for (channel, sums) in channels {
            let outputs = (0..planes).flat_map(|plane| (0..rows).map(move |row| [plane, row]));
            for ([plane, row], sums) in outputs.zip(sums.chunks_exact_mut(columns)) {
                for z in (0..d.kernel).filter_map(|tap| d.inside(plane, tap)) {
                    for y in (0..h.kernel).filter_map(|tap| h.inside(row, tap)) {
                        let line = &channel[(z * h.size + y) * w.size..][..w.size];
                        for (windows, first) in &taps {
                            add(&mut sums[windows.clone()], &line[*first..], w.stride);
                        }
                    }
                }
            }
        }
    }
}

/// Adds every `stride`-th element.
#[inline(always)]
fn add(sums: &mut [f32], from: &[f32], stride: usize) {
    match stride {
        1 => sums.iter_mut().zip(from).for_each(|(sum, &x)| *sum += x),
        // The compiler vectorises strides known at compile time.
        2 => {
            let (pairs, last) = from.as_chunks::<2>();
            let (paired, rest) = sums.split_at_mut(sums.len().min(pairs.len()));
            paired.iter_mut().zip(pairs).for_each(|(sum, &[x, _])| *sum += x);
            rest.iter_mut().zip(last).for_each(|(sum, &x)| *sum += x);
        }
        _ => sums.iter_mut().zip(from.iter().step_by(stride)).for_each(|(sum, &x)| *sum += x),
    }
}
