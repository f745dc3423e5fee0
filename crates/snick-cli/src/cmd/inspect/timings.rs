//! The times of an execution graph.

use std::collections::BTreeMap;

use snick::LayerTime;
use snick_ir::text::Escaped;

use super::sections::Section;
use crate::cli::layout::Layout;

/// Number of slowest layers to show.
const SHOWN: usize = 10;

/// The time of each type of operation and the slowest layers, if there are times.
pub(super) fn section(times: &[LayerTime], layout: Layout) -> Option<Section> {
    let total: u64 = times.iter().filter_map(|time| time.microseconds).fold(0, u64::saturating_add);
    // A graph that never ran has no times.
    if total == 0 {
        return None;
    }
    let mut ops: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
    for time in times {
        if let Some(microseconds) = time.microseconds {
            let (count, sum) = ops.entry(&time.op).or_default();
            *count += 1;
            *sum = sum.saturating_add(microseconds);
        }
    }
    let mut ops: Vec<_> = ops.into_iter().collect();
    ops.sort_by_key(|(_, (_, sum))| std::cmp::Reverse(*sum));
    let mut items = Vec::new();
    for (op, (count, sum)) in ops {
        let share = 100.0 * sum as f64 / total.max(1) as f64;
        items.push(format!("  {share:4.1} %  {sum:8} us  {count:5}  {}", Escaped(op)));
    }
    let mut slowest: Vec<&LayerTime> = times.iter().filter(|time| time.microseconds > Some(0)).collect();
    slowest.sort_by_key(|time| std::cmp::Reverse(time.microseconds));
    for time in slowest.into_iter().take(SHOWN) {
        let layer = Escaped(&time.layer).to_string();
        let line = format!(
            "  {:8} us  {layer} ({}, {})",
            time.microseconds.unwrap_or_default(),
            Escaped(&time.op),
            Escaped(&time.primitive)
        );
        items.push(layout.shorten(line, &layer));
    }
    Some(Section::new(&format!("times         {total} us in total"), items))
}
