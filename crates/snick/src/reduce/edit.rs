//! Changes that make a model smaller.

use snick_ir::ops::source::parameter::Parameter;
use snick_ir::{Graph, Node, NodeId, Op, OpTraits, Value};
use snick_shape::ShapeSpec;
use snick_tensor::ElementType;

/// One change of a graph.
#[derive(Clone, Debug)]
pub(super) enum Edit {
    /// Removes a layer that has no readers.
    Drop(NodeId),
    /// Replaces a layer with Parameters, one for each used output.
    Cut(NodeId),
    /// Redirects the readers of a layer to its input at this port.
    Bypass(NodeId, usize),
    /// Redirects the readers of a layer to another layer that has a single output.
    Merge(NodeId, NodeId),
    /// Redirects the readers of a value to another value.
    Redirect(Value, Value),
    /// Changes the shape of a Parameter.
    Shape(NodeId, ShapeSpec),
    /// Replaces the op of a layer.
    Op(NodeId, Box<Op>),
    /// Like [`Edit::Op`], but keeps only these inputs and outputs.
    Ports { node: NodeId, op: Box<Op>, inputs: Vec<usize>, outputs: Vec<u32> },
    /// Replaces the model with a body.
    Become(Box<Graph>),
}

/// Applies edits one after the other, skipping edits of layers that were removed. Also removes layers whose
/// readers were all removed. `None` if no layer is left.
pub(super) fn applied(graph: &Graph, edits: &[Edit]) -> Option<Graph> {
    let mut graph = graph.clone();
    for edit in edits {
        apply(&mut graph, edit);
    }
    // The shapes that the file declares at ports may no longer be right.
    graph.forget_declared();
    (!graph.is_empty()).then_some(graph)
}

fn apply(graph: &mut Graph, edit: &Edit) {
    match edit {
        Edit::Drop(id) => remove(graph, *id),
        Edit::Cut(id) => cut(graph, *id),
        Edit::Bypass(id, port) => bypass(graph, *id, *port),
        Edit::Merge(id, other) if id != other && graph.contains(*id) && graph.contains(*other) => {
            graph.replace_uses(Value { node: *id, port: 0 }, Value { node: *other, port: 0 });
            remove(graph, *id);
        }
        Edit::Merge(..) => {}
        Edit::Redirect(old, new) => graph.replace_uses(*old, *new),
        // Fails if the Parameter was removed.
        Edit::Shape(id, shape) => drop(graph.set_parameter_shape(*id, shape.clone())),
        Edit::Op(id, op) => graph.set_op(*id, Op::clone(op)),
        Edit::Ports { node, op, inputs, outputs } => {
            put(graph, *node, Op::clone(op), inputs, outputs.clone())
        }
        Edit::Become(other) => *graph = Graph::clone(other),
    }
}

/// Removes a layer if it has no readers, and then the layers that only it needed.
pub(super) fn remove(graph: &mut Graph, id: NodeId) {
    graph.remove_unread(id, |_| true);
}

/// Whether a layer has readers.
pub(super) fn is_read(graph: &Graph, id: NodeId) -> bool {
    !graph.used_outputs(id).is_empty()
}

fn cut(graph: &mut Graph, id: NodeId) {
    let Some(node) = graph.get(id) else { return };
    let outs = node.outs().len();
    for port in (0..).take(outs) {
        let old = Value { node: id, port };
        if graph.uses(old).is_empty() {
            continue;
        }
        let name = match outs {
            1 => graph.node(id).name().to_string(),
            _ => format!("{}.{port}", graph.node(id).name()),
        };
        let parameter = graph.add(Node::new(name, Op::from(parameter_for(graph, old))));
        graph.ensure_outputs(parameter, 1);
        graph.replace_uses(old, Value { node: parameter, port: 0 });
    }
    remove(graph, id);
}

/// A Parameter with the type and shape of a value, as far as known.
pub(super) fn parameter_for(graph: &Graph, value: Value) -> Parameter {
    let out = graph.output(value);
    let shape = out.map(|out| out.fact.shape.display_intervals(graph.symbols()).to_string());
    let shape = shape.and_then(|text| text.parse().ok()).unwrap_or(ShapeSpec::Unranked);
    let declared = out.and_then(|out| out.declared.as_ref()).map(|declared| declared.element_type);
    let known = [out.map(|out| out.fact.element_type), declared].into_iter().flatten();
    let element_type = known.into_iter().find(|&known| known != ElementType::Dynamic);
    Parameter { element_type: element_type.unwrap_or(ElementType::F32), shape }
}

fn bypass(graph: &mut Graph, id: NodeId, port: usize) {
    if !graph.contains(id) {
        return;
    }
    let Some(input) = graph.inputs(id).get(port).copied().flatten() else { return };
    let outs = graph.node(id).outs().len();
    (0..).take(outs).for_each(|port| graph.replace_uses(Value { node: id, port }, input));
    remove(graph, id);
}

/// Replaces a layer with a new layer, which has another op and only some of the inputs and outputs.
fn put(graph: &mut Graph, id: NodeId, op: Op, inputs: &[usize], outputs: Vec<u32>) {
    let Some(node) = graph.get(id) else { return };
    let mut node = node.to_node();
    node.op = op;
    let outs = outputs.iter().filter_map(|&port| node.outs.get(port as usize).cloned()).collect();
    node.outs = outs;
    node.outs.iter_mut().for_each(|out| out.declared = None);
    // The port numbers of the file do not apply to the new layer.
    node.details = None;
    let old = graph.inputs(id);
    let new = graph.add(node);
    for (port, input) in (0u32..).zip(inputs) {
        if let Some(value) = old.get(*input).copied().flatten() {
            // Cannot fail: both layers exist, and the old layer has at least as many ports.
            let _ = graph.connect(value, new, port);
        }
    }
    for (port, old) in (0u32..).zip(outputs) {
        graph.replace_uses(Value { node: id, port: old }, Value { node: new, port });
    }
    remove(graph, id);
}

/// Whether a layer is a Parameter or a constant.
pub(super) fn is_leaf(op: &Op) -> bool {
    matches!(op, Op::Parameter(_) | Op::Const(_))
}

/// Whether a layer can be replaced by Parameters: it computes a value or reads a variable, but does not write
/// a variable.
pub(super) fn is_computed(op: &Op) -> bool {
    !is_leaf(op)
        && !matches!(op, Op::Result(_) | Op::Assign(_))
        && (op.is_opaque() || matches!(op, Op::ReadValue(_)) || !op.has(OpTraits::ROOT))
}
