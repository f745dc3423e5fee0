//! The outputs of a model by name.

use std::collections::HashSet;

use snick_ir::{Graph, NodeId};

/// The names of an output: its Result layer, then the tensor names of the value it returns.
pub fn output_names(graph: &Graph, result: NodeId) -> Vec<&str> {
    let mut names = vec![graph.node(result).name()];
    let value = graph.inputs(result).first().copied().flatten();
    let tensor_names = value.and_then(|value| graph.output(value)).map(|out| out.names()).unwrap_or_default();
    names.extend(tensor_names.iter().map(String::as_str));
    names
}

/// The outputs by each of their names. A name means the first output that has it, layer names first.
pub fn named_outputs<'a, T>(graph: &'a Graph, values: &'a [T]) -> Vec<(&'a str, &'a T)> {
    let outputs = || graph.results().zip(values).map(|(id, value)| (output_names(graph, id), value));
    let layers = outputs().filter_map(|(names, value)| names.first().map(|&name| (name, value)));
    let tensors =
        outputs().flat_map(|(names, value)| names.into_iter().skip(1).map(move |name| (name, value)));
    let mut seen = HashSet::new();
    layers.chain(tensors).filter(|(name, _)| seen.insert(*name)).collect()
}
