//! Nodes with subgraphs, and the names that the subgraphs capture.

use std::collections::HashSet;

use snick_ir::OpError;
use snick_onnx as onnx;

use super::opsets::normal_domain;

/// The reason why a node is rejected: either the whole file is invalid, or only this node, which then becomes
/// opaque.
pub(super) enum Refusal {
    File(String),
    Node(OpError),
}

impl From<String> for Refusal {
    fn from(message: String) -> Self {
        Self::File(message)
    }
}

impl From<OpError> for Refusal {
    fn from(error: OpError) -> Self {
        Self::Node(error)
    }
}

/// Whether the reader supports the subgraphs of a node.
pub(super) fn has_bodies(node: &onnx::Node) -> bool {
    normal_domain(&node.domain).is_empty() && matches!(node.op_type.as_str(), "If" | "Loop" | "Scan")
}

/// Names that the subgraphs of a node capture, in order of first use.
pub(super) fn free_names(node: &onnx::Node) -> Vec<&str> {
    let mut free = Vec::new();
    let graphs = node
        .attribute
        .iter()
        .flat_map(|attribute| attribute.g.as_deref().into_iter().chain(&attribute.graphs));
    for graph in graphs {
        free.extend(free_names_of(graph));
    }
    free
}

pub(super) fn free_names_of(graph: &onnx::Graph) -> Vec<&str> {
    let mut own: HashSet<&str> = graph.input.iter().map(|input| input.name.as_str()).collect();
    own.extend(graph.initializer.iter().map(|tensor| tensor.name.as_str()));
    own.extend(graph.node.iter().flat_map(|node| &node.output).map(String::as_str));
    let mut free = Vec::new();
    let mut seen = HashSet::new();
    let read = |name: &str| !name.is_empty() && !own.contains(name);
    for node in &graph.node {
        free.extend(node.input.iter().map(String::as_str).filter(|name| read(name)));
        free.extend(free_names(node).into_iter().filter(|name| read(name)));
    }
    free.extend(graph.output.iter().map(|output| output.name.as_str()).filter(|name| read(name)));
    free.retain(|name| seen.insert(*name));
    free
}
