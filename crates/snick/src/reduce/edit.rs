//! Changes that make a model smaller.

use snick_ir::ops::source::parameter::Parameter;
use snick_ir::{Graph, Node, NodeId, Op, OpTraits, Value};
use snick_shape::ShapeSpec;
use snick_tensor::ElementType;

/// One change of a graph.
#[derive(Clone, Debug)]
pub(super) enum Edit {
    /// Removes a layer that nobody reads.
    Drop(NodeId),
    /// Replaces a layer by Parameters, one for each output that is read.
    Cut(NodeId),
    /// Makes the readers of a layer read what it reads at this port.
    Bypass(NodeId, usize),
    /// Makes the readers of a layer read the only output of another one.
    Merge(NodeId, NodeId),
    /// Makes the readers of a value read another one.
    Redirect(Value, Value),
    /// Gives a Parameter another shape.
    Shape(NodeId, ShapeSpec),
    /// Puts another op in place of that of a layer.
    Op(NodeId, Box<Op>),
    /// As [`Edit::Op`], with only these inputs and outputs left.
    Ports { node: NodeId, op: Box<Op>, inputs: Vec<usize>, outputs: Vec<u32> },
    /// Takes a graph instead: a body.
    Become(Box<Graph>),
}

/// The graph with these edits made one after the other; an edit of what an earlier one removed is left out. Layers that
/// only fed what is gone go, too. `None` if nothing is left.
pub(super) fn applied(graph: &Graph, edits: &[Edit]) -> Option<Graph> {
    let mut graph = graph.clone();
    for edit in edits {
        apply(&mut graph, edit);
    }
    // What the file says of shapes no longer holds.
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
        // A Parameter that is gone has no shape.
        Edit::Shape(id, shape) => drop(graph.set_parameter_shape(*id, shape.clone())),
        Edit::Op(id, op) => {
            let Some(node) = graph.get(*id) else { return };
            let (inputs, outputs) = (graph.inputs(*id).len(), node.outs().len());
            let outputs = (0..).take(outputs).collect();
            put(graph, *id, Op::clone(op), &(0..inputs).collect::<Vec<_>>(), outputs);
        }
        Edit::Ports { node, op, inputs, outputs } => {
            put(graph, *node, Op::clone(op), inputs, outputs.clone())
        }
        Edit::Become(other) => *graph = Graph::clone(other),
    }
}

/// Removes a layer, and those that only fed it.
pub(super) fn remove(graph: &mut Graph, id: NodeId) {
    let mut todo = vec![id];
    while let Some(id) = todo.pop() {
        if !graph.contains(id) || is_read(graph, id) {
            continue;
        }
        let inputs = graph.inputs(id);
        graph.remove(id);
        todo.extend(inputs.into_iter().flatten().map(|input| input.node));
    }
}

/// Whether anybody reads a layer.
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

/// A Parameter of the type and shape of a value, as far as they are known.
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

/// Puts a layer with another op, and these of its inputs and outputs, in place of one.
fn put(graph: &mut Graph, id: NodeId, op: Op, inputs: &[usize], outputs: Vec<u32>) {
    let Some(node) = graph.get(id) else { return };
    let mut node = node.to_node();
    node.op = op;
    let outs = outputs.iter().filter_map(|&port| node.outs.get(port as usize).cloned()).collect();
    node.outs = outs;
    node.outs.iter_mut().for_each(|out| out.declared = None);
    // Port numbers of the file no longer fit.
    node.details = None;
    let old = graph.inputs(id);
    let new = graph.add(node);
    for (port, input) in (0u32..).zip(inputs) {
        if let Some(value) = old.get(*input).copied().flatten() {
            // Both layers are there, and the port is below that of the old layer.
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

/// Whether a layer can be replaced by Parameters: what is computed or read from a variable, and writes none.
pub(super) fn is_computed(op: &Op) -> bool {
    !is_leaf(op)
        && !matches!(op, Op::Result(_) | Op::Assign(_))
        && (op.is_opaque() || matches!(op, Op::ReadValue(_)) || !op.has(OpTraits::ROOT))
}
