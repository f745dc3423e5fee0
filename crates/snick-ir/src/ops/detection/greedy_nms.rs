//! Greedy non-maximum suppression of sorted boxes.

use snick_tensor::kernels::overlap::Suppression;

use super::box_grid::BoxGrid;
use super::corners::Corners;

/// Keeps a candidate if its IoU with each previously kept candidate is at most `threshold`. The candidates are
/// sorted best first. Keeps at most `limit` candidates.
pub fn nms<T: Copy>(
    candidates: &[T],
    corners: impl Fn(&T) -> Corners,
    unit: f32,
    threshold: f32,
    limit: usize,
) -> Vec<T> {
    let boxes: Vec<Corners> = candidates.iter().map(corners).collect();
    let mut chosen: Vec<T> = Vec::new();
    // The IoU of boxes that are apart is 0, which only exceeds a negative threshold.
    let mut grid = if threshold >= 0.0 { BoxGrid::new(boxes.iter()) } else { BoxGrid::undivided() };
    for (candidate, own) in candidates.iter().zip(&boxes) {
        if chosen.len() >= limit {
            break;
        }
        if !grid.suppresses(own, unit, Suppression { threshold, or_equal: false }) {
            grid.insert(own);
            chosen.push(*candidate);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_candidates_are_dropped() {
        let boxes = Corners::all(&[0., 0., 2., 2., 0., 0., 2., 1.9, 5., 5., 6., 6.]);
        let chosen = |threshold, limit| nms(&boxes, |corners| *corners, 0.0, threshold, limit);
        assert_eq!(chosen(0.5, 9), [boxes[0], boxes[2]]);
        assert_eq!(chosen(0.99, 2), [boxes[0], boxes[1]]);
        assert_eq!(chosen(-1.0, 9), [boxes[0]]);
    }
}
