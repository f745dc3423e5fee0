//! Computes in f32 where a model declares f16 or bf16, so that no precision is lost between layers. Only
//! values that leave the run are rounded, as in the OpenVINO runtime.

use snick_ir::{Graph, Op, OpError, OpTraits};
use snick_tensor::{ElementType, Tensor};

use crate::plan::{Plan, Step};

/// The values of a run that the model declares as f16 or bf16. Empty if there are none, or if the graph has
/// values of unknown types.
#[derive(Default)]
pub(crate) struct HalfPrecision {
    /// For each slot: the declared type, if it is f16 or bf16.
    declared: Vec<Option<ElementType>>,
    /// For each slot: whether it is the output of a Convert whose only effect would be rounding.
    is_converted: Vec<bool>,
}

impl HalfPrecision {
    /// Collects the declared types of all values of a plan.
    pub(crate) fn of(graph: &Graph, plan: &Plan) -> Self {
        let mut half_precision =
            Self { declared: vec![None; plan.slots], is_converted: vec![false; plan.slots] };
        for step in &plan.steps {
            let node = graph.node(step.node);
            for (slot, out) in (step.first..).zip(node.outs()) {
                match out.fact.element_type {
                    ElementType::Dynamic => return Self::default(),
                    element_type => {
                        half_precision.declared[slot] = Some(element_type).filter(|et| et.is_half())
                    }
                }
            }
            // A Convert to f16 or bf16 keeps its result in f32. However, a constant is still rounded.
            let input = graph.inputs(step.node).first().copied().flatten();
            let is_constant = input.and_then(|input| graph.output(input)?.fact.as_tensor()).is_some();
            let is_convert = matches!(node.op(), Op::Convert(op) if op.destination_type.is_half());
            half_precision.is_converted[step.first] = is_convert && !is_constant;
        }
        match half_precision.declared.iter().any(Option::is_some) {
            true => half_precision,
            false => Self::default(),
        }
    }

    /// Whether values declared as f16 or bf16 are computed in f32.
    pub(crate) fn is_active(&self) -> bool {
        !self.declared.is_empty()
    }

    /// Whether values of a type are computed in `f32`.
    pub(crate) fn computes_in_f32(&self, element_type: ElementType) -> bool {
        element_type == ElementType::F32 || element_type.is_half() && self.is_active()
    }

    fn declared(&self, slot: usize) -> Option<ElementType> {
        self.declared.get(slot).copied().flatten()
    }

    /// The type to which the value of a slot is converted before an op reads it; `None` if the value is not
    /// converted. Most ops read f32. An op that passes values to bodies, to variables or out of the run reads
    /// the declared type. An op that only moves elements reads any type, so that views stay views.
    pub(crate) fn read_as(&self, op: &Op, slot: usize) -> Option<ElementType> {
        let declared = self.declared(slot)?;
        match op {
            op if op.has(OpTraits::MOVES_ELEMENTS) => None,
            op if op.has(OpTraits::BOUNDARY) => Some(declared),
            // The model rounds twice: to the declared type, and then to the small type. Rounding directly
            // from f32 to the small type could change the last bit of the result.
            Op::Convert(op) if is_small_float(op.destination_type) => Some(declared),
            _ => Some(ElementType::F32),
        }
    }

    /// The value of a slot, converted for an op; `None` if the op reads `tensor` as it is.
    pub(crate) fn converted(&self, op: &Op, slot: usize, tensor: &Tensor) -> Result<Option<Tensor>, OpError> {
        match self.read_as(op, slot) {
            Some(element_type) => Ok(Some(tensor.cast(element_type)?)),
            None => Ok(None),
        }
    }

    /// The value of a slot, as an op reads it.
    pub(crate) fn read(&self, op: &Op, slot: usize, tensor: Tensor) -> Result<Tensor, OpError> {
        Ok(self.converted(op, slot, &tensor)?.unwrap_or(tensor))
    }

    /// Evaluates `op`, and returns the outputs of the step.
    pub(crate) fn evaluate(&self, step: &Step, op: &Op, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        match inputs {
            [input] if self.is_converted.get(step.first).copied().unwrap_or(false) => {
                Ok(vec![input.cast(ElementType::F32)?])
            }
            _ => op.eval(inputs),
        }
    }

    /// The values of the slots from `first` on, converted to their declared types.
    pub(crate) fn rounded(&self, first: usize, values: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let as_declared = |(slot, value): (usize, &Tensor)| match self.declared(slot) {
            Some(declared) => Ok(value.cast(declared)?),
            None => Ok(value.clone()),
        };
        (first..).zip(values).map(as_declared).collect()
    }
}

/// Whether a type is a float of at most 8 bits.
fn is_small_float(element_type: ElementType) -> bool {
    element_type.is_float() && element_type.bit_width().is_some_and(|bits| bits <= 8)
}
