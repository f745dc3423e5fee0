//! The plan: what to evaluate in which order, and when values die.

use snick_ir::{Fact, Graph, Located, NodeId, Op, OpError, Value};
use snick_tensor::Tensor;

use crate::fused_elementwise::FusedStage;
use crate::slice_numbers::SliceNumbers;

/// One node.
pub(crate) struct Step {
    pub(crate) node: NodeId,
    /// What is evaluated in place of the op of the node, if anything.
    pub(crate) op: Option<Op>,
    /// What it reads, by port.
    pub(crate) operands: Box<[Operand]>,
    /// Slot of its first output; the others follow.
    pub(crate) first: usize,
    /// Number of outputs.
    pub(crate) outs: usize,
    /// The layers that are evaluated as one, the last of which is the node; none if it is evaluated by itself.
    pub(crate) chain: Vec<FusedStage>,
    /// Of a slice, how it computes the numbers of its range, if it does.
    pub(crate) numbers: Option<Box<SliceNumbers>>,
}

/// An input of a step.
#[derive(Copy, Clone)]
pub(crate) enum Operand {
    /// Nothing is wired to the port.
    Missing,
    /// A constant of the plan.
    Constant(usize),
    /// The value in a slot; `last` where nobody reads it afterwards.
    Slot { slot: usize, last: bool },
}

/// Steps in order, and the number of slots.
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    pub(crate) slots: usize,
    /// By slot: whether anybody reads it.
    pub(crate) is_read: Vec<bool>,
    /// What is the same in every run.
    pub(crate) constants: Vec<Tensor>,
}

impl Plan {
    /// Plans all nodes of a graph.
    pub(crate) fn new(graph: &Graph) -> Result<Self, Located> {
        let order = graph.order().map_err(|id| {
            graph.located(
                id,
                OpError::mismatch("the order of layers", "a cycle through this layer", "no cycle"),
            )
        })?;
        let mut first = vec![0; graph.bound()];
        let mut slots = 0;
        for &id in &order {
            first[id.index()] = slots;
            slots += graph.node(id).outs.len().max(1);
        }
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
            let facts: Option<Vec<&Fact>> =
                inputs.iter().map(|input| Some(&graph.output((*input)?)?.fact)).collect();
            let op = facts.and_then(|facts| graph.node(node).op.specialize(&facts));
            let operands = inputs.into_iter().map(operand).collect();
            let (first, outs) = (first[node.index()], graph.node(node).outs.len());
            Step { node, op, operands, first, outs, chain: Vec::new(), numbers: None }
        });
        let mut plan = Self { steps: steps.collect(), slots, is_read: Vec::new(), constants: Vec::new() };
        plan.mark_last_uses();
        Ok(plan)
    }

    /// Leaves out outputs that nobody reads, where that saves work.
    pub(crate) fn trim(&mut self, graph: &Graph) {
        for step in &mut self.steps {
            let outs = step.first..step.first + step.outs;
            let is_read = &self.is_read[outs];
            let op = step.op.as_ref().unwrap_or(&graph.node(step.node).op);
            if let Some(prune_outputs) = op.prune_outputs(is_read) {
                step.outs = is_read.iter().rposition(|&read| read).map_or(1, |last| last + 1);
                step.op = Some(prune_outputs);
            }
        }
    }

    /// Walked from the end, the first use met of a value is its last.
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
