//! The verifier: what every graph must hold, whoever built it.

use crate::{Graph, Located, OpError};

/// Checks that the graph has no cycle, that every op has as many inputs as it takes, all connected to outputs that
/// exist. Returns everything that is wrong.
pub fn verify(graph: &Graph) -> Vec<Located> {
    let mut wrong = Vec::new();
    if let Err(id) = graph.order() {
        wrong.push(graph.located(id, OpError::mismatch("the order of layers", "a cycle", "no cycle")));
    }
    for id in graph.ids() {
        let inputs = graph.inputs(id);
        if let Err(error) = graph.node(id).op.arity().check(inputs.len()) {
            wrong.push(graph.located(id, error));
        }
        for (port, value) in inputs.iter().enumerate() {
            if value.is_none_or(|value| graph.output(value).is_none()) {
                wrong.push(graph.located(id, OpError::NotConnected { port }));
            }
        }
    }
    wrong
}
