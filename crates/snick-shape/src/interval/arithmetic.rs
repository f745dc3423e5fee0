//! Interval arithmetic. A result is the hull of all values that the operation has for independent operands.
//! An end that overflows becomes unbounded.

use super::Interval;

/// Infinity in intermediate results. Divided by any `i64`, it still exceeds every `i64`, and saturating
/// `i128` arithmetic keeps it at least this large.
const INFINITY: i128 = 1 << 126;

/// The lower end as a mathematical integer.
fn low(interval: Interval) -> i128 {
    if interval.lo == i64::MIN { -INFINITY } else { i128::from(interval.lo) }
}

/// The upper end as a mathematical integer.
fn high(interval: Interval) -> i128 {
    if interval.hi == i64::MAX { INFINITY } else { i128::from(interval.hi) }
}

/// The nearest `i64`, whose extremes mean infinity.
fn saturate(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

/// The interval between two ends. If both ends saturate at the same extreme of `i64`, moves one of them
/// inwards, because the interval must not become a single number.
fn span(lo: i128, hi: i128) -> Interval {
    let (lo, hi) = (saturate(lo), saturate(hi));
    match (lo, hi) {
        (i64::MAX, i64::MAX) => Interval { lo: i64::MAX - 1, hi },
        (i64::MIN, i64::MIN) => Interval { lo, hi: i64::MIN + 1 },
        _ => Interval::between(lo, hi),
    }
}

/// Floor division in `i128`. `b` is not 0, and both operands are far from the extremes of `i128`.
fn floor(a: i128, b: i128) -> i128 {
    let quotient = a / b;
    if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient }
}

/// The hull of an operation that is monotone in each operand, from its values at the four corners.
fn corners(a: Interval, b: Interval, op: impl Fn(i128, i128) -> i128) -> Interval {
    let ends = [(low(a), low(b)), (low(a), high(b)), (high(a), low(b)), (high(a), high(b))];
    let values = ends.map(|(x, y)| op(x, y));
    let lo = values.into_iter().fold(values[0], i128::min);
    let hi = values.into_iter().fold(values[0], i128::max);
    span(lo, hi)
}

/// The hull of an operation over the nonzero parts of the divisor.
fn over_nonzero(divisor: Interval, op: impl Fn(Interval) -> Interval) -> Interval {
    let negative = Interval::new(divisor.lo, divisor.hi.min(-1)).map(&op);
    let positive = Interval::new(divisor.lo.max(1), divisor.hi).map(&op);
    match (negative, positive) {
        (Some(a), Some(b)) => a.hull(b),
        (Some(a), None) | (None, Some(a)) => a,
        (None, None) => Interval::ANY,
    }
}

// These are named methods instead of `std::ops` traits, because a reader would not expect `+` to saturate
// to infinity.
#[allow(clippy::should_implement_trait)]
impl Interval {
    /// `-self`.
    ///
    /// ```
    /// # use snick::Interval;
    /// let a = Interval::new(-5, 7).unwrap();
    /// assert_eq!(a.neg().to_string(), "-7..5");
    /// ```
    pub fn neg(self) -> Self {
        span(-high(self), -low(self))
    }

    /// `self + other`.
    ///
    /// ```
    /// # use snick::Interval;
    /// let [a, b] = [Interval::new(-5, 7).unwrap(), Interval::new(2, 3).unwrap()];
    /// assert_eq!(a.add(b).to_string(), "-3..10");
    /// ```
    pub fn add(self, other: Self) -> Self {
        span(low(self).saturating_add(low(other)), high(self).saturating_add(high(other)))
    }

    /// `self - other`.
    ///
    /// ```
    /// # use snick::Interval;
    /// let [a, b] = [Interval::new(-5, 7).unwrap(), Interval::new(2, 3).unwrap()];
    /// assert_eq!(a.sub(b).to_string(), "-8..5");
    /// ```
    pub fn sub(self, other: Self) -> Self {
        self.add(other.neg())
    }

    /// `self * other`.
    ///
    /// ```
    /// # use snick::Interval;
    /// let [a, b] = [Interval::new(-5, 7).unwrap(), Interval::new(2, 3).unwrap()];
    /// assert_eq!(a.mul(b).to_string(), "-15..21");
    /// ```
    pub fn mul(self, other: Self) -> Self {
        corners(self, other, i128::saturating_mul)
    }

    /// `self / other` rounded down, ignoring divisors of 0; [`Interval::ANY`] if 0 is the only divisor.
    ///
    /// ```
    /// # use snick::Interval;
    /// let [a, b] = [Interval::new(-5, 7).unwrap(), Interval::new(2, 3).unwrap()];
    /// assert_eq!(a.floor_div(b).to_string(), "-3..3");
    /// ```
    pub fn floor_div(self, other: Self) -> Self {
        over_nonzero(other, |divisor| corners(self, divisor, floor))
    }

    /// `self / other` rounded up; for divisors of 0 see [`Interval::floor_div`].
    ///
    /// ```
    /// # use snick::Interval;
    /// let [a, b] = [Interval::new(-5, 7).unwrap(), Interval::new(2, 3).unwrap()];
    /// assert_eq!(a.ceil_div(b).to_string(), "-2..4");
    /// ```
    pub fn ceil_div(self, other: Self) -> Self {
        self.neg().floor_div(other).neg()
    }

    /// `self / other` rounded towards 0; for divisors of 0 see [`Interval::floor_div`].
    ///
    /// ```
    /// # use snick::Interval;
    /// let [a, b] = [Interval::new(-5, 7).unwrap(), Interval::new(2, 3).unwrap()];
    /// assert_eq!(a.trunc_div(b).to_string(), "-2..3");
    /// ```
    pub fn trunc_div(self, other: Self) -> Self {
        over_nonzero(other, |divisor| corners(self, divisor, |a, b| a / b))
    }

    /// The smaller of the two values.
    ///
    /// ```
    /// # use snick::Interval;
    /// let [a, b] = [Interval::new(-5, 7).unwrap(), Interval::new(2, 3).unwrap()];
    /// assert_eq!(a.min(b).to_string(), "-5..3");
    /// ```
    pub fn min(self, other: Self) -> Self {
        Self { lo: self.lo.min(other.lo), hi: self.hi.min(other.hi) }
    }

    /// The larger of the two values.
    ///
    /// ```
    /// # use snick::Interval;
    /// let [a, b] = [Interval::new(-5, 7).unwrap(), Interval::new(2, 3).unwrap()];
    /// assert_eq!(a.max(b).to_string(), "2..7");
    /// ```
    pub fn max(self, other: Self) -> Self {
        Self { lo: self.lo.max(other.lo), hi: self.hi.max(other.hi) }
    }

    /// The absolute value.
    ///
    /// ```
    /// # use snick::Interval;
    /// let a = Interval::new(-5, 7).unwrap();
    /// assert_eq!(a.abs().to_string(), "..7");
    /// ```
    pub fn abs(self) -> Self {
        if self.lo >= 0 {
            self
        } else if self.hi <= 0 {
            self.neg()
        } else {
            span(0, high(self).max(-low(self)))
        }
    }

    /// The remainder of floor division, which has the sign of the divisor (OpenVINO FloorMod-1). For divisors
    /// of 0 see [`Interval::floor_div`].
    ///
    /// ```
    /// # use snick::Interval;
    /// let [a, b] = [Interval::new(-5, 7).unwrap(), Interval::new(2, 3).unwrap()];
    /// assert_eq!(a.modulo(b).to_string(), "..2");
    /// ```
    pub fn modulo(self, other: Self) -> Self {
        over_nonzero(other, |divisor| {
            if divisor.lo > 0 {
                positive_modulo(self, divisor)
            } else if self.lo == i64::MIN || divisor.lo == i64::MIN {
                // An interval with the end i64::MIN has no exact negation.
                Self { lo: divisor.lo.saturating_add(1), hi: 0 }
            } else {
                // a mod -b == -(-a mod b)
                positive_modulo(self.neg(), divisor.neg()).neg()
            }
        })
    }

    /// The remainder of truncating division, which has the sign of the dividend (OpenVINO Mod-1). For
    /// divisors of 0 see [`Interval::floor_div`].
    ///
    /// ```
    /// # use snick::Interval;
    /// let [a, b] = [Interval::new(-5, 7).unwrap(), Interval::new(2, 3).unwrap()];
    /// assert_eq!(a.trunc_mod(b).to_string(), "-2..2");
    /// ```
    pub fn trunc_mod(self, other: Self) -> Self {
        over_nonzero(other, |divisor| {
            if self.lo == i64::MIN || divisor.lo == i64::MIN {
                // An interval with the end i64::MIN has no exact negation.
                return Self { lo: self.lo.min(0), hi: self.hi.max(0) };
            }
            let size = divisor.abs();
            let below =
                Self::new(self.lo, self.hi.min(-1)).map(|part| positive_modulo(part.neg(), size).neg());
            let above = Self::new(self.lo.max(0), self.hi).map(|part| positive_modulo(part, size));
            match (below, above) {
                (Some(a), Some(b)) => a.hull(b),
                (Some(a), None) | (None, Some(a)) => a,
                (None, None) => Self::ANY,
            }
        })
    }
}

/// `a mod b` for divisors of at least 1.
fn positive_modulo(a: Interval, b: Interval) -> Interval {
    // Within one block of a constant divisor, the remainder is the dividend minus a constant.
    if let Some(divisor) = b.is_exact().filter(|_| a.has_lower() && a.has_upper()) {
        let (first, last) = (a.lo.div_euclid(divisor), a.hi.div_euclid(divisor));
        if first == last {
            return Interval::between(a.lo.rem_euclid(divisor), a.hi.rem_euclid(divisor));
        }
    }
    if a.lo >= 0 && a.hi < b.lo {
        return a;
    }
    let most = if b.has_upper() { b.hi.saturating_sub(1) } else { i64::MAX };
    let most = if a.lo >= 0 { most.min(a.hi) } else { most };
    Interval { lo: 0, hi: most }
}

#[cfg(test)]
#[path = "arithmetic_tests.rs"]
mod tests;
