//! The row of each box: every box is below the boxes that it reads, and no row is wider than a person scrolls.

use std::collections::HashMap;

/// Boxes side by side are at most this wide, if they are more than one.
pub(super) const WIDEST_ROW: f64 = 1900.0;

/// The room that is left in each row.
struct Room {
    /// The direction in which rows are searched, 1 or -1.
    step: i64,
    used: HashMap<i64, f64>,
    /// For each full row, a later row that may have room.
    beyond: HashMap<i64, i64>,
}

impl Room {
    /// The first row from `row` on with room for a width. Rows that were full are skipped without looking at
    /// each of them.
    fn find(&mut self, mut row: i64, width: f64) -> i64 {
        let mut full = Vec::new();
        loop {
            let used = self.used.get(&row).copied().unwrap_or(0.0);
            let beyond = self.beyond.get(&row).copied();
            if beyond.is_none() && !(used > 0.0 && used + width > WIDEST_ROW) {
                break;
            }
            full.push(row);
            row = beyond.unwrap_or(row + self.step);
        }
        self.beyond.extend(full.into_iter().map(|one| (one, row)));
        row
    }

    fn take(&mut self, row: i64, width: f64) {
        *self.used.entry(row).or_insert(0.0) += width;
    }
}

/// The row of each box, given the boxes that it reads and its readers. Boxes come after the boxes that they read.
pub(super) fn rows(widths: &[f64], sources: &[Vec<usize>], readers: &[Vec<usize>]) -> Vec<usize> {
    let mut row = vec![0i64; widths.len()];
    let mut down = Room { step: 1, used: HashMap::new(), beyond: HashMap::new() };
    for (at, &width) in widths.iter().enumerate() {
        // A box that reads nothing is placed later, close to its readers.
        if sources[at].is_empty() && !readers[at].is_empty() {
            continue;
        }
        let below = sources[at].iter().map(|&source| row[source] + 1).max().unwrap_or(0).max(0);
        row[at] = down.find(below, width);
        down.take(row[at], width);
    }
    let up = Room { step: -1, used: down.used, beyond: HashMap::new() };
    move_down(&mut row, up, widths, sources, readers);
    let first = row.iter().copied().min().unwrap_or(0).min(0);
    row.into_iter().map(|one| usize::try_from(one - first).unwrap_or(0)).collect()
}

/// Moves boxes down to their readers, unless that makes the arrows longer.
fn move_down(row: &mut [i64], mut up: Room, widths: &[f64], sources: &[Vec<usize>], readers: &[Vec<usize>]) {
    let lowest_reader = |row: &[i64], at: usize| readers[at].iter().map(|&reader| row[reader]).max();
    // The lowest reader of each box. One line leads down to it, which all readers share.
    let mut lowest: Vec<i64> =
        (0..widths.len()).map(|at| lowest_reader(row, at).unwrap_or(i64::MIN)).collect();
    for at in (0..widths.len()).rev() {
        let Some(nearest) = readers[at].iter().map(|&reader| row[reader]).min() else { continue };
        let is_free = sources[at].is_empty();
        lowest[at] = lowest_reader(row, at).unwrap_or(i64::MIN);
        if !is_free && nearest - 1 <= row[at] {
            continue;
        }
        let target = up.find(nearest - 1, widths[at]);
        let longer: i64 =
            sources[at].iter().map(|&source| target.saturating_sub(lowest[source]).max(0)).sum();
        if !is_free && (target <= row[at] || longer > target - row[at]) {
            continue;
        }
        if !is_free {
            up.take(row[at], -widths[at]);
        }
        row[at] = target;
        up.take(target, widths[at]);
        for &source in &sources[at] {
            lowest[source] = lowest[source].max(target);
        }
    }
}
