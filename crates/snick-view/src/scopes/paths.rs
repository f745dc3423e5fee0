//! The scopes around each layer.

use std::collections::{HashMap, HashSet};

use snick_ir::{Graph, NodeId, Op};

use crate::execution::{execution_order, transposed};
use crate::repeats::{DEEPEST, ends};

/// A scope whose layers make up a smaller share of the layers between its first and its last is a shared module.
const DENSE: f64 = 0.3;

/// The scopes around each layer, outermost first.
///
/// A layer whose name has no scope, such as a convolution that was fused with a normalisation, is in the scopes
/// of its readers. A layer of a shared module, such as an activation that many blocks call, is in the scopes of
/// its source. If these have no scopes of their own either, the layer is in the scopes that the nearest named
/// layers before and after it share.
pub(super) fn with_hosts<'g>(
    graph: &'g Graph,
    layers: &[NodeId],
    sources: &[Vec<usize>],
) -> Vec<Vec<&'g str>> {
    let readers = transposed(sources);
    let paths: Vec<Vec<&str>> = layers.iter().map(|&id| scopes_of(graph.node(id).name())).collect();
    let sorted = execution_order(&paths, sources);
    let shared = shared_modules(&sorted, &paths);
    let is_named: Vec<bool> = paths
        .iter()
        .map(|path| !path.is_empty() && !path.iter().any(|scope| shared.contains(scope)))
        .collect();
    let nearest = |nodes: &mut dyn Iterator<Item = usize>, neighbours: &[Vec<usize>]| {
        let mut found = paths.clone();
        for node in nodes.filter(|&node| !is_named[node]) {
            found[node] = common_of(neighbours[node].iter().map(|&other| found[other].as_slice()));
        }
        found
    };
    let above = nearest(&mut sorted.iter().copied(), sources);
    let below = nearest(&mut sorted.iter().rev().copied(), &readers);
    let host = |node: usize| {
        let near = if paths[node].is_empty() { &readers[node] } else { &sources[node] };
        if !near.is_empty() && near.iter().all(|&other| is_named[other]) {
            common_of(near.iter().map(|&other| paths[other].as_slice()))
        } else {
            common_of([above[node].as_slice(), below[node].as_slice()].into_iter())
        }
    };
    let is_end = |id: NodeId| matches!(graph.node(id).op(), Op::Parameter(_) | Op::Result(_));
    let own = |node: usize| is_named[node] || is_end(layers[node]);
    (0..layers.len()).map(|node| if own(node) { paths[node].clone() } else { host(node) }).collect()
}

/// The scopes in a name, outermost first.
fn scopes_of(name: &str) -> Vec<&str> {
    ends(name).take(DEEPEST).map(|end| &name[..end]).collect()
}

/// The scopes that all paths share; none if there are no paths.
fn common_of<'g, 'p>(paths: impl Iterator<Item = &'p [&'g str]>) -> Vec<&'g str>
where
    'g: 'p,
{
    let shared = |a: &'p [&'g str], b: &'p [&'g str]| {
        let depth = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        &a[..depth]
    };
    paths.reduce(shared).unwrap_or_default().to_vec()
}

/// The scopes whose layers are scattered over others.
fn shared_modules<'g>(order: &[usize], paths: &[Vec<&'g str>]) -> HashSet<&'g str> {
    struct Spread {
        first: usize,
        last: usize,
        runs: usize,
        size: usize,
    }
    let mut found: HashMap<&str, Spread> = HashMap::new();
    for (at, &node) in order.iter().enumerate() {
        for &scope in &paths[node] {
            let spread = found.entry(scope).or_insert(Spread { first: at, last: at, runs: 1, size: 0 });
            spread.runs += usize::from(spread.last + 1 < at);
            spread.size += 1;
            spread.last = at;
        }
    }
    let is_scattered = |spread: &Spread| {
        let size = spread.size as f64;
        spread.runs > 2
            && size < 1.25 * spread.runs as f64
            && size < DENSE * (spread.last + 1 - spread.first) as f64
    };
    found.into_iter().filter(|(_, spread)| is_scattered(spread)).map(|(scope, _)| scope).collect()
}
