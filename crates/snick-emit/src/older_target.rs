//! Refuses layers that an older release or opset lacks.

use snick_ir::rewrite::MissedRewrite;
use snick_ir::{Graph, Located, NodeId, NodeRef, Op, OpError};

use crate::legalized::{STATELESS, can_be_stateless, is_variable};

/// Why a target cannot read a layer.
pub(crate) struct Lack {
    pub(crate) what: String,
    /// The oldest release or opset that has it, if there is one.
    pub(crate) since: Option<String>,
}

/// A release or opset for which a graph was rewritten.
pub(crate) struct OlderTarget<'g> {
    /// The graph that the user knows.
    pub(crate) original: &'g Graph,
    /// The release or opset.
    pub(crate) target: String,
    /// The layers that could not be rewritten.
    pub(crate) missed: &'g [MissedRewrite],
    /// Why the target cannot read a layer; `None` if it can.
    pub(crate) lacks: &'g dyn Fn(&Graph, NodeId) -> Option<Lack>,
}

impl OlderTarget<'_> {
    /// Refuses the first layer of the graph or a body that the target cannot read.
    ///
    /// # Errors
    /// [`OpError::NeedsRelease`].
    pub(crate) fn check(&self, graph: &Graph) -> Result<(), Box<Located>> {
        for id in graph.order()? {
            for (_, body) in graph.node(id).op().bodies() {
                self.check(body)?;
            }
            if let Some(lack) = (self.lacks)(graph, id) {
                return Err(self.refusal(graph, id, lack));
            }
        }
        Ok(())
    }

    /// The error of a layer. It names the layer of the original graph from which the layer was derived, and what
    /// this layer needs.
    pub(crate) fn refusal(&self, graph: &Graph, id: NodeId, lack: Lack) -> Box<Located> {
        let node = graph.node(id);
        let declined =
            |missed: &&MissedRewrite| *missed.layer == *node.name() && missed.op == node.op().type_name();
        let reason = self.missed.iter().find(declined).map(|missed| missed.reason.clone());
        let (graph, id) = origin(self.original, node).unwrap_or((graph, id));
        // The layer itself may be unknown to all targets, unlike the layers that replace it.
        let own = (self.lacks)(graph, id).filter(|own| own.since.is_some() || lack.since.is_none());
        let Lack { what, since } = own.unwrap_or(lack);
        let reason = reason.filter(|reason| *reason != what).or_else(|| {
            let is_avoidable = is_variable(graph.node(id).op()) && can_be_stateless(self.original);
            is_avoidable.then(|| STATELESS.to_string())
        });
        let error = OpError::NeedsRelease { what, target: self.target.clone(), since, reason };
        graph.located(id, error).into()
    }
}

/// The layer from which rewrites derived a layer: the one of this name, or the one whose name is the longest
/// scope of the name.
fn origin<'g>(graph: &'g Graph, derived: NodeRef) -> Option<(&'g Graph, NodeId)> {
    let mut layers = Vec::new();
    add_layers(graph, &mut layers);
    let rank = |(graph, id): &(&Graph, NodeId)| {
        let node = graph.node(*id);
        let rest = derived.name().strip_prefix(node.name())?;
        let is_same = node.op().type_name() == derived.op().type_name();
        (rest.is_empty() || rest.starts_with(['/', '.'])).then_some((node.name().len(), is_same))
    };
    layers.into_iter().filter(|layer| rank(layer).is_some()).max_by_key(rank)
}

/// Adds the layers of the graph and its bodies, except Results, which may share the name of another layer.
fn add_layers<'g>(graph: &'g Graph, layers: &mut Vec<(&'g Graph, NodeId)>) {
    for id in graph.ids() {
        let op = graph.node(id).op();
        op.bodies().for_each(|(_, body)| add_layers(body, layers));
        if !matches!(op, Op::Result(_)) {
            layers.push((graph, id));
        }
    }
}
