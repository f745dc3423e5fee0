//! Boxes by their corners: size, overlap, offsets applied, and the choice of those that do not cover each other.
//!
//! A `unit` is what is added to each length: 1 where corners are pixels that belong to the box, else 0.

use std::cmp::Ordering;

/// Left, top, right and bottom, in the order of the elements.
#[derive(Copy, Clone, PartialEq, Debug, Default)]
pub struct Corners {
    /// The lower x.
    pub left: f32,
    /// The lower y.
    pub top: f32,
    /// The upper x.
    pub right: f32,
    /// The upper y.
    pub bottom: f32,
}

impl Corners {
    /// The boxes of a row-major `[.., 4]`.
    pub fn all(values: &[f32]) -> Vec<Self> {
        let boxes = values.as_chunks::<4>().0;
        boxes.iter().map(|&sides| Self::from(sides)).collect()
    }

    /// Width and height; negative where the corners are exchanged.
    pub fn size(&self, unit: f32) -> [f32; 2] {
        [self.right - self.left + unit, self.bottom - self.top + unit]
    }

    /// Width times height.
    pub fn area(&self, unit: f32) -> f32 {
        let [width, height] = self.size(unit);
        width * height
    }

    /// Width and height of what two boxes share; `None` where they lie apart.
    pub fn shared(&self, other: &Self, unit: f32) -> Option<[f32; 2]> {
        let apart = other.left > self.right
            || other.right < self.left
            || other.top > self.bottom
            || other.bottom < self.top;
        let both = Self {
            left: self.left.max(other.left),
            top: self.top.max(other.top),
            right: self.right.min(other.right),
            bottom: self.bottom.min(other.bottom),
        };
        (!apart).then(|| both.size(unit))
    }

    /// The shared area over the area of both together.
    pub fn overlap(&self, other: &Self, unit: f32) -> f32 {
        match self.shared(other, unit) {
            Some([width, height]) if width > 0.0 && height > 0.0 => {
                let shared = width * height;
                shared / (self.area(unit) + other.area(unit) - shared)
            }
            _ => 0.0,
        }
    }

    /// The box moved by `[dx, dy]` in its own size and grown by the exponents `[dw, dh]`, which count up to `limit`.
    pub fn refined(&self, by: [f32; 4], unit: f32, limit: f32) -> Self {
        let [dx, dy, dw, dh] = by;
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

    /// With right and bottom a `unit` nearer: back to pixels that belong to the box.
    pub fn inclusive(self, unit: f32) -> Self {
        Self { right: self.right - unit, bottom: self.bottom - unit, ..self }
    }

    /// Every corner brought to within `0..=width` and `0..=height`.
    pub fn clipped(&self, width: f32, height: f32) -> Self {
        Self {
            left: self.left.min(width).max(0.0),
            top: self.top.min(height).max(0.0),
            right: self.right.min(width).max(0.0),
            bottom: self.bottom.min(height).max(0.0),
        }
    }

    /// The elements.
    pub fn sides(&self) -> [f32; 4] {
        [self.left, self.top, self.right, self.bottom]
    }
}

impl From<[f32; 4]> for Corners {
    fn from([left, top, right, bottom]: [f32; 4]) -> Self {
        Self { left, top, right, bottom }
    }
}

/// The order in which the higher score comes first. Total, and the two zeros are equal.
pub fn best_first(a: f32, b: f32) -> Ordering {
    (b + 0.0).total_cmp(&(a + 0.0))
}

/// Of candidates in order the indices of those that overlap no one chosen before by more than `threshold`; at most
/// `most`.
pub fn nms(candidates: &[Corners], unit: f32, threshold: f32, most: usize) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    for (i, candidate) in candidates.iter().enumerate() {
        if chosen.len() >= most {
            break;
        }
        let mut others = chosen.iter().filter_map(|&j| candidates.get(j));
        if !others.any(|other| candidate.overlap(other, unit) > threshold) {
            chosen.push(i);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlap_counts_pixels_where_they_belong() {
        let [a, b] = [[0., 0., 1., 1.], [1., 0., 2., 1.]].map(Corners::from);
        assert_eq!(a.overlap(&b, 0.0), 0.0);
        assert_eq!(a.overlap(&b, 1.0), 2.0 / 6.0);
        assert_eq!(a.overlap(&a, 0.0), 1.0);
    }

    #[test]
    fn offsets_are_in_the_size_of_the_box() {
        let a = Corners::from([0., 0., 2., 4.]);
        assert_eq!(a.refined([0.5, 0.25, 0.0, 0.0], 0.0, 9.0).sides(), [1., 1., 3., 5.]);
        let grown = a.refined([0.0, 0.0, 9.0, 0.0], 0.0, 2f32.ln());
        assert!((grown.size(0.0)[0] - 4.0).abs() < 1e-5);
    }

    #[test]
    fn covered_candidates_go() {
        let boxes = Corners::all(&[0., 0., 2., 2., 0., 0., 2., 1.9, 5., 5., 6., 6.]);
        assert_eq!(nms(&boxes, 0.0, 0.5, 9), [0, 2]);
        assert_eq!(nms(&boxes, 0.0, 0.99, 2), [0, 1]);
    }
}
