//! Sizes of axes scaled by a 32-bit factor, with the rounding of Interpolate and of ONNX's Resize.

use snick_shape::{Interval, SymExpr};

use crate::Infer;

/// The scale factor of an axis.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Scale(f32);

/// The largest size to check for an axis without an upper bound.
const OPEN: i64 = 1 << 14;

impl Scale {
    /// The number that Interpolate adds to a scale, so that a product just below an integer counts as that
    /// integer.
    pub const EPSILON: f32 = 1e-6;

    /// Creates a scale. Any number that is not positive and finite scales all sizes to 0.
    pub fn new(scale: f32) -> Self {
        Self(if scale.is_finite() && scale > 0.0 { scale } else { 0.0 })
    }

    /// The scaled size in OpenVINO's Interpolate, computed in 32 bits like its runtime.
    pub fn of_size(self, size: i64) -> i64 {
        match self.0 {
            0.0 => 0,
            1.0 => size,
            // The cast saturates; sizes are not negative.
            scale => (size as f32 * (scale + Self::EPSILON)) as i64,
        }
    }

    /// The scaled size in ONNX's Resize, which adds no epsilon.
    fn of_size_in_onnx(self, size: i64) -> i64 {
        (size as f32 * self.0) as i64
    }

    /// Whether Interpolate and Resize agree for every size in the interval. They must produce the same size,
    /// and either both or neither must resample the axis: Interpolate skips an axis whose size does not
    /// change, Resize an axis with scale 1.
    pub fn agrees_with_onnx(self, sizes: Interval) -> bool {
        let last = if sizes.has_upper() { sizes.hi() } else { OPEN.max(sizes.lo()) };
        let is_same = |size: i64| {
            let scaled = self.of_size(size);
            // Resampling an axis of one element only repeats the element, so it does not matter whether both
            // ops resample the axis.
            scaled == self.of_size_in_onnx(size) && (scaled != size || size <= 1)
        };
        self.0 == 1.0 || (last - sizes.lo() <= 1 << 20 && (sizes.lo().max(0)..=last).all(is_same))
    }

    /// The scaled dim in Interpolate: an expression if the scale is an integer or the reciprocal of an
    /// integer.
    pub fn of_dim(self, cx: &mut Infer, dim: &SymExpr) -> SymExpr {
        let interval = cx.interval(dim);
        let last = if interval.has_upper() { interval.hi() } else { OPEN.max(interval.lo()) };
        let (times, over) = (self.0.round() as i64, (1.0 / self.0).round());
        // Check the expression where the rounding error of the runtime is largest: at the last size, or just
        // below the last multiple.
        if times as f32 == self.0 && self.of_size(last) == last.saturating_mul(times) {
            return cx.mul(dim, &times.into());
        }
        if over.is_finite() && over >= 2.0 && 1.0 / over == self.0 {
            let over = over as i64;
            let behind = (last.saturating_add(1) / over).saturating_mul(over).saturating_sub(1);
            if behind <= last && self.of_size(behind) == behind.div_euclid(over) {
                return cx.floor_div(dim, &over.into());
            }
        }
        // Scaling is monotone, so the ends of the interval map to the ends of the result.
        let hi = if interval.has_upper() { self.of_size(interval.hi()) } else { i64::MAX };
        let scaled = Interval::new(self.of_size(interval.lo().max(0)), hi);
        cx.unknown(scaled.unwrap_or(Interval::DIM))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpolate_adds_an_epsilon_and_resize_does_not() {
        for (size, scale, scaled, in_onnx) in [
            (10, 0.7, 7, 7),
            (100, 0.29, 29, 29),
            (3, 0.99999, 2, 2),
            (3, 1.333_333_3, 4, 3),
            (49, 1.0 / 49.0, 1, 1),
            (706, 224.0 / 706.0, 224, 223),
            (9_999, 1e-4, 1, 0),
            (1 << 21, 1.0, 1 << 21, 1 << 21),
        ] {
            assert_eq!(Scale::new(scale).of_size(size), scaled, "{size} * {scale}");
            assert_eq!(Scale::new(scale).of_size_in_onnx(size), in_onnx, "{size} * {scale}");
        }
        assert_eq!(Scale::new(-1.0).of_size(5), 0);
        assert_eq!(Scale::new(f32::NAN).of_size(5), 0);
    }

    #[test]
    fn formats_agree_where_sizes_do_and_no_size_stays() {
        let sizes = |lo, hi| Interval::new(lo, hi).unwrap();
        for scale in [1.0, 2.0, 3.0, 1.5, 0.5, 0.25, 1.0 / 3.0] {
            assert!(Scale::new(scale).agrees_with_onnx(Interval::DIM), "{scale}");
        }
        let scale = Scale::new(224.0 / 706.0);
        assert!(!scale.agrees_with_onnx(Interval::exact(706)));
        assert!(scale.agrees_with_onnx(sizes(1, 100)));
        // With scale 1.3, three elements stay three, but only Resize resamples them.
        assert!(!Scale::new(1.3).agrees_with_onnx(sizes(3, 9)));
        assert!(Scale::new(1.3).agrees_with_onnx(sizes(4, 9)));
    }
}
