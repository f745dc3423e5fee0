//! What callers of a graph rely on: its inputs and outputs.

use snick_ir::{Graph, NodeId, Value};

/// Whether an input or output is unchanged for callers: its op and name are equal, and it has kept all tensor
/// names. New tensor names are allowed, because a tensor may take over the names of a layer that it replaces.
pub(crate) fn is_same_end((before, old): (&Graph, NodeId), (after, new): (&Graph, NodeId)) -> bool {
    let names = |graph: &Graph, id: NodeId| -> Vec<String> {
        let value = graph.node(id).input(0).unwrap_or(Value { node: id, port: 0 });
        graph
            .node(value.node)
            .outs()
            .get(value.port as usize)
            .map(|out| out.names.clone())
            .unwrap_or_default()
    };
    let kept = names(after, new);
    before.node(old).op() == after.node(new).op()
        && before.node(old).name() == after.node(new).name()
        && names(before, old).iter().all(|name| kept.contains(name))
}
