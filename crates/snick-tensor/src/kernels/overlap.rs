//! Intersection over union (IoU) of boxes, for non-maximum suppression.
//!
//! A box is `[left, top, right, bottom]`. Each length includes `unit`: 1 for boxes that include the pixels at their
//! corners, and 0 for others.
//!
//! **Layout.** Many boxes are four slices, one per side, so that a vector holds one side of several boxes.
//! **Threads.** Runs on one thread.

use crate::kernels::vectors::{Instructions, Vectorised, dispatch_best};

/// Which IoU suppresses a box.
#[derive(Copy, Clone, Debug)]
pub struct Suppression {
    /// A greater IoU suppresses.
    pub threshold: f32,
    /// Whether the threshold itself suppresses, too.
    pub or_equal: bool,
}

impl Suppression {
    /// Whether boxes with this IoU suppress each other.
    #[inline(always)]
    pub fn applies(&self, iou: f32) -> bool {
        (iou > self.threshold) | (self.or_equal & (iou == self.threshold))
    }

    /// Whether any of `boxes`, whose sides have the same length, suppresses a box.
    pub fn applies_to_any(&self, own: [f32; 4], boxes: [&[f32]; 4], unit: f32) -> bool {
        dispatch_best(Search { suppression: *self, own, boxes, unit })
    }
}

/// Whether boxes are apart, and width and height of the intersection if they are not.
#[inline(always)]
pub fn intersection(a: [f32; 4], b: [f32; 4], unit: f32) -> (bool, [f32; 2]) {
    // Unlike `f32::max`, these are one instruction each.
    let [greater, lesser] = [|a: f32, b| if a > b { a } else { b }, |a: f32, b| if a < b { a } else { b }];
    let is_apart = (b[0] > a[2]) | (b[2] < a[0]) | (b[1] > a[3]) | (b[3] < a[1]);
    (is_apart, [0, 1].map(|axis| lesser(a[axis + 2], b[axis + 2]) - greater(a[axis], b[axis]) + unit))
}

/// Intersection over union; 0 for boxes that are apart. Has no branches, so that loops can use vector instructions.
#[inline(always)]
pub fn iou(a: [f32; 4], b: [f32; 4], unit: f32) -> f32 {
    let area = |[left, top, right, bottom]: [f32; 4]| (right - left + unit) * (bottom - top + unit);
    let (is_apart, [width, height]) = intersection(a, b, unit);
    let shared = width * height;
    let iou = shared / (area(a) + area(b) - shared);
    if !is_apart & (width > 0.0) & (height > 0.0) { iou } else { 0.0 }
}

struct Search<'a> {
    suppression: Suppression,
    own: [f32; 4],
    boxes: [&'a [f32]; 4],
    unit: f32,
}

impl Vectorised for Search<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<I: Instructions>(self) -> bool {
        /// Boxes that are compared before the search may end.
        const BLOCK: usize = 64;
        let Self { suppression, own, boxes: [left, top, right, bottom], unit } = self;
        let sides =
            left.chunks(BLOCK).zip(top.chunks(BLOCK)).zip(right.chunks(BLOCK)).zip(bottom.chunks(BLOCK));
        for (((left, top), right), bottom) in sides {
            let boxes = left.iter().zip(top).zip(right).zip(bottom);
            let any = boxes.fold(false, |any, (((&left, &top), &right), &bottom)| {
                any | suppression.applies(iou(own, [left, top, right, bottom], unit))
            });
            if any {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_many_boxes_suppresses() {
        let own = [0.0, 0.0, 10.0, 10.0];
        for count in [1, 15, 64, 70, 200] {
            for at in [0, count / 2, count - 1] {
                // All others are apart, or share a corner.
                let mut sides = [5.0, 20.0, 15.0, 30.0].map(|side| vec![side; count]);
                sides[1][count / 3] = 9.0;
                let any = |sides: &[Vec<f32>; 4], threshold, or_equal| {
                    let sides = sides.each_ref().map(|side| &side[..]);
                    Suppression { threshold, or_equal }.applies_to_any(own, sides, 0.0)
                };
                assert!(!any(&sides, 0.25, true), "{at} of {count}");
                sides.iter_mut().zip([0.0, 0.0, 10.0, 5.0]).for_each(|(side, value)| side[at] = value);
                assert!(any(&sides, 0.25, false) && any(&sides, 0.5, true), "{at} of {count}");
                assert!(!any(&sides, 0.5, false), "{at} of {count}");
            }
        }
    }

    #[test]
    fn the_unit_adds_to_each_length() {
        let (a, b) = ([0.0, 0.0, 1.0, 1.0], [1.0, 1.0, 2.0, 2.0]);
        assert_eq!([iou(a, b, 0.0), iou(a, b, 1.0), iou(a, a, 0.0)], [0.0, 1.0 / 7.0, 1.0]);
        let nan = [f32::NAN, 0.0, 1.0, 1.0];
        let suppression = Suppression { threshold: 0.0, or_equal: false };
        assert!([iou(a, nan, 0.0), iou(nan, a, 0.0)].into_iter().all(|iou| !suppression.applies(iou)));
    }
}
