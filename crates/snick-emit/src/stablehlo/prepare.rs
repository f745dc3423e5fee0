//! The slice family, said by the primitive.

use snick_ir::rewrite::{self, How, Lowered, Patch, Rule};
use snick_ir::{Graph, Located, OpError};

/// Every slice-like layer becomes the primitive.
const RULE: Rule = Rule::exact("lower-slices", lower);

/// A copy of the graph with no other slices.
pub(super) fn prepare(graph: &Graph) -> Result<Graph, Box<Located>> {
    let mut graph = graph.clone();
    let trace = rewrite::apply(&mut graph, &[RULE], How::default());
    match trace.errors.into_iter().next() {
        Some(error) => Err(error.into()),
        None => {
            graph.sweep();
            Ok(graph)
        }
    }
}

fn lower(cx: &mut Patch) -> Result<Lowered, OpError> {
    let op = cx.node().op.clone();
    op.lower(cx)
}
