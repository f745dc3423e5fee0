//! Depthwise convolution over phase planes, for any kernel, stride and dilation, in `f32` and `f64`.
//!
//! **Loop nest**, outer to inner: channel; filter of the channel; block of positions; tap. Four vectors of
//! sums stay in registers while all taps are added.
//!
//! **Layout.** The [`phase_planes`](super::phase_planes) of one channel are split into scratch memory that
//! stays in the cache.
//!
//! **Threads.** Each thread computes some channels.

use std::borrow::Cow;

use super::filters::Filters;
use super::image_view::ImageView;
use super::phase_planes::PlaneLayout;
use crate::buffer::Buffer;
use crate::kernels::gemm::{Epilogue, Gemm};
use crate::kernels::sharing;
use crate::kernels::vectors::{Instructions, Vector, Vectorised, dispatch_best};

/// Vectors of sums per block. Their multiply-adds are independent, which hides the latency of four cycles.
const BLOCK: usize = 4;

/// Elements that may be accessed beyond the last position: one block of the longest vectors.
const SLACK: usize = BLOCK * 16;

/// Convolves one image with the filters of each of its channels, and applies `then` to the result of each
/// filter.
pub(super) fn depthwise_planes<T: Gemm>(
    layout: &PlaneLayout,
    image: ImageView<T>,
    filters: &Filters<T>,
    out: &mut [T],
    then: Option<Epilogue<T>>,
) {
    let (mut starts, mut rows) = (layout.tap_starts(), Cow::Borrowed(&*filters.rows));
    if let Some(order) = &filters.order {
        filters.reorder(rows.to_mut());
        starts = order.iter().map(|&tap| starts[tap]).collect();
    }
    let (taps, of_channel) = (starts.len(), rows.len() / image.channels);
    let results = out.len() / image.channels;
    let products = layout.positions.saturating_mul(of_channel);
    sharing::in_parts(out, results, sharing::PRODUCTS / products.max(1), |first, out| {
        let mut planes = Buffer::scratch(layout.len + SLACK);
        planes.fill(T::default());
        let mut sums = Buffer::scratch(layout.positions + SLACK);
        let windows = results * taps / of_channel;
        let channels = rows[first * of_channel..].chunks_exact(of_channel).zip(out.chunks_exact_mut(results));
        for (channel, (rows, out)) in (first..).zip(channels) {
            layout.split(&image.channel(channel), None, &mut planes);
            for (i, (filter, out)) in rows.chunks_exact(taps).zip(out.chunks_exact_mut(windows)).enumerate() {
                let (starts, planes, sums) = (&*starts, &*planes, &mut *sums);
                dispatch_best(Filter { filter, starts, planes, sums, len: layout.positions });
                layout.gather_windows(out, sums);
                if let Some(then) = then {
                    then.apply(channel * results + i * windows, out);
                }
            }
        }
    });
}

/// A filter over the planes of one channel.
struct Filter<'a, T> {
    filter: &'a [T],
    /// The start of each tap's run.
    starts: &'a [usize],
    planes: &'a [T],
    /// The sums at all positions.
    sums: &'a mut [T],
    /// The number of positions.
    len: usize,
}

impl<T: Gemm> Vectorised for Filter<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { filter, starts, planes, sums, len } = self;
        let lanes = T::Vector::<I>::LANES;
        for at in (0..len).step_by(BLOCK * lanes) {
            let (planes, sums) = (&planes[at..], &mut sums[at..]);
            match (len - at).div_ceil(lanes) {
                1 => block::<I, T, 1>(filter, starts, planes, sums),
                2 => block::<I, T, 2>(filter, starts, planes, sums),
                3 => block::<I, T, 3>(filter, starts, planes, sums),
                _ => block::<I, T, BLOCK>(filter, starts, planes, sums),
            }
        }
    }
}

/// The sums of a filter at the first `COUNT` vectors of positions.
#[allow(clippy::needless_range_loop, reason = "only loops over indices are unrolled in time")]
#[inline(always)]
fn block<I: Instructions, T: Gemm, const COUNT: usize>(
    filter: &[T],
    starts: &[usize],
    planes: &[T],
    to: &mut [T],
) {
    let lanes = T::Vector::<I>::LANES;
    let mut sums = [T::Vector::<I>::splat(T::default()); COUNT];
    for (&weight, &start) in filter.iter().zip(starts) {
        let weight = T::Vector::<I>::splat(weight);
        let Some(line) = planes.get(start..start + COUNT * lanes) else { return };
        for i in 0..COUNT {
            sums[i] = weight.multiply_add(T::Vector::<I>::load(&line[i * lanes..]), sums[i]);
        }
    }
    let Some(to) = to.get_mut(..COUNT * lanes) else { return };
    for i in 0..COUNT {
        sums[i].store(&mut to[i * lanes..]);
    }
}
