//! The slice dialects, by the primitive with operands in ordinary arithmetic.

use snick_ir::rewrite::apply_throughout;
use snick_ir::{Graph, Located};
use snick_pass::legalize::{from_slice, to_slice};

/// A copy of the graph with no other slices, bodies included.
pub(super) fn prepare(graph: &Graph) -> Result<Graph, Box<Located>> {
    let mut graph = graph.clone();
    apply_throughout(&mut graph, &[to_slice::RULE, from_slice::BOUNDS])?;
    Ok(graph)
}
