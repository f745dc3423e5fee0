//! Decompresses weights directly in the wider type if the model decompresses them in half precision and then
//! converts them.
//!
//! OpenVINO and `snick run` compute half floats in f32 without intermediate rounding. ONNX Runtime rounds
//! each product of two half floats, and so do tools that fold constants ahead of time. For 4-bit weights,
//! this rounding causes the largest error of the whole model.

use snick_ir::ops::Convert;
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Graph, Op, OpError, Value};
use snick_tensor::ElementType;

/// If the result of a layer is converted from half floats to a wider type, converts the inputs of the layer
/// instead. Applies only to a layer that computes or moves weights and has no other reader.
pub(crate) const RULE: Rule = Rule::exact("decompress-in-wide-type", decompress).may_round_within(1e-5, 0.0);

/// Maximum number of layers between a constant and the decompressed weights.
const MAX_STEPS: usize = 8;

fn decompress(p: &mut Patch) -> Result<RewriteResult, OpError> {
    let Op::Convert(_) = p.node().op() else { return Ok(RewriteResult::NoMatch) };
    let (x, wide) = (p.input(0)?, p.element_type(p.output(0))?);
    let half = p.element_type(x)?;
    let goes_on = half.is_half() && matches!(wide, ElementType::F32 | ElementType::F64);
    if !goes_on || !p.is_read_once(x) || !is_weights(p.graph(), x) {
        return Ok(RewriteResult::NoMatch);
    }
    let op = p.op_of(x).clone();
    let mut inputs = p.inputs_of(x)?;
    if let Op::Convert(_) = op {
        // Merges two conversions only if the first one, to f16, is exact. Otherwise it rounds, and must be
        // kept.
        let from = p.element_type(inputs[0])?;
        return match half == ElementType::F16 && is_exact_in_f16(from) {
            true => p.add_op(Convert { destination_type: wide }, &inputs).map(RewriteResult::one),
            false => Ok(RewriteResult::NoMatch),
        };
    }
    if !(computes(&op) || moves(&op)) {
        return Ok(RewriteResult::NoMatch);
    }
    let data = if moves(&op) { 1 } else { inputs.len() };
    for input in inputs.iter_mut().take(data) {
        *input = p.convert(*input, wide)?;
    }
    p.add_op(op, &inputs).map(RewriteResult::one)
}

fn computes(op: &Op) -> bool {
    matches!(op, Op::Arithmetic(_)) && matches!(op.type_name(), "Add" | "Subtract" | "Multiply" | "Divide")
}

fn moves(op: &Op) -> bool {
    matches!(op, Op::Reshape(_) | Op::Transpose(_) | Op::Unsqueeze(_) | Op::Squeeze(_))
}

/// The integers and floats of at most 8 bits, except F8E8M0, whose powers of 2 exceed the range of f16.
fn is_exact_in_f16(element: ElementType) -> bool {
    use ElementType::{F4E2M1, F8E4M3, F8E5M2};
    let is_small = element.bit_width().is_some_and(|bits| bits <= 8);
    (is_small && element.is_integer()) || matches!(element, F4E2M1 | F8E4M3 | F8E5M2)
}

/// Whether a value is decompressed from constants.
pub(crate) fn is_weights(graph: &Graph, value: Value) -> bool {
    is_unpacked(graph, value, MAX_STEPS)
}

fn is_unpacked(graph: &Graph, value: Value, steps: usize) -> bool {
    let op = graph.node(value.node).op();
    let passes = matches!(op, Op::Convert(_)) || computes(op) || moves(op);
    matches!(op, Op::Const(_))
        || (passes
            && steps > 0
            && graph
                .inputs(value.node)
                .iter()
                .all(|input| input.is_some_and(|input| is_unpacked(graph, input, steps - 1))))
}
