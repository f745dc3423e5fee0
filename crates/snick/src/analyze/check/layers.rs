//! Relations between layers, and descriptions of layers.

use std::collections::{HashMap, HashSet};

use snick_ir::{Graph, Loc, NodeId, NodeRef, Op, OpTraits};

/// The readers of each layer.
pub(super) fn readers(graph: &Graph) -> HashMap<NodeId, Vec<NodeId>> {
    let mut readers: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
    for id in graph.ids() {
        for value in graph.inputs(id).into_iter().flatten() {
            readers.entry(value.node).or_default().push(id);
        }
    }
    readers
}

/// The layers that an output or a side effect of the model depends on.
pub(super) fn used_layers(graph: &Graph) -> HashSet<NodeId> {
    let is_root = |&id: &NodeId| {
        let node = graph.node(id);
        node.op().has(OpTraits::ROOT) || node.outs().is_empty() && !matches!(node.op(), Op::Parameter(_))
    };
    let mut used = HashSet::new();
    let mut todo: Vec<NodeId> = graph.ids().filter(is_root).collect();
    while let Some(id) = todo.pop() {
        if used.insert(id) {
            todo.extend(graph.inputs(id).into_iter().flatten().map(|value| value.node));
        }
    }
    used
}

/// A layer with its type and location, such as ``NonZero `at` (4:3)``.
pub(super) fn described(node: NodeRef) -> String {
    match node.loc() {
        Loc { line: 0, .. } => format!("{} `{}`", node.op().type_name(), node.name()),
        loc => format!("{} `{}` ({loc})", node.op().type_name(), node.name()),
    }
}
