//! Custom ops: those without an implementation run as the ops that they decompose to.

use snick_ir::rewrite::decomposed;
use snick_ir::{Custom, Graph, Located, NodeId, OpError};
use snick_tensor::Tensor;

use crate::facts::check_values;
use crate::run::Options;
use crate::session::Session;

/// The outputs of a custom op, which is that of a node, checked against what it inferred.
pub(crate) fn evaluate(
    op: &Custom,
    inputs: &[Tensor],
    graph: &Graph,
    node: NodeId,
) -> Result<Vec<Tensor>, OpError> {
    op.definition().arity().check(inputs.len())?;
    let values = match op.eval(inputs) {
        Err(OpError::NoImplementation { .. }) => run_decomposed(op, inputs, graph.node(node).outs().len())?,
        computed => computed?,
    };
    check_values(graph, node, &values)?;
    Ok(values)
}

fn run_decomposed(op: &Custom, inputs: &[Tensor], outputs: usize) -> Result<Vec<Tensor>, OpError> {
    let inside = |located: Located| OpError::InDecomposition(Box::new(located));
    let session = Session::without_folding(decomposed(op, inputs, outputs)?).map_err(inside)?;
    session.run(inputs, Options::default()).complete().map_err(inside)
}
