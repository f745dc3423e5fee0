//! What a single rewrite claims.

use std::collections::{BTreeSet, VecDeque};

use snick_ir::rewrite::Proposal;
use snick_ir::{Graph, NodeId, OpTraits, Value};

use super::export::{Exported, Exporter};
use super::search::Task;

/// How many layers before the changed ones a proof may look at.
const MAX_LAYERS: usize = 160;

/// The claim that new values equal the outputs that they replace.
pub(super) fn task(proposal: &Proposal) -> Task {
    let graph = proposal.graph;
    let pairs: Vec<(Value, Value)> = (0..)
        .zip(proposal.values)
        .filter_map(|(port, new)| Some((Value { node: proposal.root, port }, (*new)?)))
        .collect();
    let wanted: Vec<NodeId> = pairs.iter().flat_map(|(old, new)| [old.node, new.node]).collect();
    let (mut exporter, mut exported) = (Exporter::default(), Exported::default());
    let region = Region::of(graph, &wanted);
    for id in region.topological_order(graph, &wanted) {
        exporter.add(graph, id, &mut exported, region.border.contains(&id));
    }
    let mut task = Task::default();
    let value = |value| exported.values.get(&value).copied();
    task.problem.claims = pairs.iter().filter_map(|(old, new)| value(*old).zip(value(*new))).collect();
    task.problem.graph = exporter.graph;
    task
}

/// The layers that some values depend on, up to a limit, and the layers just before them.
struct Region {
    inside: BTreeSet<NodeId>,
    border: BTreeSet<NodeId>,
}

impl Region {
    fn of(graph: &Graph, wanted: &[NodeId]) -> Self {
        let mut region = Self { inside: BTreeSet::new(), border: BTreeSet::new() };
        let mut todo: VecDeque<NodeId> = wanted.iter().copied().collect();
        while let Some(id) = todo.pop_front() {
            if region.inside.contains(&id) || region.border.contains(&id) {
                continue;
            }
            let is_root = graph.node(id).op().has(OpTraits::ROOT);
            if !wanted.contains(&id) && (is_root || region.inside.len() >= MAX_LAYERS) {
                region.border.insert(id);
            } else {
                region.inside.insert(id);
                todo.extend(sources(graph, id));
            }
        }
        region
    }

    fn topological_order(&self, graph: &Graph, wanted: &[NodeId]) -> Vec<NodeId> {
        let mut order: Vec<NodeId> = self.border.iter().copied().collect();
        let mut done = self.border.clone();
        let mut todo: Vec<(NodeId, bool)> = wanted.iter().rev().map(|id| (*id, false)).collect();
        while let Some((id, is_ready)) = todo.pop() {
            if is_ready {
                if done.insert(id) {
                    order.push(id);
                }
            } else if self.inside.contains(&id) && !done.contains(&id) {
                todo.push((id, true));
                todo.extend(sources(graph, id).map(|source| (source, false)));
            }
        }
        order
    }
}

/// The layers that a layer reads.
fn sources(graph: &Graph, id: NodeId) -> impl Iterator<Item = NodeId> {
    graph.inputs(id).into_iter().flatten().map(|input| input.node)
}
