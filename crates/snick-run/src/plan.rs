//! The plan: the steps of a run in order, and the last use of each value.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use snick_ir::{Fact, Graph, Located, NodeId, Op, Value};
use snick_tensor::kernels::{PackedWeights, Quantizer};
use snick_tensor::{ElementType, Tensor};

use crate::fused_elementwise::FusedLayers;
use crate::quantized_step::QuantizedStep;
use crate::slice_numbers::SliceNumbers;

/// A step of a plan: evaluates one node, or several nodes together. In the latter case, `node` is the last of
/// them.
pub(crate) struct Step {
    pub(crate) node: NodeId,
    pub(crate) kind: StepKind,
    /// The inputs, by port.
    pub(crate) operands: Box<[Operand]>,
    /// The slot of the first output; the slots of the other outputs follow.
    pub(crate) first: usize,
    /// The number of outputs.
    pub(crate) outs: usize,
    /// Whether the type or rank of some input is unknown to inference. In that case, inference could not
    /// reject invalid inputs, so the outputs are checked against their facts at run time.
    pub(crate) is_checked: bool,
}

/// How a step computes its outputs.
pub(crate) enum StepKind {
    /// Evaluates the op of the node.
    Op,
    /// Evaluates a faster op that is equivalent given the facts of the node.
    Specialized(Op),
    /// Makes a single pass over several element-wise layers.
    Fused(FusedLayers),
    /// Slices, and computes the operands of the slice.
    Slice(Box<SliceNumbers>),
    /// Evaluates a MatMul or Gather with packed weights; the operand of the step is the other input.
    Packed(Arc<PackedWeights>),
    /// Computes on the codes of a FakeQuantize, that is, the indices of its levels. The node is the last one
    /// that the step computes.
    Quantized(QuantizedStep),
}

impl Step {
    /// Whether the outputs are the values of the node, and not codes.
    pub(crate) fn has_outputs_of_node(&self) -> bool {
        !matches!(&self.kind, StepKind::Quantized(step) if step.returns_codes())
    }

    /// The specialized op of the step, or otherwise the op of its node.
    pub(crate) fn op<'s>(&'s self, graph: &'s Graph) -> &'s Op {
        match &self.kind {
            StepKind::Specialized(op) => op,
            _ => graph.node(self.node).op(),
        }
    }
}

/// An input of a step, given as its source.
#[derive(Copy, Clone)]
pub(crate) enum Operand {
    /// The port is not connected.
    Missing,
    /// A constant of the plan, by index.
    Constant(usize),
    /// The value in a slot; `last` says whether this is its last use.
    Slot { slot: usize, last: bool },
}

impl Operand {
    /// The slot of the operand, if it has one.
    pub(crate) fn slot(self) -> Option<usize> {
        match self {
            Self::Slot { slot, .. } => Some(slot),
            _ => None,
        }
    }
}

/// The steps in order, and the number of slots.
#[derive(Default)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    pub(crate) slots: usize,
    /// For each slot: whether it is read.
    pub(crate) is_read: Vec<bool>,
    /// The values that are the same in every run.
    pub(crate) constants: Vec<Tensor>,
    /// For each constant: the slot whose value it replaces.
    pub(crate) folded: Vec<usize>,
    /// For each slot that contains codes: the value that they encode, and its quantizer.
    pub(crate) codes: HashMap<usize, (Value, Arc<Quantizer>)>,
}

impl Plan {
    /// Plans all nodes of a graph.
    pub(crate) fn new(graph: &Graph) -> Result<Self, Located> {
        let order = graph.order()?;
        let (first, slots) = slots(graph, &order);
        let slot_of = |value: Option<Value>| {
            let value = value.filter(|&value| graph.output(value).is_some())?;
            Some(first[value.node.index()] + value.port as usize)
        };
        let steps = order.iter().map(|&node| {
            let operand = |value| match slot_of(value) {
                Some(slot) => Operand::Slot { slot, last: false },
                None => Operand::Missing,
            };
            let inputs = graph.inputs(node);
            let op = graph.specialized(node);
            let operands = inputs.into_iter().map(operand).collect();
            let (first, outs) = (first[node.index()], graph.node(node).outs().len());
            let kind = op.map_or(StepKind::Op, StepKind::Specialized);
            let is_checked = graph.inputs(node).into_iter().flatten().any(|value| is_dynamic(graph, value));
            Step { node, kind, operands, first, outs, is_checked }
        });
        let mut plan = Self { steps: steps.collect(), slots, ..Self::default() };
        plan.mark_last_uses();
        Ok(plan)
    }

    /// Replaces ops that have unused outputs with ops that do not compute these outputs, where such ops
    /// exist.
    pub(crate) fn prune_outputs(&mut self, graph: &Graph) {
        for step in &mut self.steps {
            let outs = step.first..step.first + step.outs;
            let is_read = &self.is_read[outs];
            if let Some(pruned) = step.op(graph).prune_outputs(is_read) {
                step.outs = is_read.iter().rposition(|&read| read).map_or(1, |last| last + 1);
                step.kind = StepKind::Specialized(pruned);
            }
        }
    }

    /// Removes each step of these nodes if none of its outputs is used.
    pub(crate) fn remove_unread(&mut self, nodes: &HashSet<NodeId>) {
        let mut is_read = vec![false; self.slots];
        let mut kept = Vec::with_capacity(self.steps.len());
        while let Some(step) = self.steps.pop() {
            let is_needed = is_read[step.first..step.first + step.outs].contains(&true);
            if is_needed || !nodes.contains(&step.node) {
                step.operands
                    .iter()
                    .filter_map(|operand| operand.slot())
                    .for_each(|slot| is_read[slot] = true);
                kept.push(step);
            }
        }
        kept.reverse();
        self.steps = kept;
    }

    /// For each slot: the number of operands that read it.
    pub(crate) fn readers(&self) -> Vec<usize> {
        let mut readers = vec![0; self.slots];
        let operands = self.steps.iter().flat_map(|step| step.operands.iter());
        operands.filter_map(|operand| operand.slot()).for_each(|slot| readers[slot] += 1);
        readers
    }

    /// Marks the last use of each value. Visits the steps in reverse order, so that the first use it finds is
    /// the last one in a run.
    pub(crate) fn mark_last_uses(&mut self) {
        self.is_read = vec![false; self.slots];
        for step in self.steps.iter_mut().rev() {
            for operand in step.operands.iter_mut().rev() {
                if let Operand::Slot { slot, last } = operand {
                    *last = !std::mem::replace(&mut self.is_read[*slot], true);
                }
            }
        }
    }
}

/// For each node, the slot of its first output; the slots of the other outputs follow. Also returns the total
/// number of slots.
pub(crate) fn slots(graph: &Graph, order: &[NodeId]) -> (Vec<usize>, usize) {
    let mut first = vec![0; graph.bound()];
    let mut slots = 0;
    for &id in order {
        first[id.index()] = slots;
        slots += graph.node(id).outs().len().max(1);
    }
    (first, slots)
}

/// Whether the type or the rank of a value is unknown.
fn is_dynamic(graph: &Graph, value: Value) -> bool {
    let is_dynamic = |fact: &Fact| fact.element_type == ElementType::Dynamic || fact.shape.rank().is_none();
    graph.fact(value).is_some_and(is_dynamic)
}
