//! Propagates known elements through ops that only move elements, by running the op on element positions.

use snick_shape::{Shape, SymExpr};
use snick_tensor::Tensor;

use crate::fact::MAX_ELEMENTS;
use crate::{EvalOp, Infer};

/// The known elements of the op's first output, whose shape is `shape`. Evaluates the op on element positions
/// in place of the inputs listed in `data`, and maps each position back to its expression. All other inputs
/// must be constant. Elements that the op creates become 0. Returns `None` if nothing is known, or if all
/// inputs are constant and will be folded.
pub(crate) fn propagate_elements<O: EvalOp>(
    op: &O,
    cx: &mut Infer,
    data: &[usize],
    shape: &Shape,
) -> Option<Vec<SymExpr>> {
    let known = data.iter().filter_map(|&i| cx.optional(i)).any(|fact| fact.known.is_some());
    let constant = cx.inputs().iter().all(|fact| fact.as_tensor().is_some());
    if !known || constant || !is_small(shape) {
        return None;
    }
    // Position 0 is reserved for elements that come from no input.
    let mut elements = vec![SymExpr::from(0)];
    let mut inputs = Vec::with_capacity(cx.len());
    for (i, fact) in cx.inputs().iter().enumerate() {
        if data.contains(&i) {
            let dims = fact.shape.as_static()?;
            let first = i64::try_from(elements.len()).ok()?;
            elements.extend(cx.elements_or_unknown(i)?);
            let last = i64::try_from(elements.len()).ok()?;
            inputs.push(Tensor::from_vec(&dims, (first..last).collect()).ok()?);
        } else {
            inputs.push(Tensor::clone(fact.as_tensor()?));
        }
    }
    let moved = op.eval(&inputs).ok()?.into_iter().next()?;
    let positions = moved.to_i64_vec().ok()?.into_iter();
    positions.map(|at| elements.get(usize::try_from(at).ok()?).cloned()).collect()
}

/// Whether the shape is small enough to track its elements.
fn is_small(shape: &Shape) -> bool {
    let count = shape.as_static().and_then(|dims| dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d)));
    count.is_some_and(|count| count <= MAX_ELEMENTS)
}

#[cfg(test)]
mod tests {
    use crate::{infer, text};

    /// The shape of the last layer.
    fn shape_of_last(layers: &str) -> String {
        let mut graph = text::parse(&format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n"), None).unwrap();
        assert_eq!(infer(&mut graph), []);
        let last = graph.ids().last().unwrap();
        graph.node(last).outs()[0].fact.shape.display(graph.symbols()).to_string()
    }

    #[test]
    fn what_the_op_makes_is_no_element_of_its_input() {
        let sizes = "%x = Parameter-1 {element_type: f32, shape: \"N,2\"}
            %shape = ShapeOf-3(%x) {output_type: i64}
            %axis = Const-1 i64[] <0>
            %one = Const-1 f32[] <1>";
        let gathered = "%at = Const-1 i64[3] <5, 0, 1>
            %sizes = Gather-1(%shape, %at, %axis)
            %y = Broadcast-3(%one, %sizes) {mode: numpy}";
        assert_eq!(shape_of_last(&format!("{sizes}\n{gathered}")), "[0,N,2]");
        let padded = "%before = Const-1 i64[1] <1>
            %after = Const-1 i64[1] <0>
            %sizes = Pad-1(%shape, %before, %after) {pad_mode: constant}
            %y = Broadcast-3(%one, %sizes) {mode: numpy}";
        assert_eq!(shape_of_last(&format!("{sizes}\n{padded}")), "[0,N,2]");
    }
}
