//! Port maps of Loop, If and TensorIterator. The Parameters and Results of a body are identified by their
//! connections, because another export may list them in a different order.

use std::collections::HashSet;

use snick_ir::ops::control::port_map::{PortLink, PortMap};

use super::layer::hash_of;

/// Hashes the connections of each Parameter and Result of a body.
pub(super) fn labels(map: &PortMap, parameters: usize, results: usize) -> (Vec<u64>, Vec<u64>) {
    let entering = connections(&map.inputs, parameters);
    let leaving = connections(&map.outputs, results);
    let mut parameters: Vec<Vec<u64>> = entering.iter().map(|&own| vec![own]).collect();
    let mut results: Vec<Vec<u64>> = leaving.iter().map(|&own| vec![own]).collect();
    for &(from, to) in &map.back_edges {
        if let (Some(result), Some(parameter)) = (results.get_mut(from), parameters.get_mut(to)) {
            result.push(entering[to]);
            parameter.push(leaving[from]);
        }
    }
    let combined = |mut connected: Vec<u64>| {
        connected[1..].sort_unstable();
        hash_of(connected)
    };
    (parameters.into_iter().map(combined).collect(), results.into_iter().map(combined).collect())
}

/// Hashes the connections of each of `count` Parameters or Results, excluding back edges.
fn connections(links: &[PortLink], count: usize) -> Vec<u64> {
    let mut texts = vec![Vec::new(); count];
    for link in links {
        if let Some(texts) = texts.get_mut(link.internal) {
            texts.push(PortLink { internal: 0, ..link.clone() }.to_string());
        }
    }
    let sorted = |mut texts: Vec<String>| {
        texts.sort_unstable();
        hash_of(texts)
    };
    texts.into_iter().map(sorted).collect()
}

/// The links and back edges that only one port map has, as text. `parameters` and `results` map indices of
/// the first body to indices of the second.
pub(super) fn map_changes(
    ours: &PortMap,
    theirs: &PortMap,
    parameters: &[Option<usize>],
    results: &[Option<usize>],
) -> Vec<(String, [String; 2])> {
    let plain = |links: &[PortLink]| links.iter().map(PortLink::to_string).collect::<Vec<_>>();
    let numbered = |links: &[PortLink], numbers: &[Option<usize>]| {
        let link = |link: &PortLink| match numbers.get(link.internal).copied().flatten() {
            Some(internal) => PortLink { internal, ..link.clone() }.to_string(),
            None => format!("{link} (removed)"),
        };
        links.iter().map(link).collect::<Vec<_>>()
    };
    let back = |edges: &[(usize, usize)]| edges.iter().map(|(from, to)| format!("{from} -> {to}")).collect();
    let numbered_back: Vec<(usize, usize)> = ours
        .back_edges
        .iter()
        .filter_map(|&(from, to)| Some(((*results.get(from)?)?, (*parameters.get(to)?)?)))
        .collect();
    let parts = [
        ("inputs", numbered(&ours.inputs, parameters), plain(&theirs.inputs)),
        ("outputs", numbered(&ours.outputs, results), plain(&theirs.outputs)),
        ("back_edges", back(&numbered_back), back(&theirs.back_edges)),
    ];
    let changed = parts.into_iter().filter_map(|(name, ours, theirs)| {
        let only = |own: &[String], other: &[String]| {
            let other: HashSet<&String> = other.iter().collect();
            let own: Vec<&str> =
                own.iter().filter(|link| !other.contains(link)).map(String::as_str).collect();
            own.join("; ")
        };
        let both = [only(&ours, &theirs), only(&theirs, &ours)];
        both.iter().any(|text| !text.is_empty()).then(|| (name.to_string(), both))
    });
    changed.collect()
}
