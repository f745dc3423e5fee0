//! Weights that are decompressed in half precision, and then converted, are decompressed in the wider type at once.
//!
//! OpenVINO and `snick run` compute half floats in f32 and round nothing in between. ONNX Runtime rounds each product of
//! halves, and so does what computes with constants ahead of the run; for weights of 4 bits that is the greatest error of
//! the whole model.

use snick_ir::ops::Convert;
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Graph, Op, OpError, Value};
use snick_tensor::ElementType;

/// A Convert from a half float goes before the layer that it reads, if that computes or moves weights for it alone.
pub(crate) const RULE: Rule = Rule::exact("decompress-in-wide-type", decompress).may_round_within(1e-5, 0.0);

/// The longest way from a constant through what decompresses it.
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
        // Only of what half floats hold exactly: else the conversion rounds.
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

/// Integers of 8 bits or less, and floats of 8 bits or less but powers of 2, which reach further.
fn is_exact_in_f16(element: ElementType) -> bool {
    use ElementType::{F4E2M1, F8E4M3, F8E5M2};
    let is_small = element.bit_width().is_some_and(|bits| bits <= 8);
    (is_small && element.is_integer()) || matches!(element, F4E2M1 | F8E4M3 | F8E5M2)
}

/// Whether a value follows from constants by what decompresses weights.
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
