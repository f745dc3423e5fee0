//! Boxes by position, so that suppression compares a box only with boxes near it instead of with all.

use super::corners::Corners;

/// The grid has at most this many columns and rows.
const MAX_SIDE: usize = 64;

/// A box in more cells than this is compared with every box.
const MAX_CELLS: usize = 16;

/// The end of the list of a cell.
const NONE: u32 = u32::MAX;

/// Boxes in the cells of a grid that they touch. The boxes have the indices 0, 1, 2 .. in the order in which
/// they were inserted.
pub struct BoxGrid {
    /// The corner of the first cell.
    origin: [f32; 2],
    /// The number of cells per unit of length.
    density: [f32; 2],
    /// The numbers of columns and rows.
    sides: [usize; 2],
    /// The first entry of each cell in `entries`, or [`NONE`].
    heads: Vec<u32>,
    /// A box, and the next entry of the same cell.
    entries: Vec<[u32; 2]>,
    /// Boxes in too many cells.
    wide: Vec<u32>,
    count: u32,
}

impl BoxGrid {
    /// An empty grid for boxes like these.
    pub fn new<'c>(boxes: impl Iterator<Item = &'c Corners>) -> Self {
        let (mut low, mut high, mut total, mut count) = ([f32::MAX; 2], [f32::MIN; 2], [0f32; 2], 0usize);
        for corners in boxes.filter(|corners| is_finite(corners)) {
            let (first, last) = ends(corners, 0.0);
            for axis in 0..2 {
                low[axis] = low[axis].min(first[axis]);
                high[axis] = high[axis].max(last[axis]);
                total[axis] += last[axis] - first[axis];
            }
            count += 1;
        }
        let most = count.isqrt().clamp(1, MAX_SIDE);
        // A box of average size touches about two cells along each axis.
        let side = |axis: usize| {
            let (extent, mean) = (high[axis] - low[axis], total[axis] / count as f32);
            let side = if mean > 0.0 { (extent / mean) as usize } else { most };
            let side = side.clamp(1, most);
            let density = side as f32 / extent;
            (side, if density.is_finite() { density } else { 0.0 })
        };
        let [(columns, x), (rows, y)] = [side(0), side(1)];
        Self {
            origin: low,
            density: [x, y],
            sides: [columns, rows],
            heads: vec![NONE; columns * rows],
            entries: Vec::new(),
            wide: Vec::new(),
            count: 0,
        }
    }

    /// A grid of a single cell: every box is near every other box.
    pub fn undivided() -> Self {
        Self::new(std::iter::empty())
    }

    /// Adds a box.
    pub fn insert(&mut self, corners: &Corners) {
        let index = self.count;
        self.count += 1;
        match self.cells(corners, 0.0) {
            Some(([left, top], [right, bottom])) if (right - left + 1) * (bottom - top + 1) <= MAX_CELLS => {
                for row in top..=bottom {
                    for column in left..=right {
                        let head = &mut self.heads[row * self.sides[0] + column];
                        self.entries.push([index, *head]);
                        *head = (self.entries.len() - 1) as u32;
                    }
                }
            }
            _ => self.wide.push(index),
        }
    }

    /// Whether a box passes the test. Only boxes that might be at most `margin` away from `corners` are
    /// tested, some of them several times.
    pub fn any_near(&self, corners: &Corners, margin: f32, mut test: impl FnMut(usize) -> bool) -> bool {
        let mut passes = |index: u32| test(index as usize);
        let Some(([left, top], [right, bottom])) = self.cells(corners, margin) else {
            return (0..self.count).any(passes);
        };
        if (right - left + 1) * (bottom - top + 1) > self.count as usize {
            return (0..self.count).any(passes);
        }
        for row in top..=bottom {
            for column in left..=right {
                let mut entry = self.heads[row * self.sides[0] + column];
                while let Some(&[index, next]) = self.entries.get(entry as usize) {
                    if passes(index) {
                        return true;
                    }
                    entry = next;
                }
            }
        }
        self.wide.iter().copied().any(passes)
    }

    /// The first and the last cell (column, row) that a box touches; `None` if it is not finite.
    fn cells(&self, corners: &Corners, margin: f32) -> Option<([usize; 2], [usize; 2])> {
        if !is_finite(corners) {
            return None;
        }
        let cell = |at: [f32; 2]| {
            [0, 1].map(|axis| {
                // The conversion replaces negative numbers by 0.
                let cell = ((at[axis] - self.origin[axis]) * self.density[axis]) as usize;
                cell.min(self.sides[axis] - 1)
            })
        };
        let (first, last) = ends(corners, margin);
        Some((cell(first), cell(last)))
    }
}

fn is_finite(corners: &Corners) -> bool {
    corners.coordinates().iter().all(|side| side.is_finite())
}

/// The smallest and the largest x and y of a box and of a margin around it; corners may be swapped.
fn ends(corners: &Corners, margin: f32) -> ([f32; 2], [f32; 2]) {
    let [left, top, right, bottom] = corners.coordinates();
    (
        [left.min(right) - margin, top.min(bottom) - margin],
        [left.max(right) + margin, top.max(bottom) + margin],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Boxes of very different sizes, some with swapped corners.
    fn boxes() -> Vec<Corners> {
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32
        };
        (0..400)
            .map(|i| {
                let size = if i % 50 == 0 { 90.0 } else { 4.0 };
                let [x, y] = [next(), next()].map(|at| 100.0 * at - 20.0);
                Corners::from([x, y, x + size * (next() - 0.1), y + size * (next() - 0.1)])
            })
            .collect()
    }

    #[test]
    fn all_boxes_that_touch_are_near() {
        let boxes = boxes();
        let mut grid = BoxGrid::new(boxes.iter());
        assert!(grid.heads.len() > 100, "{}", grid.heads.len());
        let mut tests = 0;
        for (i, own) in boxes.iter().enumerate() {
            let mut near = vec![false; i];
            grid.any_near(own, 0.0, |other| {
                near[other] = true;
                tests += 1;
                false
            });
            for (other, is_near) in boxes.iter().zip(near) {
                assert!(is_near || own.intersection(other, 0.0).is_none());
            }
            grid.insert(own);
        }
        assert!(tests < 400 * 400 / 8, "{tests} tests");
    }

    #[test]
    fn boxes_that_are_not_finite_are_near_all() {
        let nan = Corners::from([f32::NAN, 0.0, 1.0, 1.0]);
        let boxes = [boxes(), vec![nan]].concat();
        let mut grid = BoxGrid::new(boxes.iter());
        boxes.iter().for_each(|corners| grid.insert(corners));
        assert!(grid.any_near(&boxes[7], 0.0, |other| other == 400));
        assert!((0..400).all(|i| grid.any_near(&nan, 0.0, |other| other == i)));
    }

    #[test]
    fn an_undivided_grid_tests_all_boxes() {
        let boxes = boxes();
        let mut grid = BoxGrid::undivided();
        boxes.iter().for_each(|corners| grid.insert(corners));
        assert!((0..400).all(|i| grid.any_near(&boxes[7], 0.0, |other| other == i)));
    }
}
