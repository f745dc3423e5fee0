//! Divides scopes with many parts into sections.

use std::collections::HashMap;

use snick_ir::{Graph, NodeId};

use super::{Item, MOST_BOXES, Scope};

/// The number of sections into which a scope with too many parts is divided.
const SECTIONS: usize = 24;

/// Divides the parts of a graph or scope into sections if they are too many, and those of all scopes inside.
pub(super) fn divide(graph: &Graph, items: &mut Vec<Item>) {
    if items.len() > MOST_BOXES {
        *items = sections(graph, std::mem::take(items));
    }
    for scope in items.iter_mut().filter_map(Item::as_scope_mut) {
        divide(graph, &mut scope.items);
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
                _ => found.push(Item::Scope(section(graph, part))),
            }
        }
    }
    found
}

fn section(graph: &Graph, part: Vec<Item>) -> Scope {
    let names: Vec<&str> = part.iter().map(|item| item.name(graph)).collect();
    Scope::new(span(&names), part)
}

/// The name of parts that follow each other: the names of the first and the last.
pub(super) fn span(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first, .., last] => format!("{first} … {last}"),
    }
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
