//! Lays out the boxes of a scene in rows from top to bottom, like `layout.js` for reports, which gives the same
//! positions.
//!
//! Time and memory are nearly linear in the numbers of boxes and arrows, and there is no recursion. All arrows
//! from a box share one line down to its lowest reader, which reserves a place, called a lane, in each row that
//! it crosses.

mod order;
mod rows;

use crate::SceneArrow;
use crate::execution::transposed;

/// The number of lanes per box. The longest lines beyond it pass behind boxes.
const LANES_PER_BOX: usize = 16;

/// The width of a lane.
const LANE: f64 = 2.0;

/// The least space between neighbours of a row, by the number of boxes among them.
const SPACES: [f64; 3] = [8.0, 12.0, 18.0];

/// The weights that keep lines straight, by the number of boxes at their ends.
const STRAIGHTNESS: [f64; 3] = [8.0, 1.0, 4.0];

/// Number of sweeps, down and up, that improve the positions of boxes within rows.
const PLACE_SWEEPS: usize = 8;

/// Number of passes that straighten chains after the sweeps.
const STRAIGHTENING: usize = 8;

/// A point of the picture.
#[derive(Copy, Clone, PartialEq, Debug, Default)]
pub(crate) struct Point {
    pub x: f64,
    pub y: f64,
}

/// The positions of all boxes and arrows.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    /// For each box, the midpoint of its upper edge.
    pub boxes: Vec<Point>,
    /// For each box, the lower edge of its row.
    pub row_bottoms: Vec<f64>,
    /// For each arrow, the points through which it passes between the boxes.
    pub ways: Vec<Vec<Point>>,
    pub width: f64,
    pub height: f64,
}

/// The size of a box and of the space below it.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Size {
    pub width: f64,
    pub height: f64,
    pub below: f64,
}

/// Lays out boxes of these sizes. Arrows that point back to an earlier box are ignored.
pub(crate) fn place(sizes: &[Size], arrows: &[SceneArrow]) -> Layout {
    let mut sources = vec![Vec::new(); sizes.len()];
    for arrow in arrows.iter().filter(|arrow| arrow.from < arrow.to) {
        sources[arrow.to].push(arrow.from);
    }
    let readers = transposed(&sources);
    let widths: Vec<f64> = sizes.iter().map(|size| size.width).collect();
    let row_of = rows::rows(&widths, &sources, &readers);
    let mut rows = Rows::new(&widths, &row_of, &readers);
    order::reorder(&rows.items, &mut rows.rows);
    rows.spread();
    rows.finish(sizes, arrows, &row_of)
}

/// A box, or the lane of a line in one row.
#[derive(Clone, Debug)]
struct Item {
    width: f64,
    is_box: bool,
    /// The centre.
    x: f64,
    above: Vec<usize>,
    below: Vec<usize>,
}

impl Item {
    fn new(width: f64, is_box: bool) -> Self {
        Self { width, is_box, x: 0.0, above: Vec::new(), below: Vec::new() }
    }

    /// The number of boxes among two items.
    fn boxes(&self, other: &Self) -> usize {
        usize::from(self.is_box) + usize::from(other.is_box)
    }
}

/// The items of each row, from left to right.
struct Rows {
    /// The boxes in order, followed by the lanes.
    items: Vec<Item>,
    rows: Vec<Vec<usize>>,
    /// For each box, the lanes of the line to its readers, from top to bottom.
    lanes: Vec<Vec<usize>>,
}

impl Rows {
    fn new(widths: &[f64], row_of: &[usize], readers: &[Vec<usize>]) -> Self {
        let items = widths.iter().map(|&width| Item::new(width, true)).collect();
        let mut rows = vec![Vec::new(); row_of.iter().max().map_or(0, |last| last + 1)];
        row_of.iter().enumerate().for_each(|(at, &row)| rows[row].push(at));
        let mut all = Self { items, rows, lanes: vec![Vec::new(); widths.len()] };
        all.add_lanes(row_of, readers);
        for (at, readers) in readers.iter().enumerate() {
            for &reader in readers {
                match row_of[reader] - row_of[at] - 1 {
                    0 => all.connect(at, reader),
                    crossed if crossed <= all.lanes[at].len() => {
                        all.connect(all.lanes[at][crossed - 1], reader);
                    }
                    _ => {}
                }
            }
        }
        all
    }

    /// Adds the lanes of the shortest lines.
    fn add_lanes(&mut self, row_of: &[usize], readers: &[Vec<usize>]) {
        let length =
            |at: usize| readers[at].iter().map(|&reader| row_of[reader] - row_of[at] - 1).max().unwrap_or(0);
        let mut by_length: Vec<usize> = (0..readers.len()).collect();
        by_length.sort_by_key(|&at| length(at));
        let mut left = LANES_PER_BOX * readers.len();
        for at in by_length {
            let Some(rest) = left.checked_sub(length(at)) else { break };
            left = rest;
            let mut last = at;
            for row in row_of[at] + 1..=row_of[at] + length(at) {
                let lane = self.items.len();
                self.items.push(Item::new(LANE, false));
                self.rows[row].push(lane);
                self.lanes[at].push(lane);
                self.connect(last, lane);
                last = lane;
            }
        }
    }

    fn connect(&mut self, upper: usize, lower: usize) {
        self.items[upper].below.push(lower);
        self.items[lower].above.push(upper);
    }

    /// Sets `x` of all items. Each item is placed as close to its neighbours in the adjacent rows as the
    /// widths in its own row and the width of the picture allow.
    fn spread(&mut self) {
        let lines: Vec<Line> = self.rows.iter().map(|row| Line::new(&self.items, row)).collect();
        let widest = lines.iter().map(|line| line.width).fold(rows::WIDEST_ROW, f64::max);
        let count = self.rows.len();
        for sweep in 0..2 * PLACE_SWEEPS {
            let is_down = sweep % 2 == 0;
            for step in 0..count {
                let row = if is_down { step } else { count - 1 - step };
                self.move_row(row, &lines[row], widest, |rows, item| {
                    rows.near_neighbours(item, is_down, !is_down)
                });
            }
        }
        let Chains { chain, lengths } = self.chains();
        for _ in 0..STRAIGHTENING {
            let mut sums = vec![0.0; lengths.len()];
            self.items.iter().zip(&chain).for_each(|(item, &chain)| sums[chain] += item.x);
            for (row, line) in lines.iter().enumerate() {
                self.move_row(row, line, widest, |rows, item| match lengths[chain[item]] {
                    1 => rows.near_neighbours(item, true, true),
                    length => Wanted { x: sums[chain[item]] / length as f64, weight: length as f64 },
                });
            }
        }
    }

    /// Moves the items of a row as close to their wanted positions as possible.
    fn move_row(&mut self, row: usize, line: &Line, widest: f64, wanted: impl Fn(&Self, usize) -> Wanted) {
        let wanted: Vec<Wanted> = self.rows[row].iter().map(|&item| wanted(self, item)).collect();
        for (&item, x) in self.rows[row].iter().zip(line.apart(&wanted, widest)) {
            self.items[item].x = x;
        }
    }

    /// The mean position of the neighbours above, below or both; the own position if there are none.
    fn near_neighbours(&self, item: usize, is_above: bool, is_below: bool) -> Wanted {
        let item = &self.items[item];
        let above = item.above.iter().filter(|_| is_above);
        let (mut weight, mut sum) = (0.0, 0.0);
        for &other in above.chain(item.below.iter().filter(|_| is_below)) {
            let straightness = STRAIGHTNESS[item.boxes(&self.items[other])];
            weight += straightness;
            sum += straightness * self.items[other].x;
        }
        if weight > 0.0 { Wanted { x: sum / weight, weight } } else { Wanted { x: item.x, weight: 1.0 } }
    }

    fn chains(&self) -> Chains {
        let only = |list: &[usize]| {
            let mut boxes = list.iter().copied().filter(|&item| self.items[item].is_box);
            boxes.next().filter(|_| boxes.next().is_none())
        };
        let mut chains = Chains { chain: Vec::with_capacity(self.items.len()), lengths: Vec::new() };
        // In the lists of boxes and of lanes, an item above comes before an item below.
        for (at, item) in self.items.iter().enumerate() {
            let before = if item.is_box {
                only(&item.above).filter(|&before| only(&self.items[before].below) == Some(at))
            } else {
                item.above.iter().copied().find(|&before| !self.items[before].is_box)
            };
            let chain = before.map_or(chains.lengths.len(), |before| chains.chain[before]);
            if before.is_none() {
                chains.lengths.push(0);
            }
            chains.lengths[chain] += 1;
            chains.chain.push(chain);
        }
        chains
    }

    fn finish(self, sizes: &[Size], arrows: &[SceneArrow], row_of: &[usize]) -> Layout {
        let left = self.items.iter().map(|item| item.x - item.width / 2.0).fold(f64::INFINITY, f64::min);
        let right = self.items.iter().map(|item| item.x + item.width / 2.0).fold(f64::NEG_INFINITY, f64::max);
        let mut heights = vec![(0.0f64, 0.0f64); self.rows.len()];
        for (size, &row) in sizes.iter().zip(row_of) {
            let (height, below) = &mut heights[row];
            (*height, *below) = (height.max(size.height), below.max(size.below));
        }
        let mut tops = Vec::with_capacity(heights.len());
        let mut y = 0.0;
        for (height, below) in &heights {
            tops.push(y);
            y += height + below;
        }
        let point = |item: usize, y: f64| Point { x: self.items[item].x - left, y };
        let boxes = row_of.iter().enumerate().map(|(at, &row)| point(at, tops[row])).collect();
        let row_bottoms = row_of.iter().map(|&row| tops[row] + heights[row].0).collect();
        let way = |arrow: &SceneArrow| -> Vec<Point> {
            let first = row_of[arrow.from] + 1;
            let both = |(step, &lane): (usize, &usize)| {
                let row = first + step;
                [point(lane, tops[row]), point(lane, tops[row] + heights[row].0)]
            };
            let crossed = row_of[arrow.to].saturating_sub(first);
            self.lanes[arrow.from].iter().take(crossed).enumerate().flat_map(both).collect()
        };
        let ways = arrows.iter().map(way).collect();
        Layout { boxes, row_bottoms, ways, width: (right - left).max(0.0), height: y }
    }
}

/// A wanted position, and its weight against others of the same row.
struct Wanted {
    x: f64,
    weight: f64,
}

/// Boxes or lanes that follow each other from row to row. A box leads to one box of the next row at most.
struct Chains {
    /// The number of the chain of each item.
    chain: Vec<usize>,
    /// The number of items of each chain.
    lengths: Vec<usize>,
}

/// The items of a row, standing as close together as possible.
struct Line {
    /// The position of each item, from the centre of the first.
    places: Vec<f64>,
    /// Half the width of the first item.
    half: f64,
    width: f64,
}

impl Line {
    fn new(items: &[Item], row: &[usize]) -> Self {
        let mut place = 0.0;
        let mut places = Vec::with_capacity(row.len());
        for (at, &item) in row.iter().enumerate() {
            if let Some(left) = at.checked_sub(1) {
                let (left, right) = (&items[row[left]], &items[item]);
                place += (left.width + right.width) / 2.0 + SPACES[left.boxes(right)];
            }
            places.push(place);
        }
        let half = |item: Option<&usize>| item.map_or(0.0, |&item| items[item].width / 2.0);
        Self { places, half: half(row.first()), width: half(row.first()) + place + half(row.last()) }
    }

    /// The positions without overlaps that have the least squared distance from the wanted positions, within
    /// a picture of the given width. Uses the pool-adjacent-violators algorithm: items that would overlap are
    /// pooled and placed around the mean of their wanted positions.
    fn apart(&self, wanted: &[Wanted], widest: f64) -> Vec<f64> {
        // Pools of neighbouring items: the weighted sum of their wanted positions, the weight, and their number.
        let mut pools: Vec<(f64, f64, usize)> = Vec::new();
        for (wanted, place) in wanted.iter().zip(&self.places) {
            let mut pool = (wanted.weight * (wanted.x - place), wanted.weight, 1);
            while let Some(&(sum, weight, count)) = pools.last()
                && sum / weight > pool.0 / pool.1
            {
                pool = (pool.0 + sum, pool.1 + weight, pool.2 + count);
                pools.pop();
            }
            pools.push(pool);
        }
        // The first item may not lie further to the left, nor the last further to the right.
        let (least, most) = (self.half - widest / 2.0, self.half + widest / 2.0 - self.width);
        let starts = pools
            .into_iter()
            .flat_map(|(sum, weight, count)| std::iter::repeat_n((sum / weight).max(least).min(most), count));
        starts.zip(&self.places).map(|(start, place)| start + place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrows(pairs: &[(usize, usize)]) -> Vec<SceneArrow> {
        let mut arrows: Vec<SceneArrow> = pairs.iter().map(|&(from, to)| SceneArrow { from, to }).collect();
        arrows.sort_unstable();
        arrows
    }

    fn square(count: usize) -> Vec<Size> {
        vec![Size { width: 40.0, height: 20.0, below: 30.0 }; count]
    }

    #[test]
    fn arrows_lead_down() {
        let pairs = [(0, 2), (1, 2), (2, 3), (0, 3), (3, 4), (2, 4)];
        let layout = place(&square(5), &arrows(&pairs));
        for (from, to) in pairs {
            assert!(layout.boxes[from].y + 50.0 <= layout.boxes[to].y, "{from} {to}");
        }
    }

    #[test]
    fn boxes_of_a_row_do_not_overlap() {
        let pairs: Vec<(usize, usize)> = (1..30).flat_map(|at| [(0, at), (at, 30)]).collect();
        let layout = place(&square(31), &arrows(&pairs));
        let mut places: Vec<f64> = layout.boxes[1..30].iter().map(|point| point.x).collect();
        places.sort_by(f64::total_cmp);
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= 40.0));
        assert!(layout.width >= 29.0 * 40.0);
        // The box that all others read, and the box that reads all others, are in the middle.
        let middle = layout.width / 2.0;
        assert!((layout.boxes[0].x - middle).abs() < 30.0 && (layout.boxes[30].x - middle).abs() < 30.0);
    }

    #[test]
    fn what_reads_nothing_is_next_to_its_reader() {
        let layout = place(&square(5), &arrows(&[(0, 1), (1, 2), (2, 4), (3, 4)]));
        assert_eq!(layout.boxes[3].y, layout.boxes[2].y);
    }

    #[test]
    fn arrows_backwards_are_drawn_without_lanes() {
        let layout = place(&square(3), &arrows(&[(0, 1), (1, 2), (2, 0)]));
        assert_eq!(layout.ways, [Vec::new(), Vec::new(), Vec::new()]);
    }

    #[test]
    fn long_chains_are_placed() {
        let pairs: Vec<(usize, usize)> = (1..100_000).map(|at| (at - 1, at)).collect();
        let layout = place(&square(100_000), &arrows(&pairs));
        assert_eq!(layout.boxes[99_999].y, 99_999.0 * 50.0);
        assert_eq!(layout.width, 40.0);
    }

    #[test]
    fn nothing_is_no_picture() {
        let layout = place(&[], &[]);
        assert_eq!((layout.width, layout.height), (0.0, 0.0));
    }
}
