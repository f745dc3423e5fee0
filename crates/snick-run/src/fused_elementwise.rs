//! Element-wise layers that one step evaluates: in one pass over memory, and in place where nobody else reads the value
//! that the first one reads.

use smallvec::SmallVec;
use snick_ir::{Graph, Located, NodeId, OpError};
use snick_tensor::Tensor;
use snick_tensor::kernels::{FusedElementwise, Stage};

use crate::facts::with_inputs;

/// A layer of a fused step.
pub(crate) struct FusedLayer {
    pub(crate) node: NodeId,
    /// Slot of its output.
    pub(crate) slot: usize,
    /// What it computes; its other input is an operand of the step.
    pub(crate) stage: Stage<usize>,
}

/// Checks the output of a layer against its facts.
pub(crate) type Check<'a> = dyn Fn(&FusedLayer, &Tensor) -> Result<(), Located> + 'a;

/// The output of `node`, the last of `layers`. The last operand is what the first layer reads.
///
/// One pass computes it, unless sizes forbid that, or the output of every layer is to be checked.
pub(crate) fn evaluate(
    graph: &Graph,
    node: NodeId,
    layers: &[FusedLayer],
    operands: &mut Vec<Tensor>,
    check: Option<&Check>,
) -> Result<Tensor, Located> {
    let Some(mut value) = operands.pop() else {
        return Err(graph.located(node, OpError::NotConnected { port: 0 }));
    };
    let stages: SmallVec<[Stage<&Tensor>; 4]> =
        layers.iter().map(|layer| layer.stage.map(|operand| &operands[operand])).collect();
    // One layer alone gains only if it computes in place.
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
        check.map_or(Ok(()), |check| check(layer, &value))?;
    }
    Ok(value)
}
