//! Edits that reset attributes to their defaults.

use snick_ir::{Attrs, Graph, NodeRef, Op, RawNode};

use super::edit::Edit;

/// Resets each attribute that differs from its default.
pub(super) fn defaults(graph: &Graph) -> Vec<Vec<Edit>> {
    let edits = |id| {
        let node = graph.node(id);
        without_each(node).into_iter().map(move |op| vec![Edit::Op(id, Box::new(op))])
    };
    graph.ids().flat_map(edits).collect()
}

/// The number of attributes that differ from their defaults.
pub(super) fn changed(node: NodeRef) -> usize {
    without_each(node).len()
}

/// Variants of the op, each with one attribute reset, if that changes the op.
fn without_each(node: NodeRef) -> Vec<Op> {
    let op = node.op();
    if matches!(op, Op::Parameter(_) | Op::Const(_) | Op::Result(_) | Op::SubGraph(_) | Op::Custom(_)) {
        return Vec::new();
    }
    let attrs = op.attrs();
    let names: Vec<&str> = attrs.iter().map(|(name, _)| name).collect();
    names.into_iter().filter_map(|name| without(node, &attrs, name)).filter(|other| other != op).collect()
}

fn without(node: NodeRef, attrs: &Attrs<'static>, name: &str) -> Option<Op> {
    let mut rest = Attrs::new();
    for (other, value) in attrs.iter().filter(|(other, _)| *other != name) {
        rest.push(other.to_string().into(), value.clone());
    }
    if node.op().is_opaque() {
        return Some(Op::opaque(node.op().type_name(), rest));
    }
    let mut raw = RawNode::openvino(node.op().type_name(), node.version().clone(), rest, node.outs().len());
    // Parsing fails if the attribute is required, because such an attribute has no default.
    Op::parse(&mut raw).ok().filter(|op| op.type_name() == node.op().type_name())
}
