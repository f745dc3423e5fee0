//! The verifier: the invariants of every graph.

use crate::{Graph, Located, OpError};

/// Checks that the graph has no cycle, that each op has a valid number of inputs, and that each input is
/// connected to an existing output. Returns all errors.
pub fn verify(graph: &Graph) -> Vec<Located> {
    let mut errors = Vec::new();
    errors.extend(graph.order().err());
    for id in graph.ids() {
        let inputs = graph.inputs(id);
        if let Err(error) = graph.node(id).op().arity().check(inputs.len()) {
            errors.push(graph.located(id, error));
        }
        for (port, value) in inputs.iter().enumerate() {
            if value.is_none_or(|value| graph.output(value).is_none()) {
                errors.push(graph.located(id, OpError::NotConnected { port }));
            }
        }
    }
    errors
}
