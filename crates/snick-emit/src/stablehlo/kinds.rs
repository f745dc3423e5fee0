//! Which layers are written as constants, as arithmetic on sizes, and as operations.

use snick_ir::{Graph, NodeId, Op};
use snick_shape::SymbolId;

use super::weights::Weights;
use super::{sizes, table};

/// How a layer is written.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// Not written: no result needs the layer, or it is an input or a result.
    Unused,
    /// Written as constants.
    Constant,
    /// Written as arithmetic on the sizes of arguments.
    ShapeValue,
    /// Written as operations.
    Computed,
}

/// How to write each layer, by [`NodeId::index`].
pub(super) fn kinds(
    graph: &Graph,
    order: &[NodeId],
    symbols: &[SymbolId],
    weights: Option<&Weights>,
) -> Vec<Kind> {
    let users = weights.map(|weights| weights.users(graph, order, table::has_rule));
    let uses_weights = |id: NodeId| users.as_ref().is_some_and(|users| users[id.index()]);
    let mut kinds = vec![Kind::Unused; graph.bound()];
    let mut needed = vec![false; graph.bound()];
    for &id in order.iter().rev() {
        let needs_inputs = match graph.node(id).op() {
            Op::Result(_) => true,
            Op::Parameter(_) => false,
            _ if !needed[id.index()] => false,
            _ => {
                let kind = match id {
                    _ if uses_weights(id) => Kind::Computed,
                    _ if is_known(graph, id) => Kind::Constant,
                    _ if sizes::is_shape_value(graph, id, symbols) => Kind::ShapeValue,
                    _ => Kind::Computed,
                };
                kinds[id.index()] = kind;
                kind == Kind::Computed
            }
        };
        if needs_inputs {
            graph.inputs(id).into_iter().flatten().for_each(|value| needed[value.node.index()] = true);
        }
    }
    kinds
}

/// Whether inference knows all outputs of a layer.
fn is_known(graph: &Graph, id: NodeId) -> bool {
    graph.node(id).outs().iter().all(|out| out.fact.as_tensor().is_some())
}
