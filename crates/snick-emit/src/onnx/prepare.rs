//! Slices that ONNX cannot say as they are, said by the primitive, and that by Slice-8.

use snick_ir::rewrite::{self, Patch, RewriteResult, Rule};
use snick_ir::{Graph, Located, Op, OpError};

use crate::openvino::{SliceAs, legalise};

/// StridedSlice with bounds known only at run time: ONNX has no masks to go with them.
const RULE: Rule = Rule::exact("bounds-at-run-time", lower);

/// A copy of the graph without them, bodies included.
pub(super) fn prepare(graph: &Graph) -> Result<Graph, Box<Located>> {
    let mut graph = graph.clone();
    rewrite::apply_throughout(&mut graph, &[RULE])?;
    legalise(&graph, SliceAs::Slice)
}

fn lower(cx: &mut Patch) -> Result<RewriteResult, OpError> {
    let op = cx.node().op.clone();
    let facts = cx.input_facts()?;
    match op {
        Op::StridedSlice(_) if facts.iter().skip(1).any(|fact| fact.ints().is_none()) => {
            match op.lower(cx)? {
                RewriteResult::Declined(reason) => {
                    Err(OpError::unsupported(format!("in ONNX: {reason}; it")))
                }
                lowered => Ok(lowered),
            }
        }
        _ => Ok(RewriteResult::NoMatch),
    }
}
