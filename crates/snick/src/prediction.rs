//! What a run on certain inputs takes, before it runs: the sizes of all values follow from those of the inputs.

use snick_ir::{Graph, Located, NodeId, Op, Value};
use snick_shape::{DimSpec, Interval, Shape, ShapeSpec};
use snick_tensor::{ElementType, Tensor};

/// What inference says of a run on certain inputs.
///
/// ```
/// use snick::{DimPolicy, Prediction, draw_inputs};
///
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,4\"}\n  \
/// #             %a = ReLU-1(%x)\n  %y = Result-1(%a)\n}\n";
/// let mut model = snick::parse(text)?;
/// model.infer().into_result()?;
/// let inputs = draw_inputs(model.graph(), vec![None], 7, DimPolicy::MultipleOf(16)).unwrap();
/// let prediction = Prediction::of(model.graph(), &inputs);
/// assert!(prediction.errors.is_empty());
/// // An input of 16 x 4 floats, and what ReLU makes of it.
/// assert_eq!((prediction.elements, prediction.peak_bytes), (128, 512));
/// # Ok::<(), snick::Error>(())
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Prediction {
    /// The layers that fail on inputs of these sizes; others may fail, too.
    pub errors: Vec<Located>,
    /// Elements of all values together, those aside whose size is known only when the graph runs.
    pub elements: u64,
    /// Bytes of the values that are needed at the same time, if each has memory of its own.
    pub peak_bytes: u64,
}

impl Prediction {
    /// Infers a copy of the graph with the sizes of these tensors, one for each Parameter.
    pub fn of(graph: &Graph, inputs: &[Tensor]) -> Self {
        let mut graph = graph.clone();
        let parameters: Vec<_> = graph.parameters().collect();
        for (id, tensor) in parameters.into_iter().zip(inputs) {
            // A shape that the Parameter does not allow is an error of the run.
            let _ = graph.set_parameter_shape(id, exactly(tensor.dims()));
        }
        let errors = snick_ir::infer(&mut graph);
        let (elements, peak_bytes) = sizes(&graph);
        Self { errors, elements, peak_bytes }
    }
}

/// These sizes as a declared shape.
fn exactly(dims: &[usize]) -> ShapeSpec {
    let size = |&size: &usize| DimSpec::Interval(Interval::exact(i64::try_from(size).unwrap_or(i64::MAX)));
    ShapeSpec::Dims(dims.iter().map(size).collect())
}

/// The elements of all values, and the bytes of those that are alive at the same time.
fn sizes(graph: &Graph) -> (u64, u64) {
    let Ok(order) = graph.order() else { return (0, 0) };
    let mut readers = vec![0usize; graph.bound()];
    for &id in &order {
        graph.inputs(id).into_iter().flatten().for_each(|value| readers[value.node.index()] += 1);
    }
    let (mut elements, mut alive, mut peak) = (0u64, 0u64, 0u64);
    for &id in &order {
        let made = outputs(graph, id);
        elements = made.iter().fold(elements, |sum, (count, _)| sum.saturating_add(*count));
        alive = alive.saturating_add(bytes(&made));
        peak = peak.max(alive);
        let read = graph.inputs(id).into_iter().flatten().map(|Value { node, .. }| node);
        let unread = (readers[id.index()] == 0)
            .then_some(id)
            .filter(|_| !matches!(graph.node(id).op(), Op::Result(_)));
        for node in read.chain(unread) {
            let left = &mut readers[node.index()];
            *left = left.saturating_sub(1);
            if *left == 0 {
                alive = alive.saturating_sub(bytes(&outputs(graph, node)));
            }
        }
    }
    (elements, peak)
}

fn bytes(outputs: &[(u64, u64)]) -> u64 {
    outputs.iter().fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
}

/// The elements and bytes of each output that a run makes. A Result passes its input on.
fn outputs(graph: &Graph, id: NodeId) -> Vec<(u64, u64)> {
    let node = graph.node(id);
    if matches!(node.op(), Op::Const(_) | Op::Result(_)) {
        return Vec::new();
    }
    let size = |shape: &Shape, element_type: ElementType| {
        let count = shape.as_static()?.iter().fold(1usize, |n, &size| n.saturating_mul(size));
        // An unknown element type may be the largest.
        let bytes = element_type.byte_len(count).unwrap_or_else(|| count.saturating_mul(8));
        Some((count as u64, bytes as u64))
    };
    let sizes = node.outs().iter().map(|out| size(&out.fact.shape, out.fact.element_type()));
    sizes.map(Option::unwrap_or_default).collect()
}
