//! Values declared as f16 or bf16 are computed in f32 and rounded where they leave the run: so does what runs models,
//! and nothing is lost between layers.

use snick_ir::{Graph, Op, OpError, OpTraits};
use snick_tensor::{ElementType, Tensor};

use crate::plan::{Plan, Step};

/// What is a half in a run; nothing for a graph without halves, or of which some types are not known.
#[derive(Default)]
pub(crate) struct HalfPrecision {
    /// By slot: the declared type of a half.
    declared: Vec<Option<ElementType>>,
    /// By slot: whether it is the output of a Convert that would only round.
    is_converted: Vec<bool>,
}

impl HalfPrecision {
    /// Looks at all facts of a graph.
    pub(crate) fn of(graph: &Graph, plan: &Plan) -> Self {
        let mut halves = Self { declared: vec![None; plan.slots], is_converted: vec![false; plan.slots] };
        for step in &plan.steps {
            let node = graph.node(step.node);
            for (slot, out) in (step.first..).zip(&node.outs) {
                match out.fact.element_type {
                    ElementType::Dynamic => return Self::default(),
                    element_type => halves.declared[slot] = Some(element_type).filter(|et| et.is_half()),
                }
            }
            // A constant is a half as soon as it is converted to one.
            let input = graph.inputs(step.node).first().copied().flatten();
            let is_constant = input.and_then(|input| graph.output(input)?.fact.as_tensor()).is_some();
            let is_convert = matches!(&node.op, Op::Convert(op) if op.destination_type.is_half());
            halves.is_converted[step.first] = is_convert && !is_constant;
        }
        match halves.declared.iter().any(Option::is_some) {
            true => halves,
            false => Self::default(),
        }
    }

    fn declared(&self, slot: usize) -> Option<ElementType> {
        self.declared.get(slot).copied().flatten()
    }

    /// The type in which an op reads a slot, if not in that in which its value comes: f32 for halves. An op that hands
    /// values on, to bodies, to variables or out of the run, reads them as they are declared; one that moves the
    /// elements of one value, as they come: what is a view stays one.
    pub(crate) fn read_as(&self, op: &Op, slot: usize) -> Option<ElementType> {
        let declared = self.declared(slot)?;
        match op {
            op if op.has(OpTraits::MOVES_ELEMENTS) => None,
            op if op.has(OpTraits::BOUNDARY) => Some(declared),
            _ => Some(ElementType::F32),
        }
    }

    /// What an op reads of a slot, if it is not `tensor`, the value as it comes.
    pub(crate) fn converted(&self, op: &Op, slot: usize, tensor: &Tensor) -> Result<Option<Tensor>, OpError> {
        match self.read_as(op, slot) {
            Some(element_type) => Ok(Some(tensor.cast(element_type)?)),
            None => Ok(None),
        }
    }

    /// What an op reads of a slot.
    pub(crate) fn read(&self, op: &Op, slot: usize, tensor: Tensor) -> Result<Tensor, OpError> {
        Ok(self.converted(op, slot, &tensor)?.unwrap_or(tensor))
    }

    /// What a step computes with `op` of what it reads.
    pub(crate) fn evaluate(&self, step: &Step, op: &Op, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        match inputs {
            [input] if self.is_converted.get(step.first).copied().unwrap_or(false) => {
                Ok(vec![input.cast(ElementType::F32)?])
            }
            _ => op.eval(inputs),
        }
    }

    /// Values of slots, from `first` on, as they are declared.
    pub(crate) fn rounded(&self, first: usize, values: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let as_declared = |(slot, value): (usize, &Tensor)| match self.declared(slot) {
            Some(declared) => Ok(value.cast(declared)?),
            None => Ok(value.clone()),
        };
        (first..).zip(values).map(as_declared).collect()
    }
}
