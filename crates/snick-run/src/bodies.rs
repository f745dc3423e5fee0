//! The bodies of a graph, each planned once as a session `S`.

use std::collections::BTreeMap;
use std::sync::Arc;

use snick_ir::ops::control::subgraph::SubGraph;
use snick_ir::{Graph, Located, NodeId, Op, OpError};
use snick_tensor::Tensor;

/// For each op with bodies, the sessions of its bodies.
pub(crate) struct Bodies<S>(BTreeMap<NodeId, Vec<Arc<S>>>);

impl<S> Bodies<S> {
    /// Plans all bodies of a graph with `plan`, including bodies inside bodies.
    pub(crate) fn new(graph: &Graph, plan: impl Fn(&Graph) -> Result<S, Located>) -> Result<Self, Located> {
        let mut bodies = BTreeMap::new();
        for id in graph.ids() {
            if let Op::SubGraph(op) = graph.node(id).op() {
                bodies.insert(
                    id,
                    op.bodies.iter().map(|body| plan(body).map(Arc::new)).collect::<Result<_, _>>()?,
                );
            }
        }
        Ok(Self(bodies))
    }

    /// The sessions of all bodies.
    pub(crate) fn sessions(&self) -> impl Iterator<Item = &Arc<S>> {
        self.0.values().flatten()
    }

    /// Executes an op with bodies by calling `run`. Stops at the first failure in a body, because the next
    /// iteration would lack inputs.
    pub(crate) fn execute(
        &self,
        id: NodeId,
        op: &SubGraph,
        inputs: &[Tensor],
        mut run: impl FnMut(&S, &[Tensor]) -> Result<Vec<Tensor>, Located>,
    ) -> Result<Vec<Tensor>, OpError> {
        let sessions = self.0.get(&id).map(Vec::as_slice).unwrap_or_default();
        op.execute(inputs, &mut |body, arguments| match sessions.get(body) {
            Some(session) => run(session, arguments).map_err(|error| OpError::Inside(Box::new(error))),
            None => Err(OpError::mismatch("the number of bodies", sessions.len(), body + 1)),
        })
    }
}
