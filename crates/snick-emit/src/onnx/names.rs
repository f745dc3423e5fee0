//! Unique names for values and outputs: a tensor name, or if there is none, the name of the layer.

use std::collections::{HashMap, HashSet};

use snick_ir::{Graph, NodeId, Op, Value};

use crate::unique_names::UniqueNames;

/// Separates a name from the number that makes it unique.
const SEPARATOR: char = '~';

/// Names of values.
pub(super) struct Names {
    by_value: HashMap<Value, String>,
    /// The names of the model's outputs, by Result.
    outputs: HashMap<NodeId, String>,
    values: UniqueNames,
    nodes: UniqueNames,
}

impl Names {
    /// Names all values. Inputs and outputs of the model come first, so that they keep their names.
    pub(super) fn new(graph: &Graph, order: &[NodeId]) -> Self {
        let mut names = Self {
            by_value: HashMap::new(),
            outputs: HashMap::new(),
            values: UniqueNames::default(),
            nodes: UniqueNames::default(),
        };
        let parameters: Vec<Value> = graph.parameters().map(|node| Value { node, port: 0 }).collect();
        let results: Vec<(NodeId, Value)> = graph
            .results()
            .filter_map(|id| Some((id, graph.inputs(id).first().copied().flatten()?)))
            .collect();
        for &value in &parameters {
            names.give(value, own_name(graph, value));
        }
        let mut returned = HashSet::new();
        for &(id, value) in &results {
            let wanted = output_name(graph, id, value);
            let name = match names.by_value.get(&value) {
                None => {
                    returned.insert(value);
                    names.give(value, wanted);
                    names.of(value)
                }
                Some(own) if *own != wanted => names.fresh(&wanted),
                Some(own) if returned.insert(value) => own.clone(),
                Some(_) => names.fresh(graph.node(id).name()),
            };
            names.outputs.insert(id, name);
        }
        for &id in order.iter().filter(|&&id| !matches!(graph.node(id).op(), Op::Result(_))) {
            for (port, _) in (0..).zip(graph.node(id).outs()) {
                let value = Value { node: id, port };
                if !names.by_value.contains_key(&value) {
                    names.give(value, own_name(graph, value));
                }
            }
        }
        names
    }

    /// Names the values of one layer.
    pub(super) fn of_layer(graph: &Graph, id: NodeId) -> Self {
        let mut names = Self::new(&Graph::new(""), &[]);
        let node = graph.node(id);
        let outputs = (0..node.outs().len()).filter_map(|port| node.output(port));
        for value in node.inputs().chain(outputs) {
            if !names.by_value.contains_key(&value) {
                names.give(value, own_name(graph, value));
            }
        }
        names
    }

    /// Starts a body: names its values and returns the names of the enclosing graph. Parameters of the body
    /// are named with [`Names::set`].
    pub(super) fn enter(&mut self, body: &Graph, order: &[NodeId]) -> HashMap<Value, String> {
        let around = std::mem::take(&mut self.by_value);
        let has_name = |id: &&NodeId| !matches!(body.node(**id).op(), Op::Parameter(_) | Op::Result(_));
        for &id in order.iter().filter(has_name) {
            for (port, _) in (0..).zip(body.node(id).outs()) {
                let value = Value { node: id, port };
                self.give(value, own_name(body, value));
            }
        }
        around
    }

    /// Restores the names of the enclosing graph.
    pub(super) fn leave(&mut self, around: HashMap<Value, String>) {
        self.by_value = around;
    }

    /// Names a value of a body.
    pub(super) fn set(&mut self, value: Value, name: String) {
        self.by_value.insert(value, name);
    }

    fn give(&mut self, value: Value, name: String) {
        let name = self.fresh(&name);
        self.by_value.insert(value, name);
    }

    /// A unique name for a value: `name` or a numbered variant of it.
    pub(super) fn fresh(&mut self, name: &str) -> String {
        self.values.give(if name.is_empty() { "value" } else { name }.into(), SEPARATOR, 1)
    }

    /// A unique name for a node: `name` or a numbered variant of it.
    pub(super) fn node(&mut self, name: &str) -> String {
        self.nodes.give(name.into(), SEPARATOR, 1)
    }

    /// The name of an output of the model. It differs from the name of the returned value if another input or
    /// output has that name.
    pub(super) fn of_output(&self, result: NodeId) -> String {
        self.outputs.get(&result).cloned().unwrap_or_default()
    }

    /// The name of a value.
    pub(super) fn of(&self, value: Value) -> String {
        self.by_value.get(&value).cloned().unwrap_or_default()
    }
}

/// The name of an output in the written model: the first tensor name of the value. If there is none, or if
/// the name of the Result is also a tensor name, the name of the Result.
fn output_name(graph: &Graph, result: NodeId, value: Value) -> String {
    let tensor_names = graph.output(value).map(|out| out.names()).unwrap_or_default();
    let layer = graph.node(result).name();
    match tensor_names.first() {
        Some(first) if tensor_names.iter().all(|name| name != layer) => first.clone(),
        _ => layer.to_string(),
    }
}

/// The first tensor name of a value, or the name of its layer with the port.
fn own_name(graph: &Graph, value: Value) -> String {
    let node = graph.node(value.node);
    let tensor_name = graph.output(value).and_then(|out| out.names().first());
    match (tensor_name, value.port) {
        (Some(name), _) => name.clone(),
        (None, 0) => node.name().to_string(),
        (None, port) => format!("{}:{port}", node.name()),
    }
}
