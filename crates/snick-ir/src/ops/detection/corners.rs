//! Boxes given by their corners: size, intersection over union and regression deltas.
//!
//! A box may include the pixels at its corners; its width is then `right - left + 1`. Every length therefore
//! includes `unit`, which is 1 for such boxes and 0 for others.

use std::cmp::Ordering;

use snick_tensor::kernels::overlap;

/// Left, top, right and bottom, in memory order.
#[derive(Copy, Clone, PartialEq, Debug, Default)]
pub struct Corners {
    /// Minimum x.
    pub left: f32,
    /// Minimum y.
    pub top: f32,
    /// Maximum x.
    pub right: f32,
    /// Maximum y.
    pub bottom: f32,
}

impl Corners {
    /// Reads the boxes of a row-major `[.., 4]` array.
    pub fn all(values: &[f32]) -> Vec<Self> {
        values.as_chunks::<4>().0.iter().map(|&coordinates| Self::from(coordinates)).collect()
    }

    /// Width and height; negative if the corners are swapped.
    pub fn size(&self, unit: f32) -> [f32; 2] {
        [self.right - self.left + unit, self.bottom - self.top + unit]
    }

    /// Width times height.
    pub fn area(&self, unit: f32) -> f32 {
        let [width, height] = self.size(unit);
        width * height
    }

    /// Width and height of the intersection; `None` if the boxes are disjoint.
    pub fn intersection(&self, other: &Self, unit: f32) -> Option<[f32; 2]> {
        let (is_disjoint, size) = overlap::intersection(self.coordinates(), other.coordinates(), unit);
        (!is_disjoint).then_some(size)
    }

    /// Intersection over union.
    pub fn iou(&self, other: &Self, unit: f32) -> f32 {
        overlap::iou(self.coordinates(), other.coordinates(), unit)
    }

    /// Applies regression deltas: moves the centre by `[dx, dy]` times the size, and multiplies the size by
    /// `exp([dw, dh])`, with `dw` and `dh` clamped to `limit`.
    pub fn with_deltas(&self, [dx, dy, dw, dh]: [f32; 4], unit: f32, limit: f32) -> Self {
        let [width, height] = self.size(unit);
        let (x, y) = (self.left + 0.5 * width, self.top + 0.5 * height);
        let (x, y) = (dx * width + x, dy * height + y);
        let (width, height) = (dw.min(limit).exp() * width, dh.min(limit).exp() * height);
        Self {
            left: x - 0.5 * width,
            top: y - 0.5 * height,
            right: x + 0.5 * width,
            bottom: y + 0.5 * height,
        }
    }

    /// Moves right and bottom inwards by `unit`, from the outer edge of the last pixels to the pixels
    /// themselves.
    pub fn inclusive(self, unit: f32) -> Self {
        Self { right: self.right - unit, bottom: self.bottom - unit, ..self }
    }

    /// Divides x by `width` and y by `height`.
    pub fn divided(&self, width: f32, height: f32) -> Self {
        Self {
            left: self.left / width,
            top: self.top / height,
            right: self.right / width,
            bottom: self.bottom / height,
        }
    }

    /// Clips every corner to `0..=width` and `0..=height`.
    pub fn clipped(&self, width: f32, height: f32) -> Self {
        Self {
            left: self.left.min(width).max(0.0),
            top: self.top.min(height).max(0.0),
            right: self.right.min(width).max(0.0),
            bottom: self.bottom.min(height).max(0.0),
        }
    }

    /// The coordinates in memory order.
    pub fn coordinates(&self) -> [f32; 4] {
        [self.left, self.top, self.right, self.bottom]
    }
}

impl From<[f32; 4]> for Corners {
    fn from([left, top, right, bottom]: [f32; 4]) -> Self {
        Self { left, top, right, bottom }
    }
}

/// Total order with the higher score first; 0 and -0 are equal.
pub fn highest_first(a: f32, b: f32) -> Ordering {
    (b + 0.0).total_cmp(&(a + 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iou_counts_boundary_pixels_if_they_belong_to_the_box() {
        let [a, b] = [[0., 0., 1., 1.], [1., 0., 2., 1.]].map(Corners::from);
        assert_eq!(a.iou(&b, 0.0), 0.0);
        assert_eq!(a.iou(&b, 1.0), 2.0 / 6.0);
        assert_eq!(a.iou(&a, 0.0), 1.0);
    }

    #[test]
    fn deltas_are_relative_to_the_size_of_the_box() {
        let a = Corners::from([0., 0., 2., 4.]);
        assert_eq!(a.with_deltas([0.5, 0.25, 0.0, 0.0], 0.0, 9.0).coordinates(), [1., 1., 3., 5.]);
        let grown = a.with_deltas([0.0, 0.0, 9.0, 0.0], 0.0, 2f32.ln());
        assert!((grown.size(0.0)[0] - 4.0).abs() < 1e-5);
    }
}
