//! Boxes by position, so that suppression compares a box only with boxes near it instead of with all.

use snick_tensor::kernels::overlap::Suppression;

use super::corners::Corners;

/// A box in more cells than this is compared with every box.
const MAX_CELLS: u64 = 16;

/// The maximum binary logarithm of the number of lists.
const MAX_LISTS_LOG2: u32 = 16;

/// A grid of fewer cells is not divided, because tests of all boxes are faster.
const MIN_CELLS: f32 = 24.0;

/// Searching one cell takes about as long as this many tests of consecutive boxes.
const FAST_TESTS: u64 = 16;

/// The number of boxes that are tested at a time.
const LANES: usize = 16;

/// The end of a list.
const NONE: u32 = u32::MAX;

/// The column and row of a cell.
type Cell = [u32; 2];

/// Boxes in the cells of a grid that they touch. The boxes have the indices 0, 1, 2 .. in the order in which
/// they were inserted. The grid is a hash table, because most cells may be empty: many detectors shift the boxes
/// of each class by a large distance, so that classes do not overlap.
pub struct BoxGrid {
    /// The corner of the first cell.
    origin: [f32; 2],
    /// The number of cells per unit of length.
    density: [f32; 2],
    /// For each hash of a cell, the first entry of its list in `entries`, or [`NONE`].
    heads: Vec<u32>,
    entries: Vec<Entry>,
    /// Boxes in too many cells.
    wide: Vec<u32>,
    /// Left, top, right and bottom of all boxes.
    sides: [Vec<f32>; 4],
}

/// A box in the list of a cell.
struct Entry {
    index: u32,
    /// The next entry of the list, or [`NONE`].
    next: u32,
    /// The first cell of the box.
    first: Cell,
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
        // A cell is twice as long as a box of average size.
        let extent = [0, 1].map(|axis| high[axis] - low[axis]);
        let density = [0, 1].map(|axis| {
            let length = (2.0 * total[axis]).max(extent[axis]) / count as f32;
            if length > 0.0 { length.recip() } else { 0.0 }
        });
        let cells = (extent[0] * density[0] + 1.0) * (extent[1] * density[1] + 1.0);
        if cells < MIN_CELLS {
            return Self::undivided();
        }
        let lists = 1 << count.max(1).ilog2().min(MAX_LISTS_LOG2);
        Self { origin: low, density, heads: vec![NONE; lists], ..Self::undivided() }
    }

    /// A grid in which every box is near every other box.
    pub fn undivided() -> Self {
        Self {
            origin: [0.0; 2],
            density: [0.0; 2],
            heads: Vec::new(),
            entries: Vec::new(),
            wide: Vec::new(),
            sides: Default::default(),
        }
    }

    fn len(&self) -> usize {
        self.sides[0].len()
    }

    /// Adds a box.
    pub fn insert(&mut self, corners: &Corners) {
        let index = self.len() as u32;
        for (side, value) in self.sides.iter_mut().zip(corners.coordinates()) {
            side.push(value);
        }
        if self.heads.is_empty() {
            return;
        }
        match self.cells(corners, 0.0).filter(|cells| number(cells) <= MAX_CELLS) {
            Some(cells) => {
                for cell in all(cells) {
                    let list = self.list(cell);
                    if let Some(head) = self.heads.get_mut(list) {
                        self.entries.push(Entry { index, next: *head, first: cells[0] });
                        *head = (self.entries.len() - 1) as u32;
                    }
                }
            }
            None => self.wide.push(index),
        }
    }

    /// Whether any box suppresses one with these corners.
    pub fn suppresses(&self, own: &Corners, unit: f32, suppression: Suppression) -> bool {
        let Some(cells) = self.cells_near(own, 0.0) else {
            let sides = self.sides.each_ref().map(|side| &side[..]);
            return suppression.applies_to_any(own.coordinates(), sides, unit);
        };
        self.any_in(cells, |_, other| suppression.applies(own.iou(other, unit)))
    }

    /// Whether a box passes the test, which gets the index of the box. Only boxes that might be at most `margin` away
    /// from `corners` are tested, in any order, and a few more of them once one has passed.
    #[inline]
    pub fn any_near(
        &self,
        corners: &Corners,
        margin: f32,
        test: impl FnMut(usize, &Corners) -> bool,
    ) -> bool {
        match self.cells_near(corners, margin) {
            Some(cells) => self.any_in(cells, test),
            None => self.any(test),
        }
    }

    /// The first and the last cell that a box with a margin touches; `None` if searching them takes longer than testing
    /// all boxes.
    fn cells_near(&self, corners: &Corners, margin: f32) -> Option<[Cell; 2]> {
        let worth = self.len() as u64 / FAST_TESTS;
        let cells = self.cells(corners, margin)?;
        (!self.heads.is_empty() && number(&cells) <= worth).then_some(cells)
    }

    /// Whether any box in one of the cells, or in too many cells, passes the test.
    #[inline]
    fn any_in(&self, cells: [Cell; 2], mut test: impl FnMut(usize, &Corners) -> bool) -> bool {
        let mut passes = |index: u32| self.get(index).is_some_and(|other| test(index as usize, &other));
        for cell in all(cells) {
            let mut entry = self.heads.get(self.list(cell)).copied().unwrap_or(NONE);
            while let Some(&Entry { index, next, first }) = self.entries.get(entry as usize) {
                // Boxes that share several cells are tested in the first of them.
                let is_first = [0, 1].iter().all(|&axis| first[axis].max(cells[0][axis]) == cell[axis]);
                if is_first && passes(index) {
                    return true;
                }
                entry = next;
            }
        }
        self.wide.iter().copied().any(passes)
    }

    /// Whether any box passes the test. Tests several boxes at a time, which the compiler can turn into vector
    /// instructions.
    #[inline]
    fn any(&self, mut test: impl FnMut(usize, &Corners) -> bool) -> bool {
        let [left, top, right, bottom] = self.sides.each_ref().map(|side| side.as_chunks::<LANES>());
        let blocks = left.0.iter().zip(top.0).zip(right.0).zip(bottom.0);
        for (block, (((left, top), right), bottom)) in blocks.enumerate() {
            let mut passes = false;
            for lane in 0..LANES {
                let [left, top, right, bottom] = [left[lane], top[lane], right[lane], bottom[lane]];
                passes |= test(block * LANES + lane, &Corners { left, top, right, bottom });
            }
            if passes {
                return true;
            }
        }
        let rest = self.len() - left.1.len();
        (rest..self.len()).any(|index| self.get(index as u32).is_some_and(|other| test(index, &other)))
    }

    fn get(&self, index: u32) -> Option<Corners> {
        let [left, top, right, bottom] = self.sides.each_ref().map(|side| side.get(index as usize).copied());
        Some(Corners { left: left?, top: top?, right: right?, bottom: bottom? })
    }

    /// The first and the last cell that a box touches; `None` if it is not finite.
    fn cells(&self, corners: &Corners, margin: f32) -> Option<[Cell; 2]> {
        // The conversion replaces numbers outside of the range by its ends.
        let cell =
            |at: [f32; 2]| [0, 1].map(|axis| ((at[axis] - self.origin[axis]) * self.density[axis]) as u32);
        let (first, last) = ends(corners, margin);
        is_finite(corners).then(|| [cell(first), cell(last)])
    }

    /// The list of a cell.
    fn list(&self, [column, row]: Cell) -> usize {
        let hash = column.wrapping_mul(0x9e37_79b1) ^ row.wrapping_mul(0x85eb_ca77).rotate_left(16);
        (hash ^ (hash >> 15)) as usize & self.heads.len().wrapping_sub(1)
    }
}

/// The number of cells between the first and the last cell.
fn number([first, last]: &[Cell; 2]) -> u64 {
    let [columns, rows] = [0, 1].map(|axis| u64::from(last[axis].saturating_sub(first[axis])) + 1);
    columns.saturating_mul(rows)
}

/// All cells between the first and the last cell.
fn all([[left, top], [right, bottom]]: [Cell; 2]) -> impl Iterator<Item = Cell> {
    (top..=bottom).flat_map(move |row| (left..=right).map(move |column| [column, row]))
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

    /// Inserts the boxes one by one, and counts the tests of each with the boxes before it. Checks that all boxes
    /// that touch are tested.
    fn count_tests(boxes: &[Corners]) -> usize {
        let mut grid = BoxGrid::new(boxes.iter());
        let mut tests = 0;
        for (i, own) in boxes.iter().enumerate() {
            let mut near = vec![false; i];
            grid.any_near(own, 0.0, |other, _| {
                near[other] = true;
                tests += 1;
                false
            });
            for (other, is_near) in boxes.iter().zip(near) {
                assert!(is_near || own.intersection(other, 0.0).is_none());
            }
            grid.insert(own);
        }
        tests
    }

    #[test]
    fn all_boxes_that_touch_are_near() {
        let tests = count_tests(&boxes());
        assert!(tests < 400 * 400 / 8, "{tests} tests");
    }

    #[test]
    fn groups_that_are_far_apart_do_not_coarsen_the_grid() {
        let mut boxes = boxes();
        for (i, corners) in boxes.iter_mut().enumerate() {
            let shift = (i % 40) as f32 * 10_000.0;
            *corners = Corners::from(corners.coordinates().map(|side| side + shift));
        }
        let tests = count_tests(&boxes);
        assert!(tests < 400 * 10, "{tests} tests");
    }

    #[test]
    fn boxes_that_are_not_finite_are_near_all() {
        let nan = Corners::from([f32::NAN, 0.0, 1.0, 1.0]);
        let boxes = [boxes(), vec![nan]].concat();
        let mut grid = BoxGrid::new(boxes.iter());
        boxes.iter().for_each(|corners| grid.insert(corners));
        assert!(grid.any_near(&boxes[7], 0.0, |other, _| other == 400));
        assert!((0..400).all(|i| grid.any_near(&nan, 0.0, |other, _| other == i)));
    }

    #[test]
    fn an_undivided_grid_tests_all_boxes() {
        let boxes = boxes();
        let mut grid = BoxGrid::undivided();
        boxes.iter().for_each(|corners| grid.insert(corners));
        assert!((0..400).all(|i| grid.any_near(&boxes[7], 0.0, |other, _| other == i)));
    }
}
