//! Determines when ONNX's Resize is equivalent to OpenVINO's Interpolate.
//!
//! Interpolate computes coordinates in 32-bit floats. ONNX defines the coordinates of Resize exactly, so a
//! coordinate halfway between two elements is a tie even if a 32-bit division rounds it to another number.
//! ONNX Runtime computes in 32-bit floats too, but treats coordinates near a tie as ties. The ops are
//! equivalent only if Interpolate, the definition and ONNX Runtime select the same elements.

use snick_shape::Interval;
use snick_tensor::kernels::{Coordinates, Nearest};

use super::{Interpolate, Mode};
use crate::ops::nn::scale::Scale;

/// ONNX Runtime treats a coordinate as a tie if its distance from a tie is at most this.
const TIE: f32 = 1e-6;

/// The new size of an axis, as far as it is known.
#[derive(Copy, Clone, Debug)]
pub enum OutputSize {
    /// The size is computed from this scale.
    FromScale(f32),
    /// The size is within this interval.
    Within(Interval),
}

impl Interpolate {
    /// Whether Resize is equivalent on an axis whose size is in `from`.
    pub fn equals_onnx_resize(&self, from: Interval, to: OutputSize) -> bool {
        match to {
            OutputSize::FromScale(1.0) => true,
            OutputSize::FromScale(scale) => {
                let scaled = from.is_exact().map(|size| Scale::new(scale).of_size(size));
                Scale::new(scale).agrees_with_onnx(from)
                    && self.equals_onnx_resize_of(from.is_exact(), scaled, Some(scale))
            }
            OutputSize::Within(size) => self.equals_onnx_resize_of(from.is_exact(), size.is_exact(), None),
        }
    }

    /// Whether Resize is equivalent for the given sizes and scale. Interpolating modes are always equivalent
    /// up to rounding; only the nearest mode depends on ties.
    fn equals_onnx_resize_of(&self, from: Option<i64>, to: Option<i64>, scale: Option<f32>) -> bool {
        let is_aligned = self.coordinate_transformation_mode == Coordinates::AlignCorners;
        if self.mode != Mode::Nearest {
            return true;
        }
        let size = |size: Option<i64>| size.and_then(|size| usize::try_from(size).ok());
        match (self.nearest_mode, size(from).zip(size(to))) {
            (Nearest::Simple, _) => false,
            (Nearest::Floor | Nearest::Ceil, _) if !is_aligned => true,
            (_, Some((from, to))) => self.picks_the_same(from, to, scale),
            // A size is unknown. The ops are known to be equivalent only if 32-bit arithmetic finds every tie
            // for the scale.
            _ => !is_aligned && scale.is_some_and(has_exact_ties),
        }
    }

    /// Whether Resize and Interpolate select the same input element for every output element.
    fn picks_the_same(&self, from: usize, to: usize, scale: Option<f32>) -> bool {
        if from == to || from == 0 {
            return true;
        }
        let last = from as f64 - 1.0;
        let scaled = scale.unwrap_or(to as f32 / from as f32);
        (0..to).all(|x| {
            let own = self.coordinate_transformation_mode.source(x, scaled, from, to);
            let pick = f64::from(self.nearest_mode.round(own, scaled)).clamp(0.0, last);
            let exact = self.exact_source(x as f64, (from as f64, to as f64), scale);
            let rounded = round(self.nearest_mode, exact, 0.0).clamp(0.0, last);
            let in_runtime = round(self.nearest_mode, f64::from(own), f64::from(TIE)).clamp(0.0, last);
            pick == rounded && pick == in_runtime
        })
    }

    /// The source coordinate of output `x` in f64, computed with a single division so that ties are exact.
    fn exact_source(&self, x: f64, (from, to): (f64, f64), scale: Option<f32>) -> f64 {
        // The scale is the quotient `grown / over`.
        let (over, grown) = match scale {
            Some(scale) => (1.0, f64::from(scale)),
            None => (from, to),
        };
        match self.coordinate_transformation_mode {
            Coordinates::AlignCorners | Coordinates::PytorchHalfPixel if to <= 1.0 => 0.0,
            Coordinates::AlignCorners => x * (from - 1.0) / (to - 1.0),
            Coordinates::Asymmetric => x * over / grown,
            Coordinates::TfHalfPixelForNn => (2.0 * x + 1.0) * over / (2.0 * grown),
            Coordinates::HalfPixel | Coordinates::PytorchHalfPixel => {
                ((2.0 * x + 1.0) * over - grown) / (2.0 * grown)
            }
        }
    }
}

/// Whether 32-bit arithmetic finds exactly the true ties. This is certain in two cases:
///
/// - The scale is an integer. A quotient is then either a multiple of 1/2, which is computed exactly, or too
///   far from a tie to be rounded to one.
/// - The scale is the inverse of a power of two. Every division is then exact.
fn has_exact_ties(scale: f32) -> bool {
    let over = 1.0 / scale;
    scale.fract() == 0.0 || (over.fract() == 0.0 && (over as u64).is_power_of_two())
}

/// Rounds a coordinate, treating it as a tie if it is within `margin` of a tie.
fn round(nearest: Nearest, at: f64, margin: f64) -> f64 {
    let part = at - at.floor();
    let is_tie = (part - 0.5).abs() <= margin;
    match nearest {
        Nearest::Floor => at.floor(),
        Nearest::Ceil => at.ceil(),
        Nearest::RoundPreferCeil if is_tie => at.ceil(),
        Nearest::RoundPreferFloor if is_tie => at.floor(),
        _ => (at + 0.5).floor(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nearest(coordinate_transformation_mode: Coordinates, nearest_mode: Nearest) -> Interpolate {
        Interpolate { coordinate_transformation_mode, nearest_mode, ..Interpolate::default() }
    }

    #[test]
    fn ties_that_32_bits_miss_are_seen() {
        let size = |size| OutputSize::Within(Interval::exact(size));
        for rounding in [Nearest::RoundPreferCeil, Nearest::RoundPreferFloor] {
            // 4.5 / 0.3 is exactly 15, which makes the coordinate a tie.
            let op = nearest(Coordinates::HalfPixel, rounding);
            let misses = rounding == Nearest::RoundPreferCeil;
            assert_eq!(op.equals_onnx_resize(Interval::exact(20), size(6)), !misses);
            assert!(op.equals_onnx_resize(Interval::exact(20), size(10)));
            assert!(!op.equals_onnx_resize(Interval::DIM, size(6)));
            assert!(op.equals_onnx_resize(Interval::DIM, OutputSize::FromScale(3.0)));
            assert!(op.equals_onnx_resize(Interval::DIM, OutputSize::FromScale(0.25)));
            assert!(!op.equals_onnx_resize(Interval::DIM, OutputSize::FromScale(0.6)));
        }
        let floor = nearest(Coordinates::Asymmetric, Nearest::Floor);
        assert!(floor.equals_onnx_resize(Interval::DIM, size(6)));
        assert!(
            !nearest(Coordinates::Asymmetric, Nearest::Simple).equals_onnx_resize(Interval::DIM, size(6))
        );
        let corners = nearest(Coordinates::AlignCorners, Nearest::Floor);
        assert!(!corners.equals_onnx_resize(Interval::DIM, size(6)));
        assert!(corners.equals_onnx_resize(Interval::exact(3), size(5)));
    }
}
