//! Proves single rewrites.

use std::collections::BTreeSet;

use snick_certificate::Equalities;
use snick_ir::rewrite::Proposal;
use snick_ir::{Graph, NodeId, OpTraits, Value};

use super::export::{Exported, Exporter};
use super::search::Search;

/// How many layers before the changed ones a proof may look at.
const MAX_LAYERS: usize = 160;

/// Proves that new values equal the outputs that they replace.
///
/// # Errors
/// Why this is not proved.
pub(crate) fn prove(proposal: &Proposal) -> Result<(), String> {
    let graph = proposal.graph;
    let pairs: Vec<(Value, Value)> = (0..)
        .zip(proposal.values)
        .filter_map(|(port, new)| Some((Value { node: proposal.root, port }, (*new)?)))
        .collect();
    let mut exporter = Exporter::default();
    let mut exported = Exported::default();
    let wanted: Vec<NodeId> = pairs.iter().flat_map(|(old, new)| [old.node, new.node]).collect();
    let (inside, border) = region(graph, &wanted);
    for id in in_order(graph, &inside, &border, &wanted) {
        exporter.add(graph, id, &mut exported, border.contains(&id));
    }
    let mut equalities = Equalities::new(&exporter.graph);
    for (old, new) in pairs {
        let (Some(&before), Some(&after)) = (exported.values.get(&old), exported.values.get(&new)) else {
            return Err("a value is not known".to_string());
        };
        let mut search = Search::new();
        equalities.prove(before, after, &mut search)?;
    }
    Ok(())
}

/// The layers that some values depend on, up to a limit, and the layers just before them.
fn region(graph: &Graph, wanted: &[NodeId]) -> (BTreeSet<NodeId>, BTreeSet<NodeId>) {
    let (mut inside, mut border) = (BTreeSet::new(), BTreeSet::new());
    let mut todo: std::collections::VecDeque<NodeId> = wanted.iter().copied().collect();
    while let Some(id) = todo.pop_front() {
        if inside.contains(&id) || border.contains(&id) {
            continue;
        }
        if inside.len() >= MAX_LAYERS || graph.node(id).op().has(OpTraits::ROOT) && !wanted.contains(&id) {
            border.insert(id);
        } else {
            inside.insert(id);
            todo.extend(sources(graph, id));
        }
    }
    (inside, border)
}

/// The layers of a region in topological order.
fn in_order(
    graph: &Graph,
    inside: &BTreeSet<NodeId>,
    border: &BTreeSet<NodeId>,
    wanted: &[NodeId],
) -> Vec<NodeId> {
    let mut order: Vec<NodeId> = border.iter().copied().collect();
    let mut done = border.clone();
    let mut todo: Vec<(NodeId, bool)> = wanted.iter().rev().map(|id| (*id, false)).collect();
    while let Some((id, is_ready)) = todo.pop() {
        if is_ready {
            if done.insert(id) {
                order.push(id);
            }
        } else if inside.contains(&id) && !done.contains(&id) {
            todo.push((id, true));
            todo.extend(sources(graph, id).map(|source| (source, false)));
        }
    }
    order
}

/// The layers that a layer reads.
fn sources(graph: &Graph, id: NodeId) -> impl Iterator<Item = NodeId> {
    graph.inputs(id).into_iter().flatten().map(|input| input.node)
}
