//! The slice family, said by the primitive.

use snick_ir::rewrite::{self, Patch, RewriteResult, Rule};
use snick_ir::{Graph, Located, OpError};

/// Every slice-like layer becomes the primitive.
const RULE: Rule = Rule::exact("lower-slices", lower);

/// A copy of the graph with no other slices, bodies included.
pub(super) fn prepare(graph: &Graph) -> Result<Graph, Box<Located>> {
    let mut graph = graph.clone();
    rewrite::apply_throughout(&mut graph, &[RULE])?;
    Ok(graph)
}

fn lower(cx: &mut Patch) -> Result<RewriteResult, OpError> {
    let op = cx.node().op.clone();
    op.lower(cx)
}
