//! What ONNX cannot say, in other words: slices by the primitive, and that by Slice-8; outputs that layers read.

use snick_ir::rewrite::{Patch, RewriteResult, Rule, apply_throughout};
use snick_ir::{Graph, Located, NodeId, Op, OpError, Value};
use snick_pass::legalize::from_slice::{self, SliceAs};
use snick_pass::legalize::to_slice;

/// StridedSlice with bounds known only at run time: ONNX has no masks.
const DYNAMIC_BOUNDS: Rule = Rule::exact("lower-dynamic-strided-slice", lower);

/// A copy of the graph without them, bodies included.
pub(super) fn prepare(mut graph: Graph) -> Result<Graph, Box<Located>> {
    apply_throughout(&mut graph, &[DYNAMIC_BOUNDS])?;
    apply_throughout(&mut graph, &[from_slice::ranges(SliceAs::Slice)])?;
    apply_throughout(&mut graph, &[from_slice::BOUNDS])?;
    read_past_results(&mut graph);
    Ok(graph)
}

/// What reads a Result reads its input: an output of ONNX is a name, and no node.
fn read_past_results(graph: &mut Graph) {
    let results: Vec<NodeId> = graph.results().collect();
    for node in results {
        let result = Value { node, port: 0 };
        if let Some(returned) = graph.inputs(node).first().copied().flatten()
            && !graph.uses(result).is_empty()
        {
            graph.replace_uses(result, returned);
        }
    }
    graph.for_each_body(read_past_results);
}

fn lower(cx: &mut Patch) -> Result<RewriteResult, OpError> {
    let is_strided_slice = matches!(cx.node().op(), Op::StridedSlice(_));
    if !is_strided_slice || cx.input_facts()?.iter().skip(1).all(|fact| fact.ints().is_some()) {
        return Ok(RewriteResult::NoMatch);
    }
    match to_slice::RULE.apply(cx)? {
        RewriteResult::Declined(reason) => Err(OpError::CannotWrite { what: reason, format: "ONNX" }),
        lowered => Ok(lowered),
    }
}
