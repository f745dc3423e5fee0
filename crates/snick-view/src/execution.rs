//! An execution order that keeps scopes together.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Sorts nodes so that each comes after its sources. Among the nodes that are ready, one in the innermost scope
/// of the node before comes first. `paths` holds the scopes around each node, outermost first, and `sources`
/// the nodes that it reads. Nodes on a cycle come last. The time is `n log n`, times the depth of the scopes.
pub(crate) fn execution_order(paths: &[Vec<&str>], sources: &[Vec<usize>]) -> Vec<usize> {
    let mut missing: Vec<usize> = sources.iter().map(Vec::len).collect();
    let readers = transposed(sources);
    let mut ready = Ready { paths, by_scope: HashMap::new(), all: BinaryHeap::new() };
    (0..paths.len()).filter(|&node| missing[node] == 0).for_each(|node| ready.offer(node));
    let mut is_taken = vec![false; paths.len()];
    let mut sorted = Vec::with_capacity(paths.len());
    let mut last: &[&str] = &[];
    while let Some(node) = ready.next(last, &is_taken) {
        is_taken[node] = true;
        sorted.push(node);
        last = &paths[node];
        for &reader in &readers[node] {
            missing[reader] -= 1;
            if missing[reader] == 0 {
                ready.offer(reader);
            }
        }
    }
    sorted.extend((0..paths.len()).filter(|&node| !is_taken[node]));
    sorted
}

/// The readers of each node, given the nodes that it reads.
pub(crate) fn transposed(sources: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut readers = vec![Vec::new(); sources.len()];
    for (node, sources) in sources.iter().enumerate() {
        sources.iter().for_each(|&source| readers[source].push(node));
    }
    readers
}

/// The ready nodes, by scope and in all. A node is in several heaps, and is skipped where it comes up again.
struct Ready<'n> {
    paths: &'n [Vec<&'n str>],
    by_scope: HashMap<&'n str, BinaryHeap<Reverse<usize>>>,
    all: BinaryHeap<Reverse<usize>>,
}

impl Ready<'_> {
    fn offer(&mut self, node: usize) {
        self.all.push(Reverse(node));
        for &scope in &self.paths[node] {
            self.by_scope.entry(scope).or_default().push(Reverse(node));
        }
    }

    /// The first node in the innermost of these scopes that has one, otherwise the first of all.
    fn next(&mut self, scopes: &[&str], is_taken: &[bool]) -> Option<usize> {
        let inner = scopes.iter().rev().find_map(|scope| first(self.by_scope.get_mut(*scope)?, is_taken));
        inner.or_else(|| first(&mut self.all, is_taken))
    }
}

/// Removes the first node that is not taken.
fn first(heap: &mut BinaryHeap<Reverse<usize>>, is_taken: &[bool]) -> Option<usize> {
    std::iter::from_fn(|| heap.pop()).map(|Reverse(node)| node).find(|&node| !is_taken[node])
}
