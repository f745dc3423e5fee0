//! What a layer gives that reads nothing but constants.

use snick_ir::{Graph, NodeId};
use snick_tensor::Tensor;

/// The outputs of a layer, if all of its inputs are known and inference did not say them.
pub(crate) fn evaluated(graph: &Graph, id: NodeId) -> Option<Vec<Tensor>> {
    let op = &graph.node(id).op;
    let inputs = graph.inputs(id);
    if inputs.is_empty() || !op.traits().is_foldable() {
        return None;
    }
    let inputs = inputs.into_iter().map(|value| Some(Tensor::clone(graph.fact(value?)?.as_tensor()?)));
    op.eval(&inputs.collect::<Option<Vec<Tensor>>>()?).ok()
}
