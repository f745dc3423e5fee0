//! Computes values that a few layers derive from constants, for passes that run before constants are folded.

use snick_ir::{Graph, NodeId, Op, Value};
use snick_tensor::{ElementType, Tensor};

use crate::half_precision::HalfPrecision;
use crate::plan::Plan;

/// Maximum number of layers between a constant and the computed value.
const MAX_LAYERS: usize = 4;

/// Computes the scales, zero points and ranges of quantized weights and values.
pub(super) struct ConstantValues<'a> {
    graph: &'a Graph,
    plan: &'a Plan,
    /// For each node: the index of the step that computes it.
    step_of: Vec<usize>,
    half_precision: &'a HalfPrecision,
}

impl<'a> ConstantValues<'a> {
    pub(super) fn new(plan: &'a Plan, graph: &'a Graph, half_precision: &'a HalfPrecision) -> Self {
        let mut step_of = vec![usize::MAX; graph.bound()];
        plan.steps.iter().enumerate().for_each(|(at, step)| step_of[step.node.index()] = at);
        Self { graph, plan, step_of, half_precision }
    }

    /// The index of the step of a node, if it has one.
    pub(super) fn step_of(&self, node: NodeId) -> Option<usize> {
        self.step_of.get(node.index()).copied().filter(|&step| step < self.plan.steps.len())
    }

    /// A value that is computed from constants, exactly as a run would compute it. Adds the layers that
    /// compute the value to `layers`.
    pub(super) fn value(&self, value: Value, layers: &mut Vec<NodeId>) -> Option<Tensor> {
        self.computed(value, layers, 0)
    }

    /// An input of a layer, if it is computed from constants and the layer computes in `f32`. Adds the layers
    /// that compute the input to `layers`.
    pub(super) fn floats(&self, node: NodeId, port: usize, layers: &mut Vec<NodeId>) -> Option<Tensor> {
        let constant = self.value(self.graph.node(node).input(port)?, layers)?;
        let is_float = self.half_precision.computes_in_f32(constant.element_type());
        is_float.then(|| constant.cast(ElementType::F32).ok())?
    }

    /// The ranges of a FakeQuantize, if they are computed from constants.
    pub(super) fn ranges(&self, node: NodeId, layers: &mut Vec<NodeId>) -> Option<[Tensor; 4]> {
        let mut range = |port| self.floats(node, port, layers);
        Some([range(1)?, range(2)?, range(3)?, range(4)?])
    }

    fn computed(&self, value: Value, layers: &mut Vec<NodeId>, depth: usize) -> Option<Tensor> {
        let op = self.graph.node(value.node).op();
        if value.port != 0 || depth > MAX_LAYERS {
            return None;
        }
        layers.push(value.node);
        let step = match op {
            Op::Const(_) => return op.eval(&[]).ok()?.into_iter().next(),
            Op::Convert(_) | Op::Arithmetic(_) | Op::Reshape(_) => {
                self.plan.steps.get(self.step_of(value.node)?)?
            }
            _ => return None,
        };
        let inputs = self.graph.inputs(value.node).into_iter().zip(&step.operands);
        let inputs: Option<Vec<Tensor>> = inputs
            .map(|(input, operand)| {
                let value = self.computed(input?, layers, depth + 1)?;
                self.half_precision.read(op, operand.slot()?, value).ok()
            })
            .collect();
        self.half_precision.evaluate(step, op, &inputs?).ok()?.into_iter().next()
    }
}
