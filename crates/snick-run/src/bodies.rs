//! The bodies of a graph, planned once. This module and the session refer to each other: a body runs in a session of
//! its own, inside that of the graph.

use std::collections::BTreeMap;
use std::sync::Arc;

use snick_ir::ops::control::subgraph::SubGraph;
use snick_ir::{Graph, Located, NodeId, Op, OpError};
use snick_tensor::Tensor;

use crate::run::Options;
use crate::session::{Observer, Session, Shared};

/// The sessions of the bodies of each op that has bodies.
pub(crate) struct Bodies(BTreeMap<NodeId, Vec<Arc<Session>>>);

impl Bodies {
    /// Plans all bodies of a graph, nested ones included, by `plan`.
    pub(crate) fn new(
        graph: &Graph,
        plan: impl Fn(&Graph) -> Result<Session, Located>,
    ) -> Result<Self, Located> {
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

    /// All of them.
    pub(crate) fn sessions(&self) -> impl Iterator<Item = &Arc<Session>> {
        self.0.values().flatten()
    }

    /// Executes an op with bodies. The first failure inside ends it: the next iteration would lack its inputs.
    pub(crate) fn execute(
        &self,
        id: NodeId,
        op: &SubGraph,
        inputs: &[Tensor],
        options: Options,
        shared: &mut Shared,
        watch: &mut Observer,
    ) -> Result<Vec<Tensor>, OpError> {
        let sessions = self.0.get(&id).map(Vec::as_slice).unwrap_or_default();
        let options = Options { keep_going: false, ..options };
        op.execute(inputs, &mut |body, arguments| match sessions.get(body) {
            Some(session) => {
                let outputs = session.run_inside(arguments, options, shared, watch);
                outputs.complete().map_err(|error| OpError::Inside(Box::new(error)))
            }
            None => Err(OpError::mismatch("the number of bodies", sessions.len(), body + 1)),
        })
    }
}
