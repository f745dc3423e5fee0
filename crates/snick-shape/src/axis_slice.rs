//! Slicing along one axis: the arithmetic shared by all slice dialects.

pub(crate) mod bound;
mod enumerated;
pub(crate) mod hull;
pub(crate) mod symbolic;

use crate::integers::IntOp::{CeilDiv, Max, Min, Sub};
use crate::integers::{Integers, WideIntegers};

/// The reason why an axis cannot be sliced.
///
/// ```
/// # use snick::{AxisSlice, SliceError};
/// assert_eq!(AxisSlice::resolve(10, None, None, 0), Err(SliceError::ZeroStep));
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SliceError {
    /// The step is 0.
    #[error("the slice step is 0")]
    ZeroStep,
    /// The size of the axis is negative.
    #[error("cannot slice an axis of size {0}")]
    NegativeDim(i64),
}

/// One axis of the slice primitive: element `k` of the result is element `start + k * step` of the input.
///
/// Invariants of slices that [`AxisSlice::resolve`] returns:
///
/// - Every index is in `0..dim`, and `step != 0`.
/// - `len <= 1` implies `step == 1`, and `len == 0` implies `start == 0`. Therefore two slices of an axis are
///   equal if they select the same elements in the same order.
///
/// ```
/// use snick::AxisSlice;
///
/// // `x[8:1:-3]` of an axis of 10 elements.
/// let slice = AxisSlice::resolve(10, Some(8), Some(1), -3)?;
/// assert_eq!(slice, AxisSlice { start: 8, len: 3, step: -3 });
/// assert_eq!(slice.indices().collect::<Vec<_>>(), [8, 5, 2]);
/// # Ok::<(), snick::SliceError>(())
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct AxisSlice {
    /// Index of the first element.
    pub start: i64,
    /// Number of elements.
    pub len: i64,
    /// Distance between consecutive elements; negative for backward slices.
    pub step: i64,
}

impl AxisSlice {
    /// The slice that selects nothing.
    pub const EMPTY: Self = Self { start: 0, len: 0, step: 1 };

    /// The slice that selects the whole axis.
    ///
    /// ```
    /// # use snick::AxisSlice;
    /// assert_eq!(AxisSlice::whole(3).indices().collect::<Vec<_>>(), [0, 1, 2]);
    /// ```
    pub const fn whole(dim: i64) -> Self {
        Self { start: 0, len: dim, step: 1 }
    }

    /// The elements that `start:stop:step` selects from an axis of `dim` elements, by the common rule of
    /// OpenVINO Slice-8, OpenVINO StridedSlice-1 and ONNX Slice. A bound of `None` is masked: the slice then
    /// begins at the first element, or ends at the last element, in the direction of the step.
    ///
    /// `dim` is added once to a negative bound. The start is then clamped to the axis **at both ends**,
    /// whatever the direction of the step. A backward slice that starts before the axis therefore selects the
    /// first element, whereas in Python it would select nothing.
    ///
    /// # Errors
    /// [`SliceError::ZeroStep`]; [`SliceError::NegativeDim`].
    ///
    /// ```
    /// # use snick::AxisSlice;
    /// assert_eq!(AxisSlice::resolve(10, Some(-3), None, 1)?, AxisSlice { start: 7, len: 3, step: 1 });
    /// assert_eq!(AxisSlice::resolve(10, Some(5), Some(2), 1)?, AxisSlice::EMPTY);
    /// # Ok::<(), snick::SliceError>(())
    /// ```
    pub fn resolve(dim: i64, start: Option<i64>, stop: Option<i64>, step: i64) -> Result<Self, SliceError> {
        let (start, len) = Self::clamp(dim, start, stop, step)?;
        Ok(Self { start, len, step }.normalised())
    }

    /// The clamped start of `start:stop:step`, and the number of selected elements, as in [`Self::resolve`].
    /// For an empty slice, the start is in `-1..=dim`.
    ///
    /// # Errors
    /// [`SliceError::ZeroStep`]; [`SliceError::NegativeDim`].
    ///
    /// ```
    /// # use snick::AxisSlice;
    /// assert_eq!(AxisSlice::clamp(10, Some(99), None, 1)?, (10, 0));
    /// assert_eq!(AxisSlice::clamp(10, Some(99), None, -1)?, (9, 10));
    /// # Ok::<(), snick::SliceError>(())
    /// ```
    pub fn clamp(
        dim: i64,
        start: Option<i64>,
        stop: Option<i64>,
        step: i64,
    ) -> Result<(i64, i64), SliceError> {
        if step == 0 {
            return Err(SliceError::ZeroStep);
        }
        if dim < 0 {
            return Err(SliceError::NegativeDim(dim));
        }
        let wide = |bound: Option<i64>| bound.map(i128::from);
        let (first, len) = select(i128::from(dim), wide(start), wide(stop), i128::from(step));
        // Start and length are in -1..=dim, so the conversions cannot fail.
        let narrow = |value: i128| i64::try_from(value).unwrap_or(dim);
        Ok((narrow(first), narrow(len)))
    }

    fn normalised(self) -> Self {
        match self.len {
            ..=0 => Self::EMPTY,
            1 => Self { step: 1, ..self },
            _ => self,
        }
    }

    /// Whether the slice selects every element of an axis of `dim` elements, in order.
    ///
    /// ```
    /// # use snick::AxisSlice;
    /// assert!(AxisSlice::resolve(10, Some(-10), Some(99), 1)?.is_whole(10));
    /// assert!(!AxisSlice::resolve(10, None, None, -1)?.is_whole(10));
    /// # Ok::<(), snick::SliceError>(())
    /// ```
    pub fn is_whole(&self, dim: i64) -> bool {
        *self == Self::whole(dim).normalised()
    }

    /// The selected indices, in order.
    ///
    /// ```
    /// # use snick::AxisSlice;
    /// let backward = AxisSlice::resolve(3, None, None, -1)?;
    /// assert_eq!(backward.indices().collect::<Vec<_>>(), [2, 1, 0]);
    /// # Ok::<(), snick::SliceError>(())
    /// ```
    pub fn indices(&self) -> impl Iterator<Item = i64> + use<> {
        let Self { start, len, step } = *self;
        (0..len).map(move |k| start.saturating_add(k.saturating_mul(step)))
    }

    /// Composes two slices: applies this slice, then `inner` to its result.
    ///
    /// ```
    /// # use snick::AxisSlice;
    /// let (even, tail) = (AxisSlice::resolve(10, None, None, 2)?, AxisSlice::resolve(5, Some(3), None, 1)?);
    /// assert_eq!(even.then(&tail), AxisSlice { start: 6, len: 2, step: 2 });
    /// # Ok::<(), snick::SliceError>(())
    /// ```
    pub fn then(&self, inner: &Self) -> Self {
        let composed = Self {
            start: self.start.saturating_add(inner.start.saturating_mul(self.step)),
            len: inner.len,
            step: self.step.saturating_mul(inner.step),
        };
        composed.normalised()
    }
}

/// First index and length of a slice, for `dim >= 0` and `step != 0`. The integers are wide enough for any
/// bound.
pub(crate) fn select(dim: i128, start: Option<i128>, stop: Option<i128>, step: i128) -> (i128, i128) {
    let from_start = |bound: i128| if bound < 0 { bound.saturating_add(dim) } else { bound };
    let bounds = [start, stop].map(|bound| bound.map(from_start));
    let Ok(clamped) = clamp_range(&mut WideIntegers, &dim, bounds, &step, step > 0);
    clamped
}

/// The first index and the length of `start:stop:step` on an axis of `size` elements, by the rule of
/// [`AxisSlice::resolve`], for any kind of integers. A bound of `None` is masked. The size must already have
/// been added to negative bounds. `is_forward` tells whether the step is positive.
///
/// ```
/// use snick_shape::{clamp_range, WideIntegers};
///
/// assert_eq!(clamp_range(&mut WideIntegers, &10, [Some(8), Some(1)], &-3, false), Ok((8, 3)));
/// ```
///
/// # Errors
/// If the integers cannot express a result.
pub fn clamp_range<D: Integers>(
    d: &mut D,
    size: &D::Int,
    [start, stop]: [Option<D::Int>; 2],
    step: &D::Int,
    is_forward: bool,
) -> Result<(D::Int, D::Int), D::Error> {
    let zero = D::Int::from(0);
    let lowest = D::Int::from(if is_forward { 0 } else { -1 });
    let highest = if is_forward { size.clone() } else { d.compute(Sub, size, &1.into())? };
    let mut clamped = |bound: &D::Int, low: &D::Int, high: &D::Int| {
        let bound = d.compute(Max, bound, low)?;
        // The upper clamp must come last, so that an empty axis stays empty.
        d.compute(Min, &bound, high)
    };
    let (first, last) = if is_forward { (&zero, size) } else { (&highest, &lowest) };
    let start = start.map_or(Ok(first.clone()), |start| clamped(&start, &zero, &highest))?;
    let stop = stop.map_or(Ok(last.clone()), |stop| clamped(&stop, &lowest, size))?;
    let (from, to, width) = match is_forward {
        true => (&start, &stop, step.clone()),
        false => (&stop, &start, d.compute(Sub, &zero, step)?),
    };
    let span = d.compute(Sub, to, from)?;
    let span = d.compute(Max, &span, &zero)?;
    let len = d.compute(CeilDiv, &span, &width)?;
    Ok((start, len))
}

#[cfg(test)]
#[path = "axis_slice/tests.rs"]
mod tests;
