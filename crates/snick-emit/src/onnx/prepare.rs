//! Slices that ONNX cannot say as they are, said by the primitive, and that by Slice-8.

use snick_ir::rewrite::{self, How, Lowered, Patch, Rule};
use snick_ir::{Graph, Located, Op, OpError};

use crate::openvino::{SliceAs, legalise};

/// StridedSlice with bounds known only at run time: ONNX has no masks to go with them.
const RULE: Rule = Rule::exact("bounds-at-run-time", lower);

/// A copy of the graph without them, bodies included.
pub(super) fn prepare(graph: &Graph) -> Result<Graph, Box<Located>> {
    let mut graph = graph.clone();
    lower_all(&mut graph)?;
    legalise(&graph, SliceAs::Slice)
}

fn lower_all(graph: &mut Graph) -> Result<(), Box<Located>> {
    let trace = rewrite::apply(graph, &[RULE], How::default());
    if let Some(error) = trace.errors.into_iter().next() {
        return Err(error.into());
    }
    if !trace.applied.is_empty() {
        graph.sweep();
    }
    let mut result = Ok(());
    graph.for_each_body(|body| {
        if result.is_ok() {
            result = lower_all(body);
        }
    });
    result
}

fn lower(cx: &mut Patch) -> Result<Lowered, OpError> {
    let op = cx.node().op.clone();
    let facts = cx.input_facts()?;
    match op {
        Op::StridedSlice(_) if facts.iter().skip(1).any(|fact| fact.ints().is_none()) => {
            match op.lower(cx)? {
                Lowered::Stay(reason) => Err(OpError::unsupported(format!("in ONNX: {reason}; it"))),
                lowered => Ok(lowered),
            }
        }
        _ => Ok(Lowered::Keep),
    }
}
