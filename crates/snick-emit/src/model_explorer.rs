//! Graphs for Google's Model Explorer: a collection of one graph for the model and one for each body.

use std::collections::VecDeque;

use serde::{Serialize, Serializer};
use snick_ir::text::Escaped;
use snick_ir::{Graph, NodeId, Op, Value};

use crate::json::json;

/// The graph and its bodies as JSON for Model Explorer, which groups layers by the scopes in their names.
pub fn model_explorer(graph: &Graph) -> String {
    #[derive(Serialize)]
    struct Collection<'g> {
        label: String,
        graphs: Vec<ExplorerGraph<'g>>,
    }
    #[derive(Serialize)]
    struct ExplorerGraph<'g> {
        id: String,
        nodes: Nodes<'g>,
    }
    let mut graphs: Vec<ExplorerGraph> = Vec::new();
    let mut waiting = VecDeque::from([("main".to_string(), graph)]);
    while let Some((id, graph)) = waiting.pop_front() {
        let nodes = Nodes::new(id.clone(), graph);
        waiting.extend(nodes.order.iter().flat_map(|&id| nodes.bodies(id)));
        graphs.push(ExplorerGraph { id, nodes });
    }
    json(&[Collection { label: escaped(&graph.name), graphs }]) + "\n"
}

/// The layers of a graph, converted while they are serialized. A layer's identifier is its index in
/// topological order.
struct Nodes<'g> {
    /// The identifier of the graph.
    id: String,
    graph: &'g Graph,
    order: Vec<NodeId>,
    /// The identifier of each layer, by node index.
    numbers: Vec<usize>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    id: String,
    label: String,
    namespace: String,
    attrs: Vec<Attribute>,
    incoming_edges: Vec<Edge>,
    outputs_metadata: Vec<Metadata>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subgraph_ids: Vec<String>,
}

#[derive(Serialize)]
struct Attribute {
    key: String,
    value: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Edge {
    source_node_id: String,
    source_node_output_id: String,
    target_node_input_id: String,
}

/// The attributes shown for an output.
#[derive(Serialize)]
struct Metadata {
    id: String,
    attrs: Vec<Attribute>,
}

impl<'g> Nodes<'g> {
    fn new(id: String, graph: &'g Graph) -> Self {
        let order = graph.order().unwrap_or_else(|_| graph.ids().collect());
        let mut numbers = vec![0; graph.bound()];
        order.iter().enumerate().for_each(|(number, id)| numbers[id.index()] = number);
        Self { id, graph, order, numbers }
    }

    fn number(&self, id: NodeId) -> String {
        self.numbers[id.index()].to_string()
    }

    /// The graphs inside a layer, each with its identifier.
    fn bodies(&self, id: NodeId) -> impl Iterator<Item = (String, &'g Graph)> {
        let bodies = self.graph.node(id).op().bodies();
        bodies.map(move |(role, body)| (format!("{}/{}/{role}", self.id, self.number(id)), body))
    }

    fn node(&self, id: NodeId) -> Node {
        let node = self.graph.node(id);
        let edge = |(port, value): (usize, Option<Value>)| {
            let value = value?;
            Some(Edge {
                source_node_id: self.number(value.node),
                source_node_output_id: value.port.to_string(),
                target_node_input_id: port.to_string(),
            })
        };
        Node {
            id: self.number(id),
            label: escaped(node.op().type_name()),
            namespace: namespace(node.name()),
            attrs: attributes(self.graph, id),
            incoming_edges: self.graph.inputs(id).into_iter().enumerate().filter_map(edge).collect(),
            outputs_metadata: outputs(self.graph, id),
            subgraph_ids: self.bodies(id).map(|(id, _)| id).collect(),
        }
    }
}

impl Serialize for Nodes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.order.iter().map(|&id| self.node(id)))
    }
}

fn escaped(text: &str) -> String {
    Escaped(text).to_string()
}

/// The scopes of a name, each terminated by `/` or `.`.
fn namespace(name: &str) -> String {
    let scopes = name.rfind(['/', '.']).map_or("", |end| &name[..end]);
    escaped(scopes).replace('.', "/")
}

fn attributes(graph: &Graph, id: NodeId) -> Vec<Attribute> {
    let node = graph.node(id);
    let attribute = |key: &str, value: &str| Attribute { key: escaped(key), value: escaped(value) };
    let mut all = vec![attribute("name", node.name())];
    if node.loc().line > 0 {
        all.push(attribute("place", &node.loc().to_string()));
    }
    if !matches!(node.op(), Op::Const(_)) {
        all.extend(node.op().attrs().iter().map(|(name, value)| attribute(name, &value.abbreviated())));
    }
    all
}

fn outputs(graph: &Graph, id: NodeId) -> Vec<Metadata> {
    let outs = graph.node(id).outs().iter().enumerate();
    let outs = outs.filter_map(|(port, out)| {
        let fact = graph.fact(Value { node: id, port: u32::try_from(port).ok()? })?;
        let shape = fact.shape().display_labels(graph.symbols());
        let shape = ("tensor_shape", format!("{}{shape}", fact.element_type()));
        let names = out.names().iter().map(|name| ("tensor_name", name.clone()));
        let attrs = std::iter::once(shape).chain(names);
        let attrs = attrs.map(|(key, value)| Attribute { key: key.to_string(), value: escaped(&value) });
        Some(Metadata { id: port.to_string(), attrs: attrs.collect() })
    });
    outs.collect()
}
