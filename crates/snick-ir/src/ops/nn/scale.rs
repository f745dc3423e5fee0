//! A size times a real scale, rounded down: an expression if the scale is an integer or the inverse of one.

use snick_shape::{Interval, SymExpr};

use crate::Infer;

/// A scale of sizes.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Scale {
    /// Times an integer.
    Times(i64),
    /// Divided by an integer, rounded down.
    Over(i64),
    /// Times a real number, rounded down; a product below an integer by a rounding error counts as that integer.
    Real(f64),
}

/// The rounding error of a product that is tolerated: a scale in f32 is off by less.
const TOLERANCE: f64 = 1e-6;

impl Scale {
    /// The scale as models hold it; one that is no positive number makes sizes 0.
    pub fn new(scale: f32) -> Self {
        let exact = f64::from(scale);
        let over = 1.0 / exact;
        if !(exact.is_finite() && exact > 0.0) {
            Self::Times(0)
        } else if exact.fract() == 0.0 && exact < 1e9 {
            Self::Times(exact as i64)
        } else if over < 1e5 && (over - over.round()).abs() < over * 1e-7 && over.round() >= 1.0 {
            Self::Over(over.round() as i64)
        } else {
            Self::Real(exact)
        }
    }

    /// The size of a scaled axis.
    pub fn of_size(self, size: i64) -> i64 {
        match self {
            Self::Times(n) => size.saturating_mul(n),
            Self::Over(n) => size.div_euclid(n.max(1)),
            // Saturates; sizes are not negative.
            Self::Real(scale) => (size as f64 * (scale + TOLERANCE)).floor() as i64,
        }
    }

    /// The dim of a scaled axis.
    pub fn of_dim(self, cx: &mut Infer, dim: &SymExpr) -> SymExpr {
        match self {
            Self::Times(n) => cx.mul(dim, &n.into()),
            Self::Over(n) => cx.floor_div(dim, &n.into()),
            Self::Real(_) => {
                let interval = cx.interval(dim);
                // Monotonic: the ends of the interval give the ends.
                let hi = if interval.has_upper() { self.of_size(interval.hi()) } else { i64::MAX };
                let scaled = Interval::new(self.of_size(interval.lo().max(0)), hi);
                cx.unknown(scaled.unwrap_or(Interval::DIM))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_classified_and_applied() {
        assert_eq!(Scale::new(2.0), Scale::Times(2));
        assert_eq!(Scale::new(0.5), Scale::Over(2));
        assert_eq!(Scale::new(1.0 / 3.0), Scale::Over(3));
        assert_eq!(Scale::new(f32::NAN), Scale::Times(0));
        assert_eq!(Scale::new(-1.0).of_size(5), 0);
        for (size, scale, scaled) in
            [(10, 0.7, 7), (100, 0.29, 29), (3, 0.99999, 2), (3, 1.333_333_3, 4), (49, 1.0 / 49.0, 1)]
        {
            assert_eq!(Scale::new(scale).of_size(size), scaled, "{size} * {scale}");
        }
    }
}
