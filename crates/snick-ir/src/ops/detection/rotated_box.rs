//! Rotated rectangles and their intersection over union.

use super::corners::Corners;

/// A rectangle, rotated about its centre.
#[derive(Copy, Clone, Debug)]
pub struct RotatedBox {
    /// The corners, in order around the box.
    corners: [Point; 4],
    area: f32,
}

/// x and y.
type Point = [f32; 2];

impl RotatedBox {
    /// A box from centre x, centre y, width, height and an angle in radians, which is multiplied by `turn` (1
    /// or -1) to set its direction.
    pub fn new([x, y, width, height, angle]: [f32; 5], turn: f32) -> Self {
        let (sin, cos) = (turn * angle).sin_cos();
        let corner = |dx: f32, dy: f32| {
            let (dx, dy) = (dx * width, dy * height);
            [x + dx * cos - dy * sin, y + dx * sin + dy * cos]
        };
        let corners = [corner(-0.5, -0.5), corner(0.5, -0.5), corner(0.5, 0.5), corner(-0.5, 0.5)];
        Self { corners, area: width * height }
    }

    /// The smallest upright box around the rectangle.
    pub fn bounds(&self) -> Corners {
        let mut bounds = Corners { left: f32::MAX, top: f32::MAX, right: f32::MIN, bottom: f32::MIN };
        for [x, y] in self.corners {
            bounds.left = bounds.left.min(x);
            bounds.top = bounds.top.min(y);
            bounds.right = bounds.right.max(x);
            bounds.bottom = bounds.bottom.max(y);
        }
        bounds
    }

    /// Intersection over union.
    pub fn iou(&self, other: &Self) -> f32 {
        if !(self.area > 0.0 && other.area > 0.0) {
            return 0.0;
        }
        let shared = self.intersection(other);
        shared / (self.area + other.area - shared)
    }

    /// The area of the intersection: clips one box at each side of the other (Sutherland–Hodgman).
    fn intersection(&self, other: &Self) -> f32 {
        let mut shape: Vec<Point> = self.corners.to_vec();
        for (from, to) in sides(&other.corners) {
            let inside = |point: Point| cross(from, to, point);
            let mut cut = Vec::with_capacity(shape.len() + 1);
            for (a, b) in sides(&shape) {
                let (at_a, at_b) = (inside(a), inside(b));
                if at_a >= 0.0 {
                    cut.push(a);
                }
                if (at_a > 0.0 && at_b < 0.0) || (at_a < 0.0 && at_b > 0.0) {
                    let part = at_a / (at_a - at_b);
                    cut.push([a[0] + part * (b[0] - a[0]), a[1] + part * (b[1] - a[1])]);
                }
            }
            shape = cut;
        }
        let Some(&first) = shape.first() else { return 0.0 };
        0.5 * sides(&shape).map(|(a, b)| cross(first, a, b)).sum::<f32>()
    }
}

/// The sides of a polygon.
fn sides(points: &[Point]) -> impl Iterator<Item = (Point, Point)> + '_ {
    points.iter().copied().zip(points.iter().copied().cycle().skip(1))
}

/// Twice the signed area of a triangle; positive if the points are ordered in the direction from the x axis
/// to the y axis.
fn cross(a: Point, b: Point, c: Point) -> f32 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intersections_of_rotated_boxes_have_the_right_area() {
        let a = RotatedBox::new([0.0, 0.0, 2.0, 2.0, 0.0], 1.0);
        let b = RotatedBox::new([1.0, 0.0, 2.0, 2.0, 0.0], 1.0);
        assert_eq!(a.intersection(&b), 2.0);
        assert_eq!(a.iou(&a), 1.0);
        // The intersection with a square rotated by 45 degrees is an octagon.
        let diamond = RotatedBox::new([0.0, 0.0, 2.0, 2.0, std::f32::consts::FRAC_PI_4], 1.0);
        let octagon = 8.0 * (2f32.sqrt() - 1.0);
        assert!((a.intersection(&diamond) - octagon).abs() < 1e-5);
        let far = RotatedBox::new([9.0, 0.0, 1.0, 1.0, 0.3], -1.0);
        assert_eq!(a.iou(&far), 0.0);
    }
}
