//! The length of a slice of an axis, for intervals of the axis size and of the bounds.
//!
//! For fixed bounds, the length is piecewise monotone in the axis size. Its breakpoints are close to
//! `|start|`, `|stop|` and their sum. For a fixed size, the length is monotone in each bound, separately for
//! negative and for non-negative values. Therefore the extremes of the length are among a few combinations of
//! size and bounds, and the hull of these is exact.

use super::select;
use crate::interval::Interval;

/// Larger than any axis size in this module.
const INFINITY: i128 = 1 << 100;
/// An axis size beyond all breakpoints of finite bounds.
const FAR: i128 = 1 << 80;
/// Bounds that exporters write for "to the end".
const SENTINELS: [i64; 2] = [i32::MAX as i64, i32::MIN as i64];
/// Bounds of at least this size are beyond every axis.
const BEYOND: u64 = 1 << 62;

/// The axis sizes to consider for these bounds. Exporters write 2^31-1 (or -2^31) for "to the end". If
/// exactly one bound has such a value, an unbounded axis is assumed to have at most 2^31-1 elements. If both
/// bounds have such a value, they are treated as ordinary numbers.
pub(crate) fn capped(dim: Interval, bounds: [Option<Interval>; 2], step: i64) -> Interval {
    let is_sentinel = |bound: &Interval| bound.is_exact().is_some_and(|value| SENTINELS.contains(&value));
    let mut sentinels = bounds.into_iter().flatten().filter(is_sentinel);
    let (Some(bound), None) = (sentinels.next(), sentinels.next()) else { return dim };
    let cap = (1 << 31) - i64::from(step > 0 && bound.lo() > 0);
    if dim.has_upper() || dim.lo() > cap { dim } else { Interval::between(dim.lo(), cap) }
}

/// The smallest interval that contains the length of `start:stop:step` for every axis size in `dim` and all
/// bounds in their intervals, where the size and the bounds are independent of each other. A bound of `None`
/// is masked. A `step` of 0 selects nothing.
///
/// OpenVINO's shape inference of Slice-8 and StridedSlice-1 approximates this hull; here it is exact. An
/// unbounded axis with a bound of 2^31-1 is assumed to end there (see `capped`). Bounds of 2^62 or more are
/// beyond every axis.
///
/// ```
/// use snick::Interval;
/// use snick_shape::length_interval;
///
/// // `x[k:]` of an axis of 4 to 10 elements, with k from -3 to 2.
/// let (axis, start) = (Interval::new(4, 10).unwrap(), Interval::new(-3, 2).unwrap());
/// assert_eq!(length_interval(axis, Some(start), None, 1), Interval::new(1, 10).unwrap());
/// ```
pub fn length_interval(
    dim: Interval,
    start: Option<Interval>,
    stop: Option<Interval>,
    step: i64,
) -> Interval {
    let Some(dim) = dim.meet(Interval::DIM).filter(|_| step != 0) else {
        return Interval::exact(0);
    };
    let dim = capped(dim, [start, stop], step);
    let mut hull: Option<Interval> = None;
    for start in candidates(start, dim) {
        for stop in candidates(stop, dim) {
            let length = with_exact_bounds(dim, start, stop, i128::from(step));
            hull = Some(hull.map_or(length, |known| known.hull(length)));
        }
    }
    hull.unwrap_or(Interval::exact(0))
}

/// The values of a bound at which the length can have its minimum or maximum.
fn candidates(bound: Option<Interval>, dim: Interval) -> Vec<Option<i128>> {
    let Some(bound) = bound else { return vec![None] };
    let mut values = vec![bound.lo(), bound.hi()];
    values.extend([-1, 0].into_iter().filter(|value| bound.contains(*value)));
    values.sort_unstable();
    values.dedup();
    let widen = |value: i64| {
        let unlimited = !dim.has_upper() && value.unsigned_abs() >= BEYOND;
        if unlimited { INFINITY * i128::from(value.signum()) } else { i128::from(value) }
    };
    values.into_iter().map(|value| Some(widen(value))).collect()
}

/// The hull over all axis sizes for fixed bounds.
fn with_exact_bounds(dim: Interval, start: Option<i128>, stop: Option<i128>, step: i128) -> Interval {
    let length = |dim: i128| select(dim, start, stop, step).1;
    let lo = i128::from(dim.lo());
    // Stands for the infinite size of an unbounded axis.
    let hi = if dim.has_upper() { i128::from(dim.hi()) } else { FAR };
    let size = |bound: Option<i128>| bound.unwrap_or(0).abs();
    let (a, b) = (size(start), size(stop));
    let breakpoints = [0, a, b, a + b].into_iter().flat_map(|at| at - 1..=at + 2);
    let sizes = breakpoints.filter(|size| (lo..=hi).contains(size)).chain([lo, hi]);
    let (mut least, mut most) = (length(lo), length(lo));
    for value in sizes.map(length) {
        (least, most) = (least.min(value), most.max(value));
    }
    let grows = !dim.has_upper() && length(FAR + step.abs()) > length(FAR);
    let most = if grows { i128::from(i64::MAX) } else { most };
    let narrow = |value: i128| i64::try_from(value).unwrap_or(i64::MAX);
    Interval::between(narrow(least), narrow(most))
}
