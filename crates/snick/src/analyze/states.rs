//! The sizes of states, that is, the memory that the caches (variables) of a model need.

use snick_ir::{Graph, Op};
use snick_tensor::ElementType;

/// A variable and its size for one sequence.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct StateSize {
    /// The variable.
    #[serde(rename = "variable")]
    pub variable_id: String,
    /// The element type and shape, such as `f32[?,2,?,16]`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether the size of the variable grows with the number of tokens.
    pub grows: bool,
    /// The number of bytes for a batch of one. If one axis other than the batch is dynamic, this is the
    /// number of bytes per token; if none is dynamic, the total; if several are dynamic, `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<usize>,
}

/// The variables of an inferred graph, in order, excluding variables of bodies.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f16, shape: \"B,4,T,16\"}\n  \
/// #             %old = ReadValue-6(%x) {variable_id: \"k\", variable_type: f16, variable_shape: \"?,4,?,16\"}\n  \
/// #             %new = Concat-1(%old, %x) {axis: 2}\n  %put = Assign-6(%new) {variable_id: \"k\"}\n  \
/// #             %y = Result-1(%new)\n}\n";
/// let mut model = snick::parse(text)?;
/// model.infer().into_result()?;
/// let states = snick::state_sizes(model.graph());
/// assert_eq!((states[0].bytes, states[0].grows), (Some(4 * 16 * 2), true));
/// # Ok::<(), snick::Error>(())
/// ```
pub fn state_sizes(graph: &Graph) -> Vec<StateSize> {
    let reads = graph.ids().filter_map(|id| match graph.node(id).op() {
        Op::ReadValue(op) => Some((&op.variable_id, &graph.node(id).outs().first()?.fact)),
        _ => None,
    });
    let sizes = reads.map(|(variable_id, fact)| {
        let kind = format!("{}{}", fact.element_type, fact.shape.display_intervals(graph.symbols()));
        let dims = fact.shape.dims();
        // A dynamic first axis is the batch.
        let sizes = dims.map(|dims| match dims {
            [first, rest @ ..] if first.as_const().is_none() => rest,
            all => all,
        });
        let open = sizes.map(|sizes| sizes.iter().filter(|dim| dim.as_const().is_none()).count());
        let known = sizes.into_iter().flatten().filter_map(|dim| usize::try_from(dim.as_const()?).ok());
        let elements = known.fold(1usize, usize::saturating_mul);
        let is_known = fact.element_type != ElementType::Dynamic && matches!(open, Some(0 | 1));
        StateSize {
            variable_id: variable_id.clone(),
            kind,
            bytes: fact.element_type.byte_len(elements).filter(|_| is_known),
            grows: open == Some(1),
        }
    });
    sizes.collect()
}
