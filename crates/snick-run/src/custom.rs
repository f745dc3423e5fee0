//! Custom ops. An op without an implementation runs as the ops to which it decomposes.

use snick_ir::rewrite::decomposed;
use snick_ir::{Custom, Graph, Located, NodeId, OpError};
use snick_tensor::Tensor;

use crate::facts::check_values;

/// Evaluates the custom op of a node, and checks the outputs against inference. If the op has no
/// implementation, `run` executes its decomposition.
pub(crate) fn evaluate(
    op: &Custom,
    inputs: &[Tensor],
    graph: &Graph,
    node: NodeId,
    run: fn(Graph, &[Tensor]) -> Result<Vec<Tensor>, Located>,
) -> Result<Vec<Tensor>, OpError> {
    op.definition().arity().check(inputs.len())?;
    let values = match op.eval(inputs) {
        Err(OpError::NoImplementation { .. }) => {
            let decomposed = decomposed(op, inputs, graph.node(node).outs().len())?;
            run(decomposed, inputs).map_err(|error| OpError::InDecomposition(Box::new(error)))?
        }
        computed => computed?,
    };
    check_values(graph, node, &values)?;
    Ok(values)
}
