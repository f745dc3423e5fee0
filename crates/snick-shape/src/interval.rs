//! Closed integer intervals: what is known of one dimension or index.

mod arithmetic;
mod text;

pub use text::IntervalError;

/// A closed interval of integers, never empty.
///
/// The two extreme values of `i64` double as infinities: `lo == i64::MIN` says "no lower bound" and `hi == i64::MAX`
/// says "no upper bound". Arithmetic is done on the mathematical integers and saturates into these infinities, so a
/// result always contains every possible value and never wraps.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Interval {
    lo: i64,
    hi: i64,
}

impl Interval {
    /// Every integer.
    pub const ANY: Self = Self { lo: i64::MIN, hi: i64::MAX };
    /// Every possible dimension: `0..`, printed `?`.
    pub const DIM: Self = Self { lo: 0, hi: i64::MAX };

    /// The interval that holds one value.
    pub const fn exact(value: i64) -> Self {
        Self { lo: value, hi: value }
    }

    /// The interval from `lo` to `hi`, both included; `None` when `lo > hi`.
    pub const fn new(lo: i64, hi: i64) -> Option<Self> {
        if lo <= hi { Some(Self { lo, hi }) } else { None }
    }

    /// The interval between two values given in either order.
    pub(crate) fn between(a: i64, b: i64) -> Self {
        Self { lo: a.min(b), hi: a.max(b) }
    }

    /// The least value; `i64::MIN` when there is no lower bound.
    pub const fn lo(&self) -> i64 {
        self.lo
    }

    /// The greatest value; `i64::MAX` when there is no upper bound.
    pub const fn hi(&self) -> i64 {
        self.hi
    }

    /// The single value, when there is only one.
    pub fn is_exact(&self) -> Option<i64> {
        (self.lo == self.hi).then_some(self.lo)
    }

    /// Whether there is an upper bound.
    pub const fn has_upper(&self) -> bool {
        self.hi != i64::MAX
    }

    /// Whether there is a lower bound.
    pub const fn has_lower(&self) -> bool {
        self.lo != i64::MIN
    }

    /// Whether `value` lies in the interval.
    pub const fn contains(&self, value: i64) -> bool {
        self.lo <= value && value <= self.hi
    }

    /// Whether every value of `other` lies in this interval.
    pub const fn covers(&self, other: &Self) -> bool {
        self.lo <= other.lo && other.hi <= self.hi
    }

    /// The values both intervals hold; `None` when there are none.
    pub fn meet(&self, other: Self) -> Option<Self> {
        Self::new(self.lo.max(other.lo), self.hi.min(other.hi))
    }

    /// The least interval that covers both.
    pub fn hull(&self, other: Self) -> Self {
        Self { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }
}

impl From<i64> for Interval {
    fn from(value: i64) -> Self {
        Self::exact(value)
    }
}
