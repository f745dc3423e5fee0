//! The output and the errors of emitters.

mod onnx_opsets;
mod stablehlo_names;

use snick::{DimPolicy, draw_inputs};
use snick_ir::{Graph, NodeId};

/// The graph with inputs of fixed sizes.
pub fn with_fixed_sizes(graph: &Graph, dims: DimPolicy) -> Graph {
    let mut graph = graph.clone();
    let parameters: Vec<NodeId> = graph.parameters().collect();
    let inputs = draw_inputs(&graph, vec![None; parameters.len()], 7, dims).unwrap();
    for (id, input) in parameters.into_iter().zip(inputs) {
        graph.set_parameter_shape(id, format!("{:?}", input.dims()).parse().unwrap()).unwrap();
    }
    snick_ir::infer(&mut graph);
    graph
}
