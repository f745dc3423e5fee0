//! The slice family, said by the primitive.

use snick_ir::rewrite::{self, How, Lowered, Patch, Rule};
use snick_ir::{Graph, Located, OpError};

/// Every slice-like layer becomes the primitive.
const RULE: Rule = Rule::exact("lower-slices", lower);

/// A copy of the graph with no other slices, bodies included.
pub(super) fn prepare(graph: &Graph) -> Result<Graph, Box<Located>> {
    let mut graph = graph.clone();
    lower_all(&mut graph)?;
    Ok(graph)
}

fn lower_all(graph: &mut Graph) -> Result<(), Box<Located>> {
    let trace = rewrite::apply(graph, &[RULE], How::default());
    if let Some(error) = trace.errors.into_iter().next() {
        return Err(error.into());
    }
    graph.sweep();
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
    op.lower(cx)
}
