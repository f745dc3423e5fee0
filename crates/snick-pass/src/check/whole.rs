//! Compares a graph before and after a pass: merges the two graphs into one, and finds outputs that differ.
//!
//! Layers with equal ops and equal inputs are merged (value numbering), so an unchanged layer occurs only
//! once. Layers that cannot be executed here, and layers that are random or stateful, are matched by name
//! instead. If the inputs of such a layer changed, the inputs are compared like outputs of the graph, and the
//! outputs of the layer are then assumed to be equal.

use std::collections::HashMap;
use std::sync::Arc;

use snick_ir::ops::source::constant::Constant;
use snick_ir::{Graph, NodeId, Op, OpTraits, Value};

use super::claim::Pair;
use crate::rules::merge_duplicates::hash_of;
use crate::signature::is_same_end;

/// The inputs of a node, by port.
type Inputs = Vec<Option<Value>>;

/// How a graph differs from an earlier version.
pub(crate) enum Difference {
    /// All outputs are identical values.
    Nothing,
    /// Inputs, outputs or states differ in type, shape or name, so the graphs cannot be compared.
    Unknown,
    /// Some values that must be equal are computed by different layers.
    Values(Box<Joint>),
}

/// The old and the new graph, merged into one.
pub(crate) struct Joint {
    /// The old graph with the new layers added.
    pub(super) graph: Graph,
    /// The values that must be equal.
    pub(super) pairs: Vec<Pair>,
    /// The new layers.
    pub(super) added: Vec<NodeId>,
}

impl Difference {
    /// Compares a graph with an earlier version.
    pub(crate) fn of(before: &Graph, after: &Graph) -> Self {
        match joined(before, after) {
            Some(joint) if joint.pairs.is_empty() => Self::Nothing,
            Some(joint) => Self::Values(Box::new(joint)),
            None => Self::Unknown,
        }
    }
}

fn joined(before: &Graph, after: &Graph) -> Option<Joint> {
    let mut numbering = Numbering::of(before)?;
    let mut joint = Joint { graph: before.clone(), pairs: Vec::new(), added: Vec::new() };
    // Maps each node of the new graph to its node in the merged graph.
    let mut known: HashMap<NodeId, NodeId> = HashMap::new();
    for which in [is_parameter, is_result] {
        let (old, new) = (ids_of(before, which), ids_of(after, which));
        let is_same = |(&old, &new): (&NodeId, &NodeId)| is_same_end((before, old), (after, new));
        if old.len() != new.len() || !old.iter().zip(&new).all(is_same) {
            return None;
        }
        known.extend(new.into_iter().zip(old));
    }
    if ids_of(before, is_stateful).len() != ids_of(after, is_stateful).len() {
        return None;
    }
    for id in after.order().ok()? {
        let node = after.node(id);
        let to_joint = |value: Value| Some(Value { node: *known.get(&value.node)?, port: value.port });
        let inputs: Inputs = after.inputs(id).into_iter().map(|input| input.and_then(to_joint)).collect();
        if is_parameter(node.op()) {
            continue;
        }
        if let Some(&result) = known.get(&id) {
            joint.compare_inputs(result, &inputs, &numbering)?;
            continue;
        }
        let alike = numbering.find(&joint.graph, node.op(), &inputs);
        let alike = match alike {
            None if !can_compute(node.op()) => {
                let named = joint.graph.find(node.name());
                let named = named.filter(|&old| joint.graph.node(old).op() == node.op());
                if let Some(old) = named {
                    joint.compare_inputs(old, &inputs, &numbering)?;
                } else if is_stateful(node.op()) {
                    return None;
                }
                named
            }
            alike => alike,
        };
        let alike = match alike {
            Some(alike) => alike,
            None => {
                let added = joint.add(after, id, &inputs)?;
                numbering.add(&joint.graph, added, inputs);
                added
            }
        };
        known.insert(id, alike);
    }
    Some(joint)
}

impl Joint {
    /// Adds a node to the merged graph and infers it.
    fn add(&mut self, after: &Graph, id: NodeId, inputs: &Inputs) -> Option<NodeId> {
        let node = after.node(id);
        let added = self.graph.add(node.to_node());
        for (port, input) in (0..).zip(inputs) {
            if let Some(input) = input {
                self.graph.connect_new(*input, added, port).ok()?;
            }
        }
        // If the layer cannot be inferred, it has no facts and fails when it is executed.
        let _ = self.graph.infer_node(added);
        self.graph.ensure_outputs(added, node.outs().len());
        self.added.push(added);
        Some(added)
    }

    /// Requires that the inputs of an old node equal `inputs`. `None` if the numbers of inputs differ.
    fn compare_inputs(&mut self, node: NodeId, inputs: &Inputs, numbering: &Numbering) -> Option<()> {
        let old = self.graph.inputs(node);
        if old.len() != inputs.len() {
            return None;
        }
        for (old, new) in old.into_iter().zip(inputs) {
            let (old, new) = (numbering.number(old?), (*new)?);
            if old != new && !self.pairs.iter().any(|pair| (pair.old, pair.new) == (old, new)) {
                let name = format!("input of `{}`", self.graph.node(node).name());
                self.pairs.push(Pair { name, old, new });
            }
        }
        Some(())
    }
}

/// Value numbering: maps each node to the first node that computes the same values.
#[derive(Default)]
struct Numbering {
    /// Each node that is the first to compute its values, with its inputs, by hash.
    seen: HashMap<u64, Vec<(NodeId, Inputs)>>,
    /// For each node whose values an earlier node already computes, the first such node.
    first: HashMap<NodeId, NodeId>,
}

impl Numbering {
    fn of(graph: &Graph) -> Option<Self> {
        let mut numbering = Self::default();
        for id in graph.order().ok()? {
            let inputs: Inputs =
                graph.inputs(id).into_iter().map(|input| Some(numbering.number(input?))).collect();
            match numbering.find(graph, graph.node(id).op(), &inputs) {
                Some(first) => drop(numbering.first.insert(id, first)),
                None => numbering.add(graph, id, inputs),
            }
        }
        Some(numbering)
    }

    /// The value of the first node that equals `value`.
    fn number(&self, value: Value) -> Value {
        Value { node: self.first.get(&value.node).copied().unwrap_or(value.node), ..value }
    }

    fn add(&mut self, graph: &Graph, id: NodeId, inputs: Inputs) {
        if let Some(hash) = number_of(graph.node(id).op(), &inputs) {
            self.seen.entry(hash).or_default().push((id, inputs));
        }
    }

    fn find(&self, graph: &Graph, op: &Op, inputs: &Inputs) -> Option<NodeId> {
        let alike = self.seen.get(&number_of(op, inputs)?)?;
        let same = alike.iter().find(|(id, others)| others == inputs && is_same(graph.node(*id).op(), op));
        same.map(|(id, _)| *id)
    }
}

/// Whether two ops are equal. Does not compare the elements of constants that share a tensor.
fn is_same(a: &Op, b: &Op) -> bool {
    match (a, b) {
        (Op::Const(Constant::Here(a)), Op::Const(Constant::Here(b))) => Arc::ptr_eq(a, b) || a == b,
        _ => a == b,
    }
}

/// A hash for value numbering. `None` for layers that are never merged by value: inputs, outputs, absent
/// constants, and layers that are random or stateful.
fn number_of(op: &Op, inputs: &Inputs) -> Option<u64> {
    match op {
        Op::Parameter(_) | Op::Result(_) => None,
        op if op.traits().intersects(OpTraits::RANDOM | OpTraits::STATEFUL) => None,
        // A large constant is identified by the address of its tensor, which stays the same if the pass does
        // not change it.
        Op::Const(Constant::Here(tensor)) => hash_of(op, inputs).or(Some(Arc::as_ptr(tensor) as u64)),
        Op::Const(Constant::Absent(_)) => None,
        op => hash_of(op, inputs),
    }
}

/// Whether layers with this op can be executed here and are deterministic.
fn can_compute(op: &Op) -> bool {
    let traits = OpTraits::HAS_BODIES | OpTraits::RANDOM | OpTraits::STATEFUL;
    !op.traits().intersects(traits) && !op.is_opaque() && !matches!(op, Op::Const(Constant::Absent(_)))
}

fn ids_of(graph: &Graph, which: fn(&Op) -> bool) -> Vec<NodeId> {
    graph.ids().filter(|&id| which(graph.node(id).op())).collect()
}

fn is_parameter(op: &Op) -> bool {
    matches!(op, Op::Parameter(_))
}

fn is_result(op: &Op) -> bool {
    matches!(op, Op::Result(_))
}

fn is_stateful(op: &Op) -> bool {
    op.has(OpTraits::STATEFUL)
}
