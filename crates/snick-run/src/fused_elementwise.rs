//! Fused element-wise layers. They are evaluated in one pass over memory, and in place if no other step reads
//! the input of the first layer. A preceding contraction (a matrix multiplication, convolution or similar
//! layer) is part of the same step, so that each block of its output is processed while it is still in the
//! cache.

use snick_ir::{Graph, Located, NodeId, Op, OpError};
use snick_tensor::kernels::{FusedElementwise, Stage};
use snick_tensor::{SmallVector, Tensor};

use crate::facts::with_inputs;
use crate::quantized_step::QuantizedStep;

/// The layers that a fused step computes.
#[derive(Default)]
pub(crate) struct FusedLayers {
    /// The contraction whose output the first layer reads, if it is part of the step.
    pub(crate) product: Option<FusedProduct>,
    pub(crate) layers: Vec<FusedLayer>,
}

/// A contraction, such as a convolution, whose output the fused layers process. Its inputs are the last
/// operands of the step.
pub(crate) struct FusedProduct {
    pub(crate) node: NodeId,
    /// The slot of its output.
    pub(crate) slot: usize,
    pub(crate) computation: Contraction,
    /// The number of inputs of the contraction.
    pub(crate) inputs: usize,
}

/// How a contraction is computed.
pub(crate) enum Contraction {
    /// By the op of its node.
    Op,
    /// By a faster op that is equivalent.
    Specialized(Op),
    /// On codes.
    Quantized(QuantizedStep),
}

impl Contraction {
    /// Computes the outputs of the contraction, whose node has the op `op`.
    fn evaluate(&self, op: &Op, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        match self {
            Self::Op => op.eval(inputs),
            Self::Specialized(op) => op.eval(inputs),
            Self::Quantized(step) => step.evaluate(inputs),
        }
    }

    /// Computes the first output and applies element-wise functions to it. `None` if they need a separate pass.
    fn evaluate_then(
        &self,
        op: &Op,
        inputs: &[Tensor],
        stages: &[Stage<&Tensor>],
    ) -> Result<Option<Tensor>, OpError> {
        match self {
            Self::Op => op.eval_then(inputs, stages),
            Self::Specialized(op) => op.eval_then(inputs, stages),
            Self::Quantized(step) => step.evaluate_then(inputs, stages),
        }
    }
}

/// A layer of a fused step.
pub(crate) struct FusedLayer {
    pub(crate) node: NodeId,
    /// The slot of its output.
    pub(crate) slot: usize,
    /// The function of the layer. Its other input, if any, is an operand of the step.
    pub(crate) stage: Stage<usize>,
}

/// Checks the output of a layer against its facts. The arguments are the node, the slot of the output, and
/// the output.
pub(crate) type Check<'a> = dyn Fn(NodeId, usize, &Tensor) -> Result<(), Located> + 'a;

/// Computes the output of `node`, the last of the layers. The last operand is the input of the first layer;
/// if the step has a contraction, the last operands are the inputs of the contraction.
///
/// Makes a single pass, unless the sizes do not allow it or the output of every layer must be checked.
pub(crate) fn evaluate(
    graph: &Graph,
    node: NodeId,
    FusedLayers { product, layers }: &FusedLayers,
    operands: &mut Vec<Tensor>,
    check: Option<&Check>,
) -> Result<Tensor, Located> {
    let read = product.as_ref().map_or(1, |product| product.inputs);
    let Some(others) = operands.len().checked_sub(read) else {
        return Err(graph.located(node, OpError::NotConnected { port: 0 }));
    };
    let inputs: SmallVector<Tensor, 2> = operands.drain(others..).collect();
    let stages: SmallVector<Stage<&Tensor>, 4> =
        layers.iter().map(|layer| layer.stage.map(|operand| &operands[operand])).collect();
    let value = match product {
        Some(product) => {
            let failed = |error| graph.located(product.node, with_inputs(error, inputs.iter()));
            let (computation, op) = (&product.computation, graph.node(product.node).op());
            if check.is_none()
                && let Some(value) = computation.evaluate_then(op, &inputs, &stages).map_err(failed)?
            {
                return Ok(value);
            }
            let value = computation.evaluate(op, &inputs).map_err(failed)?.into_iter().next();
            if let (Some(check), Some(value)) = (check, &value) {
                check(product.node, product.slot, value)?;
            }
            value
        }
        None => inputs.into_iter().next(),
    };
    let Some(mut value) = value else {
        return Err(graph.located(node, OpError::NotConnected { port: 0 }));
    };
    // For a single layer, the fused kernel is only faster if it can compute in place.
    if check.is_none()
        && (stages.len() > 1 || value.is_exclusive())
        && let Some(fused) = FusedElementwise::new(&value, &stages)
    {
        return fused.run(value).map_err(|error| graph.located(node, error.into()));
    }
    for (layer, stage) in layers.iter().zip(&stages) {
        value = stage.apply(&value).map_err(|error| {
            let inputs = std::iter::once(&value).chain(operands.iter());
            graph.located(layer.node, with_inputs(error.into(), inputs))
        })?;
        check.map_or(Ok(()), |check| check(layer.node, layer.slot, &value))?;
    }
    Ok(value)
}
