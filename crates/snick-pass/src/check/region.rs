//! The region of a replacement: the old and new layers, back to the values that both of them read.

use std::collections::BTreeSet;

use snick_ir::{Graph, Known, NodeId, Op, OpTraits, Value};
use snick_shape::{Birth, SymbolId};

use super::claim::Claim;

/// Maximum number of layers in a region.
const MAX_NODES: usize = 96;

/// The number of levels of producers by which a wide region extends a near one.
const MORE: usize = 2;

/// Old and new layers, and the values that they read.
pub(super) struct Region {
    /// The layers to execute.
    pub(super) nodes: BTreeSet<NodeId>,
    /// The values outside of the region that these layers read, in ascending order.
    pub(super) leaves: Vec<Value>,
    /// The replaced layers in topological order.
    pub(super) old: Vec<NodeId>,
}

/// How far a region extends towards the inputs of the graph.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Reach<'v> {
    /// The layers that differ, back to the values that both the old and the new layers read.
    Near,
    /// Also [`MORE`] levels of producers, and the producers of inputs that depend on other inputs of the
    /// region.
    Wide,
    /// Everything that the values depend on, back to these given values and the inputs of the graph.
    DownTo(&'v [Value]),
}

impl Region {
    /// The region of a claim. `None` if it would exceed [`MAX_NODES`]. For [`Reach::DownTo`], also `None` if
    /// a layer that cannot be executed here is read only by the old or only by the new layers.
    ///
    /// The inputs of a region may depend on each other, or be related in ways that facts do not express. In a
    /// wider region, fewer inputs are related.
    pub(super) fn of(claim: &Claim, reach: Reach) -> Option<Self> {
        let graph = claim.graph;
        let old: Vec<Value> = claim.pairs.iter().map(|pair| pair.old).collect();
        let new: Vec<Value> = claim.pairs.iter().map(|pair| pair.new).collect();
        if let Reach::DownTo(ends) = reach {
            return Self::down_to(ends, claim, &old, &new);
        }
        let wide = reach == Reach::Wide;
        let mut nodes: BTreeSet<NodeId> = claim.added.iter().copied().collect();
        nodes.extend(old.iter().map(|value| value.node));
        let mut more = if wide { MORE } else { 0 };
        loop {
            let before = leaves(graph, &nodes, &old);
            let after = leaves(graph, &nodes, &new);
            let mut extra: Vec<Value> = after.difference(&before).copied().collect();
            extra.retain(|&value| !is_known(graph, value));
            let mut missing: Vec<Value> = before.difference(&after).copied().collect();
            missing.retain(|&value| can_expand(graph, value));
            let needs_more = !extra.is_empty();
            extra.retain(|&value| can_expand(graph, value));
            if !needs_more || (extra.is_empty() && missing.is_empty()) {
                let leaves: Vec<Value> = before.union(&after).copied().collect();
                let follows =
                    |&value: &Value| can_expand(graph, value) && follows_from(graph, value, &leaves);
                let expanded: Vec<NodeId> = leaves
                    .iter()
                    .filter(|value| {
                        wide && if more > 0 { can_expand(graph, **value) } else { follows(value) }
                    })
                    .map(|value| value.node)
                    .collect();
                more -= more.min(1);
                if !expanded.is_empty() && nodes.len() + expanded.len() <= MAX_NODES + claim.added.len() {
                    nodes.extend(expanded);
                    continue;
                }
                let old = in_order(graph, &nodes, &old);
                return Some(Self { nodes, leaves, old });
            }
            // Extends the region upstream from the inputs of the old layers until it contains everything that
            // the new layers read. If none of these inputs can be extended, extends it from the inputs of the
            // new layers.
            let next = if missing.is_empty() { extra } else { missing };
            nodes.extend(next.iter().map(|value| value.node));
            if nodes.len() > MAX_NODES + claim.added.len() {
                return None;
            }
        }
    }

    /// Everything that the values depend on, down to `ends` and the inputs of the graph.
    fn down_to(ends: &[Value], claim: &Claim, old: &[Value], new: &[Value]) -> Option<Self> {
        let graph = claim.graph;
        let (mut nodes, mut leaves) = (BTreeSet::new(), BTreeSet::new());
        let mut todo: Vec<Value> = old.iter().chain(new).copied().collect();
        while let Some(value) = todo.pop() {
            if ends.contains(&value) || !can_expand(graph, value) {
                leaves.insert(value);
            } else if nodes.insert(value.node) {
                todo.extend(graph.inputs(value.node).into_iter().flatten());
            }
        }
        // The output of a layer that cannot be executed is replaced with random elements. If only the old or
        // only the new layers read these elements, the results of both sides cannot be compared.
        let sides = [old, new].map(|values| self::leaves(graph, &nodes, values));
        if sides[0].symmetric_difference(&sides[1]).any(|&leaf| is_unknown(graph, leaf)) {
            return None;
        }
        let old = in_order(graph, &nodes, old);
        Some(Self { nodes, leaves: leaves.into_iter().collect(), old })
    }
}

/// The values outside of `nodes` that the computation of `values` reads.
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

/// Whether a value depends on one of `others`; the search stops after [`MAX_NODES`] layers.
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

/// Whether inference knows the elements of a value, either as numbers or as expressions of declared sizes.
/// Other symbols stand for computed values: a sample must not choose these freely, because they could
/// contradict the inputs of the layer.
fn is_known(graph: &Graph, value: Value) -> bool {
    let symbols = graph.symbols();
    let is_declared = |&symbol: &SymbolId| *symbols.birth(symbol) == Birth::Declared;
    match graph.fact(value).and_then(|fact| fact.known.as_ref()) {
        Some(Known::Tensor(_)) => true,
        Some(Known::Elements(elements)) => {
            elements.iter().all(|element| element.symbols().iter().all(is_declared))
        }
        Some(Known::Reals(_)) | None => false,
    }
}

/// Whether the layer that computes a value may be added to the region: the elements of the value are unknown,
/// and the layer can be executed.
fn can_expand(graph: &Graph, value: Value) -> bool {
    let node = graph.node(value.node);
    !is_known(graph, value)
        && !node.op().traits().intersects(OpTraits::ROOT | OpTraits::STATEFUL | OpTraits::HAS_BODIES)
        && !matches!(node.op(), Op::Const(_))
}

/// Whether the elements of a leaf can be neither evaluated nor chosen, because its layer cannot be executed.
fn is_unknown(graph: &Graph, leaf: Value) -> bool {
    let op = graph.node(leaf.node).op();
    let is_free = matches!(op, Op::Parameter(_) | Op::Const(_)) || op.has(OpTraits::STATEFUL);
    !is_free && !is_known(graph, leaf)
}

/// The layers of the region on which some values depend, in topological order.
fn in_order(graph: &Graph, nodes: &BTreeSet<NodeId>, values: &[Value]) -> Vec<NodeId> {
    let (mut order, mut done) = (Vec::new(), BTreeSet::new());
    let mut todo: Vec<_> = values.iter().rev().map(|value| (value.node, false)).collect();
    todo.retain(|(id, _)| nodes.contains(id));
    while let Some((id, is_ready)) = todo.pop() {
        if done.contains(&id) {
            continue;
        }
        if is_ready {
            done.insert(id);
            order.push(id);
            continue;
        }
        todo.push((id, true));
        let inputs = graph.inputs(id).into_iter().flatten();
        todo.extend(inputs.filter(|input| nodes.contains(&input.node)).map(|input| (input.node, false)));
    }
    order
}
