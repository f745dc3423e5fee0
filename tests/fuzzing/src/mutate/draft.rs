//! A graph as a list of layers, which is easy to edit.

use std::cell::RefCell;
use std::collections::HashMap;

use snick_ir::{Attrs, Graph, Node, NodeId, Op, Output, RawNode, Value};
use snick_tensor::SplitMix;

use super::below;

/// An output of a layer: layer index and port.
pub(super) type Source = (usize, u32);

/// A layer with its inputs.
#[derive(Clone)]
pub(super) struct Layer {
    pub(super) node: Node,
    pub(super) inputs: Vec<Option<Source>>,
}

impl Layer {
    /// A layer for an op. Its declaration or inference determines the number of outputs.
    pub(super) fn new(op: Op, inputs: Vec<Option<Source>>) -> Self {
        Self { node: Node::new("new", op), inputs }
    }

    /// Changes the op type or attributes. Leaves the layer unchanged if the result is not an op.
    pub(super) fn remake(&mut self, change: impl FnOnce(&mut RawNode)) -> Option<()> {
        let op_type = self.node.op.type_name().to_string();
        let bodies = self.node.op.bodies().map(|(_, body)| body.clone()).collect();
        let mut raw = RawNode {
            dialect: self.node.op.dialect(),
            bodies: RefCell::new(bodies),
            ..RawNode::openvino(
                &op_type,
                self.node.version.clone(),
                self.node.op.attrs(),
                self.node.outs.len(),
            )
        };
        change(&mut raw);
        let op = Op::parse(&mut raw).ok()?;
        let version = raw.version.clone();
        (self.node.op, self.node.version) = (op, version);
        Some(())
    }
}

/// Layers; a draft of a graph starts in topological order.
#[derive(Clone)]
pub(super) struct Draft {
    pub(super) graph: Graph,
    pub(super) layers: Vec<Layer>,
}

impl Draft {
    /// The layers of a graph.
    pub(super) fn of(graph: &Graph) -> Self {
        let order = graph.order().unwrap_or_else(|_| graph.ids().collect());
        let places: HashMap<NodeId, usize> = order.iter().enumerate().map(|(at, &id)| (id, at)).collect();
        let source = |value: Value| Some((*places.get(&value.node)?, value.port));
        let layers = order.iter().map(|&id| Layer {
            node: graph.node(id).to_node(),
            inputs: graph.inputs(id).into_iter().map(|value| value.and_then(source)).collect(),
        });
        let mut empty = Graph::new(graph.name.as_str());
        (empty.ir_version, empty.info) = (graph.ir_version, graph.info.clone());
        Self { layers: layers.collect(), graph: empty }
    }

    /// Converts the layers back to a graph.
    pub(super) fn build(self) -> Graph {
        let Self { mut graph, layers } = self;
        let mut inputs = Vec::new();
        for layer in layers {
            let id = graph.add(Node { name: layer.node.name.clone(), ..layer.node });
            inputs.push((id, layer.inputs));
        }
        let ids: Vec<NodeId> = inputs.iter().map(|(id, _)| *id).collect();
        for (id, sources) in &inputs {
            for (port, source) in (0..).zip(sources) {
                let Some((layer, from)) = *source else { continue };
                if let Some(&node) = ids.get(layer) {
                    graph.ensure_outputs(node, from as usize + 1);
                    // Both are nodes of the graph, and there are few ports.
                    let _ = graph.connect(Value { node, port: from }, *id, port);
                }
            }
        }
        graph
    }

    /// Adds the layers of another graph, and replaces some of its inputs by values of this one.
    pub(super) fn append(&mut self, other: Self, random: &mut SplitMix) {
        let first = self.layers.len();
        let mut replaced = HashMap::new();
        for (at, layer) in other.layers.iter().enumerate() {
            if matches!(layer.node.op, Op::Parameter(_)) && random.below(4) > 0 {
                replaced.extend(self.any_value(first, random).map(|value| (at, value)));
            }
        }
        for mut layer in other.layers {
            for (at, port) in layer.inputs.iter_mut().flatten() {
                (*at, *port) = replaced.get(at).copied().unwrap_or((*at + first, *port));
            }
            self.layers.push(layer);
        }
    }

    /// An output of one of the layers before `end`.
    pub(super) fn any_value(&self, end: usize, random: &mut SplitMix) -> Option<Source> {
        let has_outputs = |layer: &Layer| !matches!(layer.node.op, Op::Result(_));
        let layers: Vec<usize> =
            (0..end.min(self.layers.len())).filter(|&at| has_outputs(&self.layers[at])).collect();
        let at = *layers.get(below(layers.len(), random))?;
        Some((at, below(self.layers[at].node.outs.len(), random) as u32))
    }

    /// Inserts a layer before `at` and returns its index.
    pub(super) fn insert(&mut self, at: usize, layer: Layer) -> usize {
        let moved = |place: &mut usize| *place += usize::from(*place >= at);
        self.layers
            .iter_mut()
            .flat_map(|layer| layer.inputs.iter_mut().flatten())
            .for_each(|(place, _)| moved(place));
        self.layers.insert(at, layer);
        at
    }

    /// Removes a layer. Its readers get its first input instead.
    pub(super) fn remove(&mut self, at: usize) {
        let removed = self.layers.remove(at);
        let instead = removed.inputs.first().copied().flatten().filter(|(place, _)| *place != at);
        for input in self.layers.iter_mut().flat_map(|layer| &mut layer.inputs) {
            if input.is_some_and(|(place, _)| place == at) {
                *input = instead;
            }
            if let Some((place, _)) = input {
                *place -= usize::from(*place > at);
            }
        }
    }
}

/// Outputs of unknown type.
pub(super) fn outputs(count: usize) -> impl Iterator<Item = Output> {
    std::iter::repeat_with(Output::unknown).take(count)
}

/// Attributes with one of them set or removed.
pub(super) fn with_attr(
    attrs: &Attrs<'static>,
    name: &str,
    value: Option<snick_ir::AttrValue<'static>>,
) -> Attrs<'static> {
    let mut changed = Attrs::new();
    for (other, old) in attrs.iter().filter(|(other, _)| *other != name) {
        changed.push(other.to_string().into(), old.clone());
    }
    if let Some(value) = value {
        changed.push(name.to_string().into(), value);
    }
    changed
}
