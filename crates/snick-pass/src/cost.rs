//! The cost of slicing: the number of layers, and the number of bytes that slices copy if they are not views.

use snick_ir::{Dialect, Graph, NodeId, Op};

use crate::legalize::to_slice::is_slice_like;

/// Layers and bytes, counted over a graph and its bodies.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,4\"}\n  \
/// #             %a = ReLU-1(%x)\n  %b = ReLU-1(%a)\n  %y = Result-1(%b)\n}\n";
/// let mut graph = snick::text::parse(text, None)?;
/// assert!(snick::infer(&mut graph).is_empty());
/// let cost = snick::Cost::of(&graph);
/// assert_eq!((cost.layers, cost.slices, cost.bytes), (4, 0, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    /// Number of layers.
    pub layers: usize,
    /// Number of slice-like layers, including primitives.
    pub slices: usize,
    /// Total bytes of the outputs of all slices. A dynamic size is counted as its minimum, but at least as 1.
    pub bytes: u64,
}

impl Cost {
    /// The cost of an inferred graph.
    pub fn of(graph: &Graph) -> Self {
        let mut cost = Self { layers: graph.len(), ..Self::default() };
        for id in graph.ids() {
            let op = graph.node(id).op();
            if is_slice_like(op) || matches!(op, Op::Slice(_) if op.dialect() == Dialect::Snick) {
                cost.slices += 1;
                cost.bytes = cost.bytes.saturating_add(bytes(graph, id));
            }
            for (_, body) in op.bodies() {
                let inside = Self::of(body);
                cost.layers += inside.layers;
                cost.slices += inside.slices;
                cost.bytes = cost.bytes.saturating_add(inside.bytes);
            }
        }
        cost
    }
}

fn bytes(graph: &Graph, id: NodeId) -> u64 {
    let of_output = |fact: &snick_ir::Fact| {
        let dims = fact.shape.dims().unwrap_or_default().iter();
        let least = dims.map(|dim| match dim.as_const() {
            Some(size) => u64::try_from(size).unwrap_or(0),
            None => graph.symbols().interval(dim).lo().max(1).unsigned_abs(),
        });
        let count = least.fold(1u64, u64::saturating_mul);
        count.saturating_mul(u64::from(fact.element_type.bit_width().unwrap_or(32))) / 8
    };
    graph.node(id).outs().iter().map(|out| of_output(&out.fact)).fold(0, u64::saturating_add)
}
