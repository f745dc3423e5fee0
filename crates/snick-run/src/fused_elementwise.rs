//! Element-wise layers that one step evaluates: in one pass over memory, and in place where nobody else reads the value
//! that the first one reads.

use smallvec::SmallVec;
use snick_ir::{Graph, Located, NodeId, OpError};
use snick_tensor::Tensor;
use snick_tensor::kernels::{FusedElementwise, Stage};

use crate::facts::{SymbolBindings, with_inputs};
use crate::half_precision::HalfPrecision;

/// A layer of a fused step.
pub(crate) struct FusedLayer {
    pub(crate) node: NodeId,
    /// Slot of its output.
    pub(crate) slot: usize,
    /// What it computes; its other input is an operand of the step.
    pub(crate) stage: Stage<usize>,
}

/// The output of `node`, the last of `layers`. The last operand is what the first layer reads.
///
/// One pass computes it, unless sizes forbid that, or the value of every layer is checked with the `bindings` given.
pub(crate) fn evaluate(
    node: NodeId,
    layers: &[FusedLayer],
    operands: &mut Vec<Tensor>,
    graph: &Graph,
    half_precision: &HalfPrecision,
    bindings: Option<&SymbolBindings>,
) -> Result<Tensor, Located> {
    let Some(mut value) = operands.pop() else {
        return Err(graph.located(node, OpError::NotConnected { port: 0 }));
    };
    let stages: SmallVec<[Stage<&Tensor>; 4]> =
        layers.iter().map(|layer| layer.stage.map(|operand| &operands[operand])).collect();
    // One layer alone gains only if it computes in place.
    if bindings.is_none()
        && (stages.len() > 1 || value.is_exclusive())
        && let Some(fused) = FusedElementwise::new(&value, &stages)
    {
        return fused.run(value).map_err(|error| graph.located(node, error.into()));
    }
    for (layer, stage) in layers.iter().zip(&stages) {
        let located = |error| graph.located(layer.node, error);
        value = stage.apply(&value).map_err(|error| {
            located(with_inputs(error.into(), std::iter::once(&value).chain(operands.iter())))
        })?;
        if let Some(bindings) = bindings {
            let rounded = half_precision.rounded(layer.slot, std::slice::from_ref(&value));
            let checked = rounded.and_then(|values| bindings.check(graph, layer.node, &values));
            checked.map_err(located)?;
        }
    }
    Ok(value)
}
