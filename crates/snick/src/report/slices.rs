//! Slices and slice-like layers, with the primitives to which they are lowered.

use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use snick_ir::ops::slice::notation;
use snick_ir::{Graph, IntOrValue, NodeId, Op};
use snick_pass::{absent_primitive, is_slice_like, primitives_by_layer};

use super::{Expr, Numbered, dims};

#[derive(Serialize)]
struct Layer {
    layer: usize,
    numpy: Vec<String>,
    primitives: Vec<Primitive>,
    /// The reason why the layer has no primitives.
    #[serde(skip_serializing_if = "Option::is_none")]
    absent: Option<&'static str>,
}

/// A slice and the sizes of its input.
#[derive(Serialize)]
struct Primitive {
    text: String,
    dims: Option<Vec<Expr>>,
    axes: Vec<SlicedAxis>,
}

/// An axis, with the start, the length and the step of the slice.
#[derive(Serialize)]
struct SlicedAxis(usize, Option<Expr>, Option<Expr>, Option<Expr>);

/// The slices and slice-like layers of the model and its bodies.
pub(super) fn serialize<S: Serializer>(of: &Numbered, serializer: S) -> Result<S::Ok, S::Error> {
    let numbers = &of.numbers;
    let mut canonical = of.model.graph().clone();
    // Layers that cannot be lowered stay in the graph, and are shown without a primitive.
    drop(snick_pass::lower_slices(&mut canonical));
    let mut waiting = vec![(0, &canonical)];
    let mut list = serializer.serialize_seq(None)?;
    while let Some((at, canonical)) = waiting.pop() {
        let numbered = &numbers.graphs[at];
        let primitives = primitives_by_layer(canonical);
        for &id in &numbered.order {
            let node = numbered.graph.node(id);
            if is_slice_like(node.op()) || matches!(node.op(), Op::Slice(_)) {
                let found = primitives.get(node.name()).into_iter().flatten();
                let primitives: Vec<_> = found.filter_map(|&id| primitive(canonical, id)).collect();
                list.serialize_element(&Layer {
                    layer: numbered.of(id),
                    numpy: notation(numbered.graph, id).unwrap_or_default(),
                    absent: primitives.is_empty().then(|| absent_primitive(numbered.graph, id, canonical)),
                    primitives,
                })?;
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
    list.end()
}

fn primitive(graph: &Graph, id: NodeId) -> Option<Primitive> {
    let (node, inputs) = (graph.node(id), graph.inputs(id));
    let Op::Slice(slice) = node.op() else { return None };
    let fact = |at: usize| graph.fact(inputs.get(at).copied()??);
    let number = |number| match number {
        IntOrValue::Int(int) => Some(Expr::Integer(int)),
        IntOrValue::Value(input, _) => Some(Expr::new(graph, fact(input)?.elements()?.first()?)),
    };
    let operands: Vec<usize> = (1..inputs.len()).collect();
    let axes = slice.bind(&operands).unwrap_or_default();
    let axes = axes.iter().map(|(axis, slice)| {
        let [start, len, step] = slice.numbers().map(number);
        SlicedAxis(*axis, start, len, step)
    });
    Some(Primitive {
        text: notation(graph, id).unwrap_or_default().join(" "),
        dims: fact(0).and_then(|fact| dims(graph, fact)),
        axes: axes.collect(),
    })
}
