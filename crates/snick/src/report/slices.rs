//! Slices and slice-like layers, and the primitives that they become.

use snick_ir::json::Json;
use snick_ir::ops::slice::notation;
use snick_ir::{Graph, IntOrValue, NodeId, Op};
use snick_pass::{is_slice_like, primitives_by_layer};

use super::expr;
use super::layers::Numbers;

/// The slices and slice-like layers of the model itself and of its bodies.
pub(super) fn write(json: &mut Json, graph: &Graph, numbers: &Numbers) {
    let mut canonical = graph.clone();
    // What cannot be lowered stays, and has no primitive.
    drop(snick_pass::lower_slices(&mut canonical));
    let mut waiting = vec![(0, &canonical)];
    while let Some((at, canonical)) = waiting.pop() {
        let numbered = &numbers.graphs[at];
        let primitives = primitives_by_layer(canonical);
        for &id in &numbered.order {
            let node = numbered.graph.node(id);
            if is_slice_like(node.op()) || matches!(node.op(), Op::Slice(_)) {
                json.line().object(|json| {
                    json.key("layer").plain(numbered.of(id));
                    let text = notation(numbered.graph, id).unwrap_or_default();
                    json.key("numpy").array(|json| text.iter().for_each(|text| json.string(text)));
                    json.key("primitives").array(|json| {
                        for &id in primitives.get(node.name()).into_iter().flatten() {
                            json.object(|json| primitive(json, canonical, id));
                        }
                    });
                });
            }
            if node.op().bodies().next().is_some()
                && let Some(same) = canonical.find(node.name())
            {
                let bodies = canonical.node(same).op().bodies();
                let own = numbered.of(id);
                let places = (0..numbers.graphs.len())
                    .filter(|&at| numbers.graphs[at].owner.is_some_and(|(owner, _)| owner == own));
                waiting.extend(places.zip(bodies.map(|(_, body)| body)));
            }
        }
    }
}

/// The sizes of what it slices, and start, length and step of each sliced axis.
fn primitive(json: &mut Json, graph: &Graph, id: NodeId) {
    let (node, inputs) = (graph.node(id), graph.inputs(id));
    let Op::Slice(slice) = node.op() else { return };
    json.key("text").string(&notation(graph, id).unwrap_or_default().join(" "));
    let fact = |at: usize| graph.fact(inputs.get(at).copied()??);
    json.key("dims");
    match fact(0).and_then(|fact| fact.shape().dims()) {
        Some(dims) => json.array(|json| dims.iter().for_each(|dim| expr(json, graph, dim))),
        None => json.plain("null"),
    }
    let operands: Vec<usize> = (1..inputs.len()).collect();
    let axes = slice.bind(&operands).unwrap_or_default();
    json.key("axes").array(|json| {
        for (axis, slice) in &axes {
            json.array(|json| {
                json.plain(axis);
                for number in slice.numbers() {
                    match number {
                        IntOrValue::Int(int) => json.plain(int),
                        IntOrValue::Value(input, _) => {
                            let elements = fact(input).and_then(|fact| fact.elements());
                            match elements.as_ref().and_then(|elements| elements.first()) {
                                Some(element) => expr(json, graph, element),
                                None => json.plain("null"),
                            }
                        }
                    }
                }
            });
        }
    });
}
