//! The order of the items in each row, so that few lines cross.

use super::Item;

/// The work of the search, as a number of visits to items; large graphs are swept less often.
const VISITS: usize = 4_000_000;
const FEWEST_SWEEPS: usize = 4;
const MOST_SWEEPS: usize = 24;

/// The search ends after this many sweeps without improvement.
const PATIENCE: usize = 4;

/// The greatest number of passes that exchange neighbours in a row.
const EXCHANGES: usize = 8;

/// Orders the items of each row.
pub(super) fn reorder(items: &[Item], rows: &mut Vec<Vec<usize>>) {
    let rank = depth_first(items, rows);
    let mut order = Order { items, position: vec![0; items.len()], rows: rows.clone() };
    for row in &mut order.rows {
        row.sort_by_key(|&item| rank[item]);
        set_positions(row, &mut order.position);
    }
    let sweeps = (VISITS / items.len().max(1)).clamp(FEWEST_SWEEPS, MOST_SWEEPS);
    let (mut best, mut since) = (order.crossings(), 0);
    rows.clone_from(&order.rows);
    for sweep in 0..sweeps {
        if since >= PATIENCE || best == 0 {
            break;
        }
        order.sort_by_neighbours(sweep % 2 == 0);
        order.exchange();
        let count = order.crossings();
        since += 1;
        if count < best {
            (best, since) = (count, 0);
            rows.clone_from(&order.rows);
        }
    }
}

/// The rank of each item in a walk from the top that finishes each branch before the next.
fn depth_first(items: &[Item], rows: &[Vec<usize>]) -> Vec<usize> {
    let mut rank = vec![usize::MAX; items.len()];
    let mut next = 0;
    for &start in rows.iter().flatten() {
        let mut waiting = vec![start];
        while let Some(item) = waiting.pop() {
            if rank[item] == usize::MAX {
                rank[item] = next;
                next += 1;
                waiting.extend(items[item].below.iter().rev());
            }
        }
    }
    rank
}

fn set_positions(row: &[usize], position: &mut [usize]) {
    row.iter().enumerate().for_each(|(at, &item)| position[item] = at);
}

/// An order of all rows.
struct Order<'i> {
    items: &'i [Item],
    /// The position of each item in its row.
    position: Vec<usize>,
    rows: Vec<Vec<usize>>,
}

impl Order<'_> {
    /// Sorts each row by the mean positions of the neighbours in the row before (the barycentre heuristic).
    fn sort_by_neighbours(&mut self, is_down: bool) {
        let mut wanted = vec![0.0; self.items.len()];
        let count = self.rows.len();
        for step in 0..count {
            let row = &mut self.rows[if is_down { step } else { count - 1 - step }];
            for &item in row.iter() {
                let near = if is_down { &self.items[item].above } else { &self.items[item].below };
                let sum: usize = near.iter().map(|&other| self.position[other]).sum();
                wanted[item] =
                    if near.is_empty() { self.position[item] as f64 } else { sum as f64 / near.len() as f64 };
            }
            row.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]));
            set_positions(row, &mut self.position);
        }
    }

    /// The positions of neighbours, sorted.
    fn sorted(&self, near: &[usize]) -> Vec<usize> {
        let mut positions: Vec<usize> = near.iter().map(|&other| self.position[other]).collect();
        positions.sort_unstable();
        positions
    }

    /// Exchanges neighbours in a row as long as that removes crossings.
    fn exchange(&mut self) {
        for _ in 0..EXCHANGES {
            let mut is_better = false;
            for row in 0..self.rows.len() {
                is_better |= self.exchange_in(row);
            }
            if !is_better {
                return;
            }
        }
    }

    fn exchange_in(&mut self, row: usize) -> bool {
        let near = |order: &Self, at: usize| {
            let item = &order.items[order.rows[row][at]];
            [order.sorted(&item.above), order.sorted(&item.below)]
        };
        if self.rows[row].is_empty() {
            return false;
        }
        let mut left = near(self, 0);
        let mut is_better = false;
        for at in 1..self.rows[row].len() {
            let right = near(self, at);
            let crossings = |left: &[Vec<usize>; 2], right: &[Vec<usize>; 2]| {
                left.iter().zip(right).map(|(left, right)| inversions(left, right)).sum::<usize>()
            };
            let now = crossings(&left, &right);
            if now == 0 || crossings(&right, &left) >= now {
                left = right;
                continue;
            }
            self.rows[row].swap(at - 1, at);
            let swapped = [self.rows[row][at - 1], self.rows[row][at]];
            (self.position[swapped[0]], self.position[swapped[1]]) = (at - 1, at);
            is_better = true;
        }
        is_better
    }

    /// The number of crossings of lines between adjacent rows.
    fn crossings(&self) -> usize {
        let pairs = self.rows.iter().zip(self.rows.iter().skip(1));
        pairs.map(|(upper, lower)| self.crossings_between(upper, lower.len())).sum()
    }

    fn crossings_between(&self, upper: &[usize], lower: usize) -> usize {
        // A Fenwick tree over the lower row counts the lines that end to the right of each line.
        let mut tree = vec![0usize; lower + 1];
        let (mut lines, mut count) = (0, 0);
        for &item in upper {
            let ends = self.sorted(&self.items[item].below);
            for end in &ends {
                let before =
                    std::iter::successors(Some(end + 1), |at| Some(at & (at - 1)).filter(|at| *at > 0));
                count += lines - before.map(|at| tree[at]).sum::<usize>();
            }
            for end in &ends {
                let next = |at: &usize| Some(at + (at & at.wrapping_neg())).filter(|at| *at <= lower);
                std::iter::successors(Some(end + 1), next).for_each(|at| tree[at] += 1);
            }
            lines += ends.len();
        }
        count
    }
}

/// The number of pairs with a greater number on the left; both lists are sorted.
fn inversions(left: &[usize], right: &[usize]) -> usize {
    let mut smaller = 0;
    let smaller_than = |one: &usize| {
        while right.get(smaller).is_some_and(|other| other < one) {
            smaller += 1;
        }
        smaller
    };
    left.iter().map(smaller_than).sum()
}
