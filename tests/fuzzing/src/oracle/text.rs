//! The text form of a graph parses to the same graph.

use snick_ir::ops::source::constant::Constant;
use snick_ir::text::{PrintOptions, Weights, packed_weights, parse, print};
use snick_ir::{Graph, Op};
use snick_tensor::Storage;

use super::{Finding, inferred};

/// The text form shown in findings.
pub(super) fn printed(graph: &Graph) -> String {
    print(graph, PrintOptions::new().weights(Weights::Packed))
}

/// An inferred graph that is printed, parsed and printed again gives the same text and the same inference. A
/// graph with a cycle can be printed for inspection, but does not parse.
pub(super) fn check(graph: &Graph) -> Result<(), Finding> {
    if has_cycle(graph) {
        return Ok(());
    }
    let weights = Storage::heap(packed_weights(graph).to_bytes());
    let again = parse(&printed(graph), Some(&weights))
        .map_err(|error| Finding::of("the text form does not parse", error, graph))?;
    // Types follow from the rest, except those that a file declares for a failed layer.
    let options = PrintOptions::new().weights(Weights::Packed).types(false);
    let text_again = print(&again, options);
    if print(graph, options) != text_again {
        return Err(Finding::of("the text form changes", text_again, graph));
    }
    // A graph with a NaN attribute does not equal itself.
    if *graph == graph.clone() && !has_cut_weights(graph) && again != *graph {
        return Err(Finding::of("the text form", "parses as another graph", graph));
    }
    let Some((after, _)) = inferred(&again) else { return Ok(()) };
    let options = PrintOptions::new().symbolic(true);
    match (print(graph, options), print(&after, options)) {
        (before, after) if before == after => Ok(()),
        (_, after) => Err(Finding::of("what is inferred of the text form", after, graph)),
    }
}

/// Whether a layer depends on itself, in the graph or in a body.
fn has_cycle(graph: &Graph) -> bool {
    let in_body = |id| graph.node(id).op().bodies().any(|(_, body)| has_cycle(body));
    graph.order().is_err() || graph.ids().any(in_body)
}

/// Whether a constant lies beyond the end of its weights: the text form only records that they are absent.
fn has_cut_weights(graph: &Graph) -> bool {
    graph.ids().any(|id| match graph.node(id).op() {
        Op::Const(Constant::Absent(absent)) => absent.is_truncated,
        op => op.bodies().any(|(_, body)| has_cut_weights(body)),
    })
}
