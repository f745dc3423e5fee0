//! The nearest matched layers around a layer in a partly matched graph.

use std::collections::BTreeMap;

use super::scope::Scope;

/// Maximum number of layers that a search visits, and of pairs that a step of the matching tries.
pub(super) const MAX_PASSED: usize = 64;

/// One of the two graphs.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Side {
    A,
    B,
}

/// The direction of a search: towards the inputs or the outputs.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Direction {
    Above,
    Below,
}

/// One of the two graphs and its matched layers.
#[derive(Copy, Clone)]
pub(super) struct Matched<'m, 'g> {
    pub scope: &'m Scope<'g>,
    /// For each layer, its partner in the other graph.
    pub of: &'m [Option<usize>],
    pub side: Side,
}

impl Matched<'_, '_> {
    /// The layers that a layer reads, or the layers that read it, but at most `MAX_PASSED + 1` of them.
    pub fn beside(&self, layer: usize, direction: Direction) -> Vec<usize> {
        match direction {
            Direction::Above => {
                let sources = self.scope.sources[layer].iter().flatten().take(MAX_PASSED + 1);
                sources.map(|source| source.layer).collect()
            }
            Direction::Below => {
                let readers = self.scope.readers[layer].iter().take(MAX_PASSED + 1);
                readers.map(|reader| reader.layer).collect()
            }
        }
    }

    /// The unmatched neighbours of a layer.
    pub fn free(&self, layer: usize, direction: Direction) -> Vec<usize> {
        let beside = self.beside(layer, direction);
        beside.into_iter().filter(|&layer| self.of[layer].is_none()).collect()
    }

    /// The unmatched readers of a layer, grouped by output, input and key.
    pub fn free_readers(&self, layer: usize, keys: &[u64]) -> BTreeMap<(u32, usize, u64), Vec<usize>> {
        let mut free: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for reader in self.scope.readers[layer].iter().filter(|reader| self.of[reader.layer].is_none()) {
            free.entry((reader.port, reader.input, keys[reader.layer])).or_default().push(reader.layer);
        }
        free
    }

    /// Searches for the nearest matched layers, starting with the layers `from`. Returns their indices in the
    /// second graph, or `None` if the search would visit too many layers.
    pub fn nearest(&self, from: Vec<usize>, direction: Direction) -> Option<Vec<usize>> {
        let (mut todo, mut seen, mut found) = (from, Vec::new(), Vec::new());
        while let Some(layer) = todo.pop() {
            if seen.contains(&layer) {
                continue;
            }
            if seen.len() >= MAX_PASSED {
                return None;
            }
            seen.push(layer);
            match (self.of[layer], self.side) {
                (Some(other), Side::A) => found.push(other),
                (Some(_), Side::B) => found.push(layer),
                (None, _) => todo.extend(self.beside(layer, direction)),
            }
        }
        Some(found)
    }
}

/// Whether two sets of layers have a common element. Returns `true` if a set is empty or unknown.
pub(super) fn meet(ours: Option<Vec<usize>>, theirs: Option<Vec<usize>>) -> bool {
    let (Some(ours), Some(theirs)) = (ours, theirs) else { return true };
    ours.is_empty() || theirs.is_empty() || ours.iter().any(|layer| theirs.contains(layer))
}
