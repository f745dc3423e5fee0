//! What a replacement is about: the old layers and the new ones, down to values that both read.

use std::collections::BTreeSet;

use snick_ir::rewrite::Proposal;
use snick_ir::{Graph, Known, NodeId, Op, OpTraits, Value};

/// So many layers are opened at most.
const MAX_NODES: usize = 96;

/// So many layers before are added to a wide region.
const MORE: usize = 2;

/// Old and new layers, and the values that they read.
pub(super) struct Region {
    /// The layers to execute.
    pub(super) nodes: BTreeSet<NodeId>,
    /// What is given to them, ascending.
    pub(super) leaves: Vec<Value>,
    /// Those of the layers that are replaced, each after what it reads.
    pub(super) old: Vec<NodeId>,
}

impl Region {
    /// The region of a replacement; `None` where old and new meet only beyond [`MAX_NODES`]. Values that are given to
    /// it may follow one from the other, or have more in common than their facts say; the `wide` region holds some more
    /// layers before, and everything that leads from one such value to another, as far as it can be seen.
    pub(super) fn of(proposal: &Proposal, wide: bool) -> Option<Self> {
        let graph = proposal.graph;
        let replaced = (0..).zip(proposal.values).filter(|(_, new)| new.is_some());
        let old: Vec<Value> = replaced.map(|(port, _)| Value { node: proposal.root, port }).collect();
        let new: Vec<Value> = proposal.values.iter().flatten().copied().collect();
        let mut nodes: BTreeSet<NodeId> = proposal.added.iter().copied().collect();
        nodes.insert(proposal.root);
        let mut more = if wide { MORE } else { 0 };
        loop {
            let before = leaves(graph, &nodes, &old);
            let after = leaves(graph, &nodes, &new);
            let mut strange: Vec<Value> = after.difference(&before).copied().collect();
            strange.retain(|&value| !is_known(graph, value));
            let mut missing: Vec<Value> = before.difference(&after).copied().collect();
            missing.retain(|&value| can_open(graph, value));
            let needs_more = !strange.is_empty();
            strange.retain(|&value| can_open(graph, value));
            if !needs_more || (strange.is_empty() && missing.is_empty()) {
                let leaves: Vec<Value> = before.union(&after).copied().collect();
                let follows = |&value: &Value| can_open(graph, value) && follows_from(graph, value, &leaves);
                let opened: Vec<NodeId> = leaves
                    .iter()
                    .filter(|value| wide && if more > 0 { can_open(graph, **value) } else { follows(value) })
                    .map(|value| value.node)
                    .collect();
                more -= more.min(1);
                if !opened.is_empty() && nodes.len() + opened.len() <= MAX_NODES + proposal.added.len() {
                    nodes.extend(opened);
                    continue;
                }
                let old = in_order(graph, &nodes, proposal.root);
                return Some(Self { nodes, leaves, old });
            }
            // What stands before the replaced layer is opened until all that the new ones read is found there; where
            // nothing is left of that, what stands before the new ones.
            let next = if missing.is_empty() { strange } else { missing };
            nodes.extend(next.iter().map(|value| value.node));
            if nodes.len() > MAX_NODES + proposal.added.len() {
                return None;
            }
        }
    }
}

/// What the layers that lead to `values` are given from outside `nodes`.
fn leaves(graph: &Graph, nodes: &BTreeSet<NodeId>, values: &[Value]) -> BTreeSet<Value> {
    let mut leaves = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut todo = values.to_vec();
    while let Some(value) = todo.pop() {
        if !nodes.contains(&value.node) {
            leaves.insert(value);
        } else if seen.insert(value.node) {
            todo.extend(graph.inputs(value.node).into_iter().flatten());
        }
    }
    leaves
}

/// Whether a value is computed from one of the others, as far as [`MAX_NODES`] layers show.
fn follows_from(graph: &Graph, value: Value, others: &[Value]) -> bool {
    let mut seen = BTreeSet::new();
    let mut todo = vec![value];
    while let Some(next) = todo.pop() {
        if next != value && others.contains(&next) {
            return true;
        }
        if seen.len() < MAX_NODES && seen.insert(next.node) {
            todo.extend(graph.inputs(next.node).into_iter().flatten());
        }
    }
    false
}

/// Whether the elements of a value follow from sizes.
fn is_known(graph: &Graph, value: Value) -> bool {
    matches!(
        graph.fact(value).and_then(|fact| fact.known.as_ref()),
        Some(Known::Tensor(_) | Known::Elements(_))
    )
}

/// Whether to look at what computes a value. Not where its elements are known, or cannot be computed.
fn can_open(graph: &Graph, value: Value) -> bool {
    let node = graph.node(value.node);
    !is_known(graph, value)
        && !node.op.traits().intersects(OpTraits::ROOT | OpTraits::STATEFUL)
        && !matches!(node.op, Op::Const(_))
}

/// The layers of the region that lead to `root`, it included, each after what it reads.
fn in_order(graph: &Graph, nodes: &BTreeSet<NodeId>, root: NodeId) -> Vec<NodeId> {
    let mut order = Vec::new();
    let mut todo = vec![(root, false)];
    while let Some((id, is_ready)) = todo.pop() {
        if order.contains(&id) {
            continue;
        }
        if is_ready {
            order.push(id);
            continue;
        }
        todo.push((id, true));
        let inputs = graph.inputs(id).into_iter().flatten();
        todo.extend(inputs.filter(|input| nodes.contains(&input.node)).map(|input| (input.node, false)));
    }
    order
}
