//! Rewrites slices that ONNX cannot express: to the primitive, then to Slice-8.

use snick_ir::rewrite::{Patch, RewriteResult, Rule, apply_throughout};
use snick_ir::{Graph, Located, Op, OpError};
use snick_pass::legalize::from_slice::{self, SliceAs};
use snick_pass::legalize::to_slice;

/// Lowers a StridedSlice with dynamic bounds, because ONNX has no masks.
const DYNAMIC_BOUNDS: Rule = Rule::exact("lower-dynamic-strided-slice", lower);

/// Lowers slices that ONNX cannot express in the graph and its bodies.
pub(super) fn prepare(mut graph: Graph) -> Result<Graph, Box<Located>> {
    apply_throughout(&mut graph, &[DYNAMIC_BOUNDS])?;
    apply_throughout(&mut graph, &[from_slice::ranges(SliceAs::Slice)])?;
    apply_throughout(&mut graph, &[from_slice::BOUNDS])?;
    Ok(graph)
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
