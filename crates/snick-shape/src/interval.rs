//! Closed integer intervals: the possible values of a dimension or an index.

mod arithmetic;
mod text;

pub use text::IntervalError;

/// A closed interval of integers, never empty.
///
/// The extreme values of `i64` stand for infinity: `lo == i64::MIN` means that there is no lower bound, and
/// `hi == i64::MAX` that there is no upper bound. Arithmetic is done on mathematical integers and saturates
/// to infinity, so a result contains every possible value and never wraps.
///
/// ```
/// use snick::Interval;
///
/// let batch: Interval = "1..8".parse()?;
/// let pixels = batch.mul(Interval::exact(640)).add(Interval::exact(1));
/// assert_eq!(pixels.to_string(), "641..5121");
/// assert_eq!(Interval::DIM.to_string(), "?");
/// assert_eq!(Interval::DIM.mul(batch), Interval::DIM); // unbounded stays unbounded
/// # Ok::<(), snick::IntervalError>(())
/// ```
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

    /// The interval of a single value.
    ///
    /// ```
    /// # use snick::Interval;
    /// assert_eq!(Interval::exact(3).to_string(), "3");
    /// ```
    pub const fn exact(value: i64) -> Self {
        Self { lo: value, hi: value }
    }

    /// The interval from `lo` to `hi`, inclusive; `None` if `lo > hi`.
    ///
    /// ```
    /// # use snick::Interval;
    /// assert_eq!(Interval::new(2, 4).unwrap().to_string(), "2..4");
    /// assert_eq!(Interval::new(4, 2), None);
    /// ```
    pub const fn new(lo: i64, hi: i64) -> Option<Self> {
        if lo <= hi { Some(Self { lo, hi }) } else { None }
    }

    /// The interval between two values in either order.
    pub(crate) fn between(a: i64, b: i64) -> Self {
        Self { lo: a.min(b), hi: a.max(b) }
    }

    /// The smallest value; `i64::MIN` if there is no lower bound.
    ///
    /// ```
    /// # use snick::Interval;
    /// assert_eq!(Interval::new(2, 4).unwrap().lo(), 2);
    /// assert_eq!(Interval::ANY.lo(), i64::MIN);
    /// ```
    pub const fn lo(&self) -> i64 {
        self.lo
    }

    /// The largest value; `i64::MAX` if there is no upper bound.
    ///
    /// ```
    /// # use snick::Interval;
    /// assert_eq!(Interval::new(2, 4).unwrap().hi(), 4);
    /// assert_eq!(Interval::DIM.hi(), i64::MAX);
    /// ```
    pub const fn hi(&self) -> i64 {
        self.hi
    }

    /// The value, if there is only one.
    ///
    /// ```
    /// # use snick::Interval;
    /// assert_eq!(Interval::exact(3).is_exact(), Some(3));
    /// assert_eq!(Interval::DIM.is_exact(), None);
    /// ```
    pub fn is_exact(&self) -> Option<i64> {
        (self.lo == self.hi).then_some(self.lo)
    }

    /// Whether there is an upper bound.
    ///
    /// ```
    /// # use snick::Interval;
    /// assert!(Interval::exact(3).has_upper() && !Interval::DIM.has_upper());
    /// ```
    pub const fn has_upper(&self) -> bool {
        self.hi != i64::MAX
    }

    /// Whether there is a lower bound.
    ///
    /// ```
    /// # use snick::Interval;
    /// assert!(Interval::DIM.has_lower() && !Interval::ANY.has_lower());
    /// ```
    pub const fn has_lower(&self) -> bool {
        self.lo != i64::MIN
    }

    /// Whether the interval contains `value`.
    ///
    /// ```
    /// # use snick::Interval;
    /// let interval = Interval::new(2, 4).unwrap();
    /// assert!(interval.contains(4) && !interval.contains(5));
    /// ```
    pub const fn contains(&self, value: i64) -> bool {
        self.lo <= value && value <= self.hi
    }

    /// Whether the interval contains all of `other`.
    ///
    /// ```
    /// # use snick::Interval;
    /// assert!(Interval::DIM.covers(&Interval::exact(7)));
    /// assert!(!Interval::DIM.covers(&Interval::exact(-7)));
    /// ```
    pub const fn covers(&self, other: &Self) -> bool {
        self.lo <= other.lo && other.hi <= self.hi
    }

    /// The intersection; `None` if it is empty.
    ///
    /// ```
    /// # use snick::Interval;
    /// let [a, b] = [Interval::new(1, 5).unwrap(), Interval::new(4, 9).unwrap()];
    /// assert_eq!(a.meet(b), Interval::new(4, 5));
    /// assert_eq!(a.meet(Interval::exact(6)), None);
    /// ```
    pub fn meet(&self, other: Self) -> Option<Self> {
        Self::new(self.lo.max(other.lo), self.hi.min(other.hi))
    }

    /// The smallest interval that contains `self` and `other`.
    ///
    /// ```
    /// # use snick::Interval;
    /// assert_eq!(Interval::exact(1).hull(Interval::exact(4)), Interval::new(1, 4).unwrap());
    /// ```
    pub fn hull(&self, other: Self) -> Self {
        Self { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }
}

impl From<i64> for Interval {
    fn from(value: i64) -> Self {
        Self::exact(value)
    }
}
