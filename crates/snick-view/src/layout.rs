//! Lays out the boxes of a scene in layers from top to bottom. Within a layer, each box is placed close to
//! the boxes that it is connected to.
//!
//! Time and memory are nearly linear in the numbers of boxes and arrows, and there is no recursion. An arrow
//! that crosses at most [`MOST_LANES`] layers reserves space in each of them, called a lane.

use crate::SceneArrow;

/// Maximum number of layers in which an arrow gets a lane. A longer arrow passes behind the boxes.
const MOST_LANES: usize = 24;

/// Number of sweeps, down and up, that improve the order of boxes within layers.
const ORDER_SWEEPS: usize = 4;

/// Number of sweeps, down and up, that improve the positions of boxes within layers.
const PLACE_SWEEPS: usize = 6;

/// The space between neighbouring boxes of a layer.
const GAP: f64 = 18.0;

/// The width of a lane.
const LANE: f64 = 6.0;

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

/// Lays out boxes of these sizes.
pub(crate) fn place(sizes: &[Size], arrows: &[SceneArrow]) -> Layout {
    let layer_of = layers(sizes.len(), arrows);
    let mut rows = Rows::new(sizes, arrows, &layer_of);
    rows.order();
    rows.spread();
    rows.finish(sizes, arrows, &layer_of)
}

/// The layer of each box, which is one below the lowest box that it reads. A box without inputs is moved down
/// to the layer above its first reader. Arrows that point backward are ignored.
fn layers(count: usize, arrows: &[SceneArrow]) -> Vec<usize> {
    let mut layer_of = vec![0usize; count];
    let forwards = || arrows.iter().filter(|arrow| arrow.from < arrow.to);
    // Arrows are ordered by `from`, so all arrows to a box come before the arrows from it.
    for arrow in forwards() {
        layer_of[arrow.to] = layer_of[arrow.to].max(layer_of[arrow.from] + 1);
    }
    let mut nearest = vec![usize::MAX; count];
    for arrow in forwards() {
        nearest[arrow.from] = nearest[arrow.from].min(layer_of[arrow.to]);
    }
    let mut reads = vec![false; count];
    forwards().for_each(|arrow| reads[arrow.to] = true);
    for at in 0..count {
        if !reads[at] && nearest[at] != usize::MAX {
            layer_of[at] = nearest[at].saturating_sub(1);
        }
    }
    layer_of
}

/// A box, or a lane of an arrow in one layer.
#[derive(Clone, Debug)]
struct Item {
    width: f64,
    /// The centre.
    x: f64,
    above: Vec<usize>,
    below: Vec<usize>,
}

/// The items of each row, from left to right.
struct Rows {
    /// The boxes in order, followed by the lanes.
    items: Vec<Item>,
    rows: Vec<Vec<usize>>,
    /// For each arrow, its lanes.
    lanes: Vec<Vec<usize>>,
}

impl Rows {
    fn new(sizes: &[Size], arrows: &[SceneArrow], layer_of: &[usize]) -> Self {
        let item = |width| Item { width, x: 0.0, above: Vec::new(), below: Vec::new() };
        let mut items: Vec<Item> = sizes.iter().map(|size| item(size.width)).collect();
        let mut rows = vec![Vec::new(); layer_of.iter().max().map_or(0, |last| last + 1)];
        layer_of.iter().enumerate().for_each(|(at, &layer)| rows[layer].push(at));
        let mut lanes = Vec::with_capacity(arrows.len());
        for arrow in arrows {
            let between = layer_of[arrow.from] + 1..layer_of[arrow.to];
            let mut own = Vec::new();
            if between.len() <= MOST_LANES && layer_of[arrow.from] < layer_of[arrow.to] {
                for layer in between {
                    items.push(item(LANE));
                    rows[layer].push(items.len() - 1);
                    own.push(items.len() - 1);
                }
                let stops: Vec<usize> =
                    [arrow.from].into_iter().chain(own.iter().copied()).chain([arrow.to]).collect();
                for pair in stops.windows(2) {
                    items[pair[0]].below.push(pair[1]);
                    items[pair[1]].above.push(pair[0]);
                }
            }
            lanes.push(own);
        }
        Self { items, rows, lanes }
    }

    /// Reorders the items of each row. Sorting them by the mean position of their neighbours in the adjacent
    /// row (the barycentre heuristic) reduces the number of crossing arrows.
    fn order(&mut self) {
        let mut position = vec![0.0; self.items.len()];
        for row in &self.rows {
            row.iter().enumerate().for_each(|(at, &item)| position[item] = at as f64);
        }
        for sweep in 0..2 * ORDER_SWEEPS {
            let down = sweep % 2 == 0;
            let count = self.rows.len();
            for step in 0..count {
                let row = &mut self.rows[if down { step } else { count - 1 - step }];
                for &item in row.iter() {
                    let Item { above, below, .. } = &self.items[item];
                    position[item] =
                        mean(if down { above } else { below }, &position).unwrap_or(position[item]);
                }
                row.sort_by(|&a, &b| position[a].total_cmp(&position[b]));
                row.iter().enumerate().for_each(|(at, &item)| position[item] = at as f64);
            }
        }
    }

    /// Sets `x` of all items. Each item is placed as close to its neighbours in the adjacent rows as the
    /// widths in its own row allow.
    fn spread(&mut self) {
        for sweep in 0..2 * PLACE_SWEEPS {
            let down = sweep % 2 == 0;
            let count = self.rows.len();
            for step in 0..count {
                let row = &self.rows[if down { step } else { count - 1 - step }];
                let wanted: Vec<f64> = row
                    .iter()
                    .map(|&item| {
                        let Item { above, below, x, .. } = &self.items[item];
                        let near = if down { above } else { below };
                        let sum: f64 = near.iter().map(|&other| self.items[other].x).sum();
                        if near.is_empty() { *x } else { sum / near.len() as f64 }
                    })
                    .collect();
                let widths: Vec<f64> = row.iter().map(|&item| self.items[item].width).collect();
                let places = apart(&wanted, &widths);
                for (&item, x) in row.iter().zip(places) {
                    self.items[item].x = x;
                }
            }
        }
    }

    fn finish(self, sizes: &[Size], arrows: &[SceneArrow], layer_of: &[usize]) -> Layout {
        let left = self.items.iter().map(|item| item.x - item.width / 2.0).fold(f64::INFINITY, f64::min);
        let right = self.items.iter().map(|item| item.x + item.width / 2.0).fold(f64::NEG_INFINITY, f64::max);
        let mut heights = vec![(0.0f64, 0.0f64); self.rows.len()];
        for (size, &layer) in sizes.iter().zip(layer_of) {
            let (height, below) = &mut heights[layer];
            (*height, *below) = (height.max(size.height), below.max(size.below));
        }
        let mut tops = Vec::with_capacity(heights.len());
        let mut y = 0.0;
        for (height, below) in &heights {
            tops.push(y);
            y += height + below;
        }
        let point = |item: usize, y: f64| Point { x: self.items[item].x - left, y };
        let boxes = layer_of.iter().enumerate().map(|(at, &layer)| point(at, tops[layer])).collect();
        let way = |(arrow, lanes): (&SceneArrow, &Vec<usize>)| -> Vec<Point> {
            let first = layer_of[arrow.from] + 1;
            let both = |(step, &lane): (usize, &usize)| {
                let layer = first + step;
                [point(lane, tops[layer]), point(lane, tops[layer] + heights[layer].0)]
            };
            lanes.iter().enumerate().flat_map(both).collect()
        };
        let ways = arrows.iter().zip(&self.lanes).map(way).collect();
        Layout { boxes, ways, width: (right - left).max(0.0), height: y }
    }
}

fn mean(items: &[usize], position: &[f64]) -> Option<f64> {
    let sum: f64 = items.iter().map(|&item| position[item]).sum();
    (!items.is_empty()).then(|| sum / items.len() as f64)
}

/// The positions without overlaps that have the least squared distance from the wanted positions. Uses the
/// pool-adjacent-violators algorithm: items that would overlap are pooled and placed around the mean of their
/// wanted positions.
fn apart(wanted: &[f64], widths: &[f64]) -> Vec<f64> {
    let mut offsets = Vec::with_capacity(widths.len());
    let mut offset = 0.0;
    for (at, width) in widths.iter().enumerate() {
        if at > 0 {
            offset += (widths[at - 1] + width) / 2.0 + GAP;
        }
        offsets.push(offset);
    }
    // Pools of neighbouring items: the sum of their wanted positions, and their number.
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for (wanted, offset) in wanted.iter().zip(&offsets) {
        let mut pool = (wanted - offset, 1);
        while let Some(&(sum, count)) = pools.last()
            && sum / count as f64 > pool.0 / pool.1 as f64
        {
            pool = (pool.0 + sum, pool.1 + count);
            pools.pop();
        }
        pools.push(pool);
    }
    let places = pools.into_iter().flat_map(|(sum, count)| std::iter::repeat_n(sum / count as f64, count));
    places.zip(offsets).map(|(place, offset)| place + offset).collect()
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
    fn boxes_of_a_layer_do_not_overlap() {
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
