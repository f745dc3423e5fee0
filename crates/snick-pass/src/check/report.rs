//! Reports a wrong replacement in a form that users can understand and reproduce.

use std::fmt::Write as _;
use std::sync::Arc;

use snick_ir::ops::slice::notation;
use snick_ir::ops::source::constant::Constant;
use snick_ir::ops::source::parameter::Parameter;
use snick_ir::ops::source::result::GraphResult;
use snick_ir::text::{PrintOptions, print};
use snick_ir::{Graph, Node, NodeId, Op, Value};
use snick_tensor::Tensor;

use super::claim::Claim;
use super::region::Region;
use super::sample::Sample;

/// Maximum number of layers in a test.
const MAX_NODES: usize = 200;

/// Reports the rule and the layer, the difference, the old and new slices in numpy's notation, and a test in
/// text form.
pub(super) fn report(claim: &Claim, region: &Region, sample: &Sample, how: &str) -> String {
    let Claim { graph, rule, place, .. } = *claim;
    let mut text = format!("{rule} at `{place}`: {how}\n");
    let mut slices = |title: &str, nodes: &[NodeId]| {
        for &id in nodes {
            for slice in notation(graph, id).unwrap_or_default() {
                let node = graph.node(id);
                let _ = writeln!(text, "  {title} {} `{}`: {slice}", node.op().type_name(), node.name());
            }
        }
    };
    slices("old", &region.old);
    slices("new", claim.added);
    if region.old.len() > MAX_NODES {
        return text;
    }
    // A test needs at least one CHECK line. This one passes once the rule is correct.
    let _ = writeln!(text, "// RUN: snick canon --passes {rule} --verify\n// CHECK: Result-");
    text.push_str(&print(&as_test(claim, region, sample), PrintOptions::default()));
    text
}

/// The old layers as a separate graph, with the sizes of the sample.
pub(super) fn as_test(claim: &Claim, region: &Region, sample: &Sample) -> Graph {
    let graph = claim.graph;
    let mut test = Graph::new("refuted");
    let mut values = std::collections::HashMap::new();
    for &leaf in &region.leaves {
        let Some(tensor) = sample.tensors.get(&leaf) else { continue };
        if !region.old.iter().any(|&id| graph.inputs(id).contains(&Some(leaf))) {
            continue;
        }
        let is_known = graph.fact(leaf).is_some_and(|fact| fact.known.is_some());
        let op = if is_known { Op::from(Constant::new(Arc::new(tensor.clone()))) } else { parameter(tensor) };
        let node = test.add(Node::new(graph.node(leaf.node).name(), op));
        values.insert(leaf, Value { node, port: 0 });
    }
    for &id in &region.old {
        let old = graph.node(id);
        let mut node = Node::new(old.name(), old.op().clone());
        node.version = old.version().clone();
        let inputs = graph.inputs(id);
        let inputs: Vec<Value> = inputs.iter().filter_map(|input| values.get(&(*input)?).copied()).collect();
        let node = test.add_wired(node, &inputs);
        for port in (0..).take(old.outs().len()) {
            values.insert(Value { node: id, port }, Value { node, port });
        }
    }
    for (i, pair) in claim.pairs.iter().enumerate() {
        if let Some(&value) = values.get(&pair.old) {
            test.add_wired(Node::new(format!("result{i}"), Op::from(GraphResult)), &[value]);
        }
    }
    // A layer that fails inference is printed without types.
    snick_ir::infer(&mut test);
    test
}

fn parameter(tensor: &Tensor) -> Op {
    let dims: Vec<String> = tensor.dims().iter().map(usize::to_string).collect();
    let shape = dims.join(",").parse().unwrap_or(snick_shape::ShapeSpec::Unranked);
    Op::from(Parameter { element_type: tensor.element_type(), shape })
}
