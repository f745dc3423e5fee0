//! Slicing one axis: the arithmetic every slice dialect shares.

pub(crate) mod bound;
mod enumerated;
pub(crate) mod hull;
pub(crate) mod symbolic;

/// Why an axis cannot be sliced.
///
/// ```
/// # use snick_shape::{AxisSlice, SliceError};
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
/// Invariants of resolved slices: every index lies in `0..dim`; `step != 0`; `len <= 1` implies `step == 1`; `len == 0`
/// implies `start == 0`. So two slices of an axis select the same elements if and only if they are equal.
///
/// ```
/// use snick_shape::AxisSlice;
///
/// // `x[8:1:-3]` of an axis of 10 elements.
/// let slice = AxisSlice::resolve(10, Some(8), Some(1), -3)?;
/// assert_eq!(slice, AxisSlice { start: 8, len: 3, step: -3 });
/// assert_eq!(slice.indices().collect::<Vec<_>>(), [8, 5, 2]);
/// # Ok::<(), snick_shape::SliceError>(())
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct AxisSlice {
    /// Index of the first element.
    pub start: i64,
    /// Number of elements.
    pub len: i64,
    /// Distance from one element to the next; negative if backward.
    pub step: i64,
}

impl AxisSlice {
    /// The slice that selects nothing.
    pub const EMPTY: Self = Self { start: 0, len: 0, step: 1 };

    /// The slice that selects the whole axis.
    ///
    /// ```
    /// # use snick_shape::AxisSlice;
    /// assert_eq!(AxisSlice::whole(3).indices().collect::<Vec<_>>(), [0, 1, 2]);
    /// ```
    pub const fn whole(dim: i64) -> Self {
        Self { start: 0, len: dim, step: 1 }
    }

    /// The elements that `start:stop:step` selects of an axis of `dim` elements, by the rule OpenVINO Slice-8, OpenVINO
    /// StridedSlice-1 and ONNX Slice share. `None` is a masked bound: the first or last element in the step's direction
    /// is included.
    ///
    /// A negative bound counts from the end, once. The start is then clamped into the axis **at both ends for either
    /// direction**, so that a negative step from below the axis selects its first element (Python would select none).
    ///
    /// # Errors
    /// [`SliceError::ZeroStep`]; [`SliceError::NegativeDim`].
    ///
    /// ```
    /// # use snick_shape::AxisSlice;
    /// assert_eq!(AxisSlice::resolve(10, Some(-3), None, 1)?, AxisSlice { start: 7, len: 3, step: 1 });
    /// assert_eq!(AxisSlice::resolve(10, Some(5), Some(2), 1)?, AxisSlice::EMPTY);
    /// # Ok::<(), snick_shape::SliceError>(())
    /// ```
    pub fn resolve(dim: i64, start: Option<i64>, stop: Option<i64>, step: i64) -> Result<Self, SliceError> {
        let (start, len) = Self::clamp(dim, start, stop, step)?;
        Ok(Self { start, len, step }.normalised())
    }

    /// The clamped start of `start:stop:step` and the number of elements, as in [`Self::resolve`]. The start of an
    /// empty slice is where it was clamped to, in `-1..=dim`.
    ///
    /// # Errors
    /// [`SliceError::ZeroStep`]; [`SliceError::NegativeDim`].
    ///
    /// ```
    /// # use snick_shape::AxisSlice;
    /// assert_eq!(AxisSlice::clamp(10, Some(99), None, 1)?, (10, 0));
    /// assert_eq!(AxisSlice::clamp(10, Some(99), None, -1)?, (9, 10));
    /// # Ok::<(), snick_shape::SliceError>(())
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
        // Both lie within -1..=dim, so the conversions cannot fail.
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
    /// # use snick_shape::AxisSlice;
    /// assert!(AxisSlice::resolve(10, Some(-10), Some(99), 1)?.is_whole(10));
    /// assert!(!AxisSlice::resolve(10, None, None, -1)?.is_whole(10));
    /// # Ok::<(), snick_shape::SliceError>(())
    /// ```
    pub fn is_whole(&self, dim: i64) -> bool {
        *self == Self::whole(dim).normalised()
    }

    /// The selected indices, in order.
    ///
    /// ```
    /// # use snick_shape::AxisSlice;
    /// let backward = AxisSlice::resolve(3, None, None, -1)?;
    /// assert_eq!(backward.indices().collect::<Vec<_>>(), [2, 1, 0]);
    /// # Ok::<(), snick_shape::SliceError>(())
    /// ```
    pub fn indices(&self) -> impl Iterator<Item = i64> + use<> {
        let Self { start, len, step } = *self;
        (0..len).map(move |k| start.saturating_add(k.saturating_mul(step)))
    }

    /// The slice that equals this slice followed by `inner`, a slice of its result.
    ///
    /// ```
    /// # use snick_shape::AxisSlice;
    /// let (even, tail) = (AxisSlice::resolve(10, None, None, 2)?, AxisSlice::resolve(5, Some(3), None, 1)?);
    /// assert_eq!(even.then(&tail), AxisSlice { start: 6, len: 2, step: 2 });
    /// # Ok::<(), snick_shape::SliceError>(())
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

/// First index and length of a slice, in integers wide enough for every bound. `dim >= 0`, `step != 0`.
pub(crate) fn select(dim: i128, start: Option<i128>, stop: Option<i128>, step: i128) -> (i128, i128) {
    let from_end = |bound: i128| if bound < 0 { bound.saturating_add(dim) } else { bound };
    // For an empty axis the upper clamp of a backward start is -1: applied last.
    let (start, span) = if step > 0 {
        let start = start.map_or(0, from_end).max(0).min(dim);
        let stop = stop.map_or(dim, from_end).max(0).min(dim);
        (start, stop - start)
    } else {
        let start = start.map_or(dim - 1, from_end).max(0).min(dim - 1);
        let stop = stop.map_or(-1, from_end).max(-1).min(dim);
        (start, start - stop)
    };
    if span <= 0 {
        return (start, 0);
    }
    let size = step.saturating_abs();
    (start, 1 + (span - 1) / size)
}

#[cfg(test)]
#[path = "axis_slice/tests.rs"]
mod tests;
