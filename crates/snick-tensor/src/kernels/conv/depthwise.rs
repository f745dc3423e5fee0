//! Depthwise filters: every channel is split into planes that stay in the cache, and a filter slides over them with its
//! sums in registers.

use std::borrow::Cow;

use super::images::Channels;
use super::planes::Cuts;
use crate::TensorError;
use crate::buffer::filled;
use crate::kernels::gemm::{Epilogue, Gemm};
use crate::kernels::sharing;
use crate::kernels::vectors::{Instructions, Vector, Vectorised, dispatch_best};

/// The number of vectors of sums per step.
const SUMS: usize = 4;

/// Elements that may be read and written beyond the last position: those of the longest vectors.
const SLACK: usize = SUMS * 16;

/// Fewer multiplications are not distributed to threads.
const SHARED: usize = 1 << 18;

/// The number of channels per task of a thread.
const AT_ONCE: usize = 8;

/// Applies the filters `rows`, grouped by channel, to one image, and writes the windows to `out`. The products of each
/// are summed in `order`, or sequentially. `then` follows for each filter.
pub(super) fn depthwise<T: Gemm>(
    cuts: &Cuts,
    image: Channels<T>,
    rows: &[T],
    order: Option<&[usize]>,
    out: &mut [T],
    then: Option<Epilogue<T>>,
) -> Result<(), TensorError> {
    let (mut starts, mut rows) = (cuts.starts(), Cow::Borrowed(rows));
    if let Some(order) = order {
        let sorted = rows.chunks_exact(order.len()).flat_map(|filter| order.iter().map(|&k| filter[k]));
        rows = Cow::Owned(sorted.collect());
        starts = order.iter().map(|&k| starts[k]).collect();
    }
    let (filters, windows) = (rows.len() / image.count, out.len() / image.count);
    let some = |(first, (rows, out)): (usize, (&[T], &mut [T]))| {
        let mut planes = filled(cuts.len + SLACK, T::default())?;
        let mut sums = filled(cuts.positions + SLACK, T::default())?;
        let each = rows.chunks_exact(filters).zip(out.chunks_exact_mut(windows));
        for (channel, (rows, out)) in (first * AT_ONCE..).zip(each) {
            cuts.cut_again(&image.part(channel..channel + 1), &mut planes);
            let (first, windows) = (channel * windows, windows * starts.len() / filters);
            let filters = rows.chunks_exact(starts.len()).zip(out.chunks_exact_mut(windows));
            for (i, (filter, out)) in filters.enumerate() {
                dispatch_best(Slide {
                    filter,
                    starts: &starts,
                    planes: &planes,
                    sums: &mut sums,
                    len: cuts.positions,
                });
                cuts.place(out, &sums);
                if let Some(then) = then {
                    then.apply(first + i * windows, out);
                }
            }
        }
        Ok(())
    };
    if sharing::is_shared() && rows.len().saturating_mul(cuts.positions) >= SHARED {
        let rows = rows.chunks(AT_ONCE * filters);
        return sharing::try_for_each(rows.zip(out.chunks_mut(AT_ONCE * windows)).enumerate(), some);
    }
    some((0, (&rows, out)))
}

/// A filter over the planes of one channel.
struct Slide<'a, T> {
    filter: &'a [T],
    /// The offset of each element of the filter for the first window.
    starts: &'a [usize],
    planes: &'a [T],
    /// The sums at all positions.
    sums: &'a mut [T],
    /// The number of positions.
    len: usize,
}

impl<T: Gemm> Vectorised for Slide<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { filter, starts, planes, sums, len } = self;
        let lanes = T::Vector::<I>::LANES;
        for at in (0..len).step_by(SUMS * lanes) {
            let (planes, sums) = (&planes[at..], &mut sums[at..]);
            match (len - at).div_ceil(lanes) {
                1 => slide::<I, T, 1>(filter, starts, planes, sums),
                2 => slide::<I, T, 2>(filter, starts, planes, sums),
                3 => slide::<I, T, 3>(filter, starts, planes, sums),
                _ => slide::<I, T, SUMS>(filter, starts, planes, sums),
            }
        }
    }
}

/// The sums of a filter at the first positions, `COUNT` vectors of them.
#[allow(clippy::needless_range_loop, reason = "only loops over indices are unrolled in time")]
#[inline(always)]
fn slide<I: Instructions, T: Gemm, const COUNT: usize>(
    filter: &[T],
    starts: &[usize],
    planes: &[T],
    to: &mut [T],
) {
    let lanes = T::Vector::<I>::LANES;
    let mut sums = [T::Vector::<I>::splat(T::default()); COUNT];
    for (&factor, &start) in filter.iter().zip(starts) {
        let factor = T::Vector::<I>::splat(factor);
        let Some(line) = planes.get(start..start + COUNT * lanes) else { return };
        for i in 0..COUNT {
            sums[i] = factor.multiply_add(T::Vector::<I>::load(&line[i * lanes..]), sums[i]);
        }
    }
    let Some(to) = to.get_mut(..COUNT * lanes) else { return };
    for i in 0..COUNT {
        sums[i].store(&mut to[i * lanes..]);
    }
}
