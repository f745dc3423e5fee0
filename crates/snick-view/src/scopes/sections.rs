//! Divides scopes with many parts into sections.

use std::collections::HashMap;

use snick_ir::{Graph, NodeId};

use super::{Item, MOST_BOXES, Scope};
use crate::repeats::Structure;

/// The number of sections into which a scope with too many parts is divided.
const SECTIONS: usize = 24;

/// Maximum number of pieces in a block of unnamed layers.
const LONGEST_BLOCK: usize = 64;

/// Divides a graph or scope that has too many parts, and all scopes inside: first into blocks of equal structure,
/// if `structure` is given, then into sections.
pub(super) fn divide(graph: &Graph, items: &mut Vec<Item>, structure: Option<&Structure>) {
    if items.len() > MOST_BOXES
        && let Some(structure) = structure
    {
        *items = blocks(graph, std::mem::take(items), structure);
    }
    if items.len() > MOST_BOXES {
        *items = sections(graph, std::mem::take(items));
    }
    for scope in items.iter_mut().filter_map(Item::as_scope_mut) {
        // The blocks of a group are equal, so looking for equal blocks among them again would never end.
        divide(graph, &mut scope.items, structure.filter(|_| scope.repeats == 0));
    }
}

/// Groups blocks of equal structure that follow each other. A block begins and ends where a single value leads on.
fn blocks(graph: &Graph, items: Vec<Item>, structure: &Structure) -> Vec<Item> {
    let places = places_with_a_single_value(graph, &items);
    let starts = [0].into_iter().chain(places.iter().copied());
    let mut items = items.into_iter();
    let pieces: Vec<Vec<Item>> =
        starts.zip(&places).map(|(start, end)| items.by_ref().take(end - start).collect()).collect();
    let hashes: Vec<u64> = pieces
        .iter()
        .map(|piece| structure.hash(graph, &piece.iter().flat_map(Item::layers).collect::<Vec<_>>()))
        .collect();
    let equal = EqualPieces::new(&hashes);
    let mut found = Vec::new();
    let (mut at, mut pieces) = (0, pieces.into_iter());
    while at < hashes.len() {
        let Some((length, count)) = equal.longest_run(at) else {
            found.extend(pieces.next().into_iter().flatten());
            at += 1;
            continue;
        };
        let block = |_| {
            let mut parts: Vec<Item> = pieces.by_ref().take(length).flatten().collect();
            match parts.len() {
                1 => parts.remove(0),
                _ => Item::Scope(Scope::of_parts(graph, parts)),
            }
        };
        let blocks = (0..count).map(block).collect();
        found.push(Item::Scope(Scope::of_blocks(graph, blocks)));
        at += length * count;
    }
    found
}

/// For each length of a block, the number of pieces from each place on that equal the piece one block later.
struct EqualPieces(Vec<Vec<usize>>);

impl EqualPieces {
    fn new(hashes: &[u64]) -> Self {
        let equal = |length: usize| {
            let mut counts = vec![0; hashes.len() + 1];
            for at in (0..hashes.len().saturating_sub(length)).rev() {
                counts[at] = if hashes[at] == hashes[at + length] { counts[at + 1] + 1 } else { 0 };
            }
            counts
        };
        Self((1..=LONGEST_BLOCK).map(equal).collect())
    }

    /// The length and the number of the equal blocks that begin at a place and have most pieces in all. Two
    /// single pieces are no blocks.
    fn longest_run(&self, at: usize) -> Option<(usize, usize)> {
        let runs = self.0.iter().zip(1..).map(|(counts, length)| (length, counts[at] / length + 1));
        let runs = runs.filter(|&(length, count)| count > 1 && length * count > 2);
        runs.max_by_key(|&(length, count)| (length * count, std::cmp::Reverse(length)))
    }
}

/// A section ends where a single value leads on, if there are enough such places.
fn sections(graph: &Graph, items: Vec<Item>) -> Vec<Item> {
    let count = items.len();
    let single = places_with_a_single_value(graph, &items);
    let places = if single.len() >= SECTIONS { single } else { (1..=count).collect() };
    let mut items = items.into_iter();
    let mut start = 0;
    let mut found = Vec::new();
    for end in places {
        if (end - start) * SECTIONS >= count || end == count {
            let part: Vec<Item> = items.by_ref().take(end - start).collect();
            start = end;
            match part.len() {
                1 => found.extend(part),
                _ => found.push(Item::Scope(Scope::of_parts(graph, part))),
            }
        }
    }
    found
}

/// The numbers of items before which at most one item is read by those after; the last is the number of all.
fn places_with_a_single_value(graph: &Graph, items: &[Item]) -> Vec<usize> {
    let mut place_of: HashMap<NodeId, usize> = HashMap::new();
    let mut last_reader: Vec<usize> = (0..items.len()).collect();
    for (at, item) in items.iter().enumerate() {
        place_of.extend(item.layers().into_iter().map(|id| (id, at)));
    }
    for (at, item) in items.iter().enumerate() {
        for id in item.layers() {
            for from in graph.inputs(id).iter().flatten().filter_map(|value| place_of.get(&value.node)) {
                last_reader[*from] = last_reader[*from].max(at);
            }
        }
    }
    // The change of the number of items that are read later, at each place.
    let mut change = vec![0i64; items.len()];
    for (at, &last) in last_reader.iter().enumerate().filter(|(at, last)| *last > at) {
        change[at] += 1;
        change[last] -= 1;
    }
    let mut live = 0;
    let mut places: Vec<usize> = Vec::new();
    for (at, change) in change.into_iter().enumerate() {
        live += change;
        if live <= 1 {
            places.push(at + 1);
        }
    }
    if places.last() != Some(&items.len()) {
        places.push(items.len());
    }
    places
}
