//! Values declared as f16 or bf16 are computed in f32 and rounded where they leave the run: so does what runs models,
//! and nothing is lost between layers.

use snick_ir::ops::elementwise::convert::Convert;
use snick_ir::{Graph, Op, OpError};
use snick_tensor::{ElementType, Tensor};

use crate::plan::{Plan, Step};

/// What is a half in a run; nothing for a graph without halves, or of which some types are not known.
#[derive(Default)]
pub(crate) struct Halves {
    /// The declared type of every slot that holds a half.
    declared: Vec<Option<ElementType>>,
    /// Constants of halves as f32, by their number.
    widened: Vec<Option<Tensor>>,
}

fn is_half(element_type: ElementType) -> bool {
    matches!(element_type, ElementType::F16 | ElementType::BF16)
}

/// Whether an op does nothing with the elements of its one value but move them.
fn moves(op: &Op) -> bool {
    matches!(
        op,
        Op::Slice(_)
            | Op::Slice8(_)
            | Op::StridedSlice(_)
            | Op::Split(_)
            | Op::VariadicSplit(_)
            | Op::Gather(_)
            | Op::Reshape(_)
            | Op::Squeeze(_)
            | Op::Unsqueeze(_)
            | Op::Transpose(_)
            | Op::Broadcast(_)
            | Op::Tile(_)
    )
}

/// Whether an op hands values on, to bodies, to variables or out of the run.
fn hands_on(op: &Op) -> bool {
    matches!(op, Op::Result(_) | Op::SubGraph(_) | Op::ReadValue(_) | Op::Assign(_))
}

impl Halves {
    /// Looks at all facts of a graph.
    pub(crate) fn of(graph: &Graph, plan: &Plan) -> Self {
        let mut declared = vec![None; plan.slots];
        for step in &plan.steps {
            let outs = &graph.node(step.node).outs;
            for (slot, out) in declared.iter_mut().skip(step.first).zip(outs) {
                match out.fact.element_type {
                    ElementType::Dynamic => return Self::default(),
                    element_type => *slot = Some(element_type).filter(|&et| is_half(et)),
                }
            }
        }
        let widen = |constant: &Tensor| {
            let wide = is_half(constant.element_type()).then(|| constant.cast(ElementType::F32));
            wide.and_then(Result::ok)
        };
        let widened: Vec<Option<Tensor>> = plan.constants.iter().map(widen).collect();
        match declared.iter().any(Option::is_some) || widened.iter().any(Option::is_some) {
            true => Self { declared, widened },
            false => Self::default(),
        }
    }

    fn declared(&self, slot: usize) -> Option<ElementType> {
        self.declared.get(slot).copied().flatten()
    }

    /// What an op reads of a constant, as of a slot.
    pub(crate) fn constant(&self, op: &Op, number: usize, plan: &Plan) -> Tensor {
        let widened = self.widened.get(number).and_then(Option::as_ref);
        widened.filter(|_| !hands_on(op)).unwrap_or(&plan.constants[number]).clone()
    }

    /// What an op reads of a slot: halves as f32. An op that hands values on, to bodies, to variables or out of the
    /// run, reads them as they are declared; one that moves the elements of one value, as they come: what is a view
    /// stays one.
    pub(crate) fn read(&self, op: &Op, slot: usize, tensor: Tensor) -> Result<Tensor, OpError> {
        let Some(declared) = self.declared(slot) else { return Ok(tensor) };
        if moves(op) {
            return Ok(tensor);
        }
        Ok(tensor.cast(if hands_on(op) { declared } else { ElementType::F32 })?)
    }

    /// What an op computes of what it reads. One that would only round to halves does not.
    pub(crate) fn evaluate(&self, op: &Op, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        match (op, inputs) {
            (Op::Convert(Convert { destination_type }), [input])
                if is_half(*destination_type) && !self.declared.is_empty() =>
            {
                Ok(vec![input.cast(ElementType::F32)?])
            }
            _ => op.eval(inputs),
        }
    }

    /// The outputs of a step as they are declared.
    pub(crate) fn rounded(&self, step: &Step, values: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let as_declared = |(slot, value): (usize, &Tensor)| match self.declared(slot) {
            Some(declared) => Ok(value.cast(declared)?),
            None => Ok(value.clone()),
        };
        (step.first..).zip(values).map(as_declared).collect()
    }
}
