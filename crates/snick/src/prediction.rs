//! Predicts the memory and the errors of a run by inferring the model with the sizes of the inputs.

use snick_ir::{Graph, Located, NodeId, Op};
use snick_shape::{DimSpec, Interval, Shape, ShapeSpec};
use snick_tensor::{ElementType, Tensor};

/// The predicted errors and memory of a run on given inputs.
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
/// // An input of 16 x 4 floats, and the output of ReLU.
/// assert_eq!((prediction.elements, prediction.peak_bytes), (128, 512));
/// # Ok::<(), snick::Error>(())
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Prediction {
    /// The errors of layers that fail on inputs of these sizes. A run may fail in other layers, too.
    pub errors: Vec<Located>,
    /// The number of elements of all values that depend on inputs. Excludes values whose size is only known
    /// at run time.
    pub elements: u64,
    /// The largest number of bytes of these values that are alive at the same time, if no two values share
    /// memory.
    pub peak_bytes: u64,
}

impl Prediction {
    /// Infers a copy of the graph with the sizes of these tensors, one per Parameter.
    pub fn of(graph: &Graph, inputs: &[Tensor]) -> Self {
        let mut graph = graph.clone();
        let parameters: Vec<_> = graph.parameters().collect();
        for (id, tensor) in parameters.into_iter().zip(inputs) {
            // Ignores errors here: the run reports shapes that the Parameter does not allow.
            let _ = graph.set_parameter_shape(id, exactly(tensor.dims()));
        }
        let errors = snick_ir::infer(&mut graph);
        let (elements, peak_bytes) = sizes(&graph);
        Self { errors, elements, peak_bytes }
    }
}

/// The declared shape that allows exactly these sizes.
fn exactly(dims: &[usize]) -> ShapeSpec {
    let size = |&size: &usize| DimSpec::Interval(Interval::exact(i64::try_from(size).unwrap_or(i64::MAX)));
    ShapeSpec::Dims(dims.iter().map(size).collect())
}

/// The number of elements of all values that depend on inputs, and the largest number of bytes of these
/// values that are alive at the same time. Excludes values computed from constants only, because they are the
/// same for all inputs.
fn sizes(graph: &Graph) -> (u64, u64) {
    let Ok(order) = graph.order() else { return (0, 0) };
    let mut readers = vec![0usize; graph.bound()];
    let mut bytes = vec![0u64; graph.bound()];
    let mut varies = vec![false; graph.bound()];
    for &id in &order {
        graph.inputs(id).into_iter().flatten().for_each(|value| readers[value.node.index()] += 1);
    }
    let (mut elements, mut alive, mut peak) = (0u64, 0u64, 0u64);
    for &id in &order {
        let read: Vec<NodeId> = graph.inputs(id).into_iter().flatten().map(|value| value.node).collect();
        let at = id.index();
        varies[at] = matches!(graph.node(id).op(), Op::Parameter(_) | Op::ReadValue(_))
            || read.iter().any(|source| varies[source.index()]);
        if varies[at] {
            let (count, size) = outputs(graph, id);
            elements = elements.saturating_add(count);
            bytes[at] = size;
        }
        alive = alive.saturating_add(bytes[at]);
        peak = peak.max(alive);
        for source in read {
            let left = &mut readers[source.index()];
            *left = left.saturating_sub(1);
            if *left == 0 {
                alive = alive.saturating_sub(bytes[source.index()]);
            }
        }
        if readers[at] == 0 {
            alive = alive.saturating_sub(bytes[at]);
        }
    }
    (elements, peak)
}

/// The elements and bytes of all outputs that a layer allocates, counting unknown sizes as zero. A Result
/// allocates none, because it only passes its input on.
fn outputs(graph: &Graph, id: NodeId) -> (u64, u64) {
    let node = graph.node(id);
    if matches!(node.op(), Op::Result(_)) {
        return (0, 0);
    }
    let size = |shape: &Shape, element_type: ElementType| {
        let count = shape.as_static()?.iter().fold(1usize, |n, &size| n.saturating_mul(size));
        // For an unknown element type, assumes the largest one.
        let bytes = element_type.byte_len(count).unwrap_or_else(|| count.saturating_mul(8));
        Some((count as u64, bytes as u64))
    };
    let sizes = node.outs().iter().filter_map(|out| size(&out.fact.shape, out.fact.element_type()));
    sizes.fold((0, 0), |sum, (count, bytes)| (sum.0.saturating_add(count), sum.1.saturating_add(bytes)))
}
