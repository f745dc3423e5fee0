//! concat-of-slices: replaces a Concat of adjacent slices of one tensor with a single slice, or with the
//! tensor itself.

use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, OpError, Value, normalize_axis};
use snick_shape::{AxisSlice, SymExpr};

use crate::selection::Selection;

/// Joins an input with the previous one if its slice continues where the previous slice ends. Drops empty
/// inputs.
pub(crate) const RULE: Rule = Rule::exact("concat-of-slices", apply);

/// Consecutive inputs of a Concat that together form one slice of a tensor.
struct Piece {
    /// The input of the Concat, if the piece consists of a single input.
    input: Option<Value>,
    source: Value,
    /// The slice on all axes except the concatenation axis.
    others: Selection,
    /// The slice on the concatenation axis; `None` if dynamic.
    slice: Option<AxisSlice>,
}

fn apply(patch: &mut Patch) -> Result<RewriteResult, OpError> {
    let Op::Concat(concat) = patch.node().op() else { return Ok(RewriteResult::NoMatch) };
    let Some(dims) = patch.dims(patch.output(0))? else { return Ok(RewriteResult::NoMatch) };
    let (axis, concat) = (normalize_axis(concat.axis, dims.len())?, concat.clone());
    let inputs = patch.inputs_of(patch.output(0))?;
    let mut pieces: Vec<Piece> = Vec::with_capacity(inputs.len());
    for &input in &inputs {
        let next = piece(patch, input, axis)?;
        let joined = pieces.last().and_then(|last| joined(last, &next));
        match (pieces.last_mut(), joined) {
            (Some(last), Some(slice)) => (last.input, last.slice) = (None, Some(slice)),
            _ => pieces.push(next),
        }
    }
    if pieces.len() > 1 {
        let some = pieces.iter().position(|piece| !is_empty(piece)).unwrap_or(0);
        let mut at = 0;
        pieces.retain(|piece| {
            at += 1;
            at - 1 == some || !is_empty(piece)
        });
    }
    if pieces.len() == inputs.len() {
        return Ok(RewriteResult::NoMatch);
    }
    let mut values = Vec::with_capacity(pieces.len());
    for Piece { input, source, others, slice } in pieces {
        values.push(match (input, slice) {
            (None, Some(slice)) => others.with(axis, slice).apply(patch, source)?,
            (input, _) => input.unwrap_or(source),
        });
    }
    match values.as_slice() {
        [value] => Ok(RewriteResult::one(*value)),
        values => patch.add_op(concat, values).map(RewriteResult::one),
    }
}

fn piece(patch: &Patch, input: Value, axis: usize) -> Result<Piece, OpError> {
    if let Some(selection) = Selection::of(patch.op_of(input)) {
        let source = patch.input_of(input, 0)?;
        let slice = match selection.on(axis) {
            Some(slice) => Some(*slice),
            None => whole(patch, source, axis)?,
        };
        return Ok(Piece { input: Some(input), source, others: selection.without(axis), slice });
    }
    let slice = whole(patch, input, axis)?;
    Ok(Piece { input: Some(input), source: input, others: Selection::default(), slice })
}

fn whole(patch: &Patch, value: Value, axis: usize) -> Result<Option<AxisSlice>, OpError> {
    let dim = patch.dims(value)?.and_then(|dims| dims.get(axis).and_then(SymExpr::as_const));
    Ok(dim.map(AxisSlice::whole))
}

fn is_empty(piece: &Piece) -> bool {
    piece.slice.is_some_and(|slice| slice.len == 0)
}

/// The slice that two pieces of the same tensor form together, if the second continues where the first ends.
fn joined(first: &Piece, second: &Piece) -> Option<AxisSlice> {
    if first.source != second.source || first.others != second.others {
        return None;
    }
    let (a, b) = (first.slice?, second.slice?);
    if a.len == 0 || b.len == 0 {
        return None;
    }
    let step = match (a.len, b.len) {
        (1, 1) => b.start.checked_sub(a.start)?,
        (1, _) => b.step,
        _ => a.step,
    };
    let follows = a.start.checked_add(a.len.checked_mul(step)?)? == b.start && (b.len == 1 || b.step == step);
    (follows && step != 0).then_some(AxisSlice { start: a.start, len: a.len.checked_add(b.len)?, step })
}

#[cfg(test)]
mod tests {
    use crate::testing::{fires, silent};

    #[test]
    fn adjacent_slices_are_joined() {
        let text = fires(
            "concat-of-slices",
            "%x = Parameter-1 {element_type: f32, shape: \"4,N\"}
             %a = slice(%x) {axes: [0], start: [0], len: [1], step: [1]}
             %b = slice(%x) {axes: [0], start: [1], len: [3], step: [1]}
             %c = Concat-1(%a, %b) {axis: 0}
             %d = Concat-1(%b, %a, %x) {axis: 0}
             %e = slice(%x) {axes: [0], start: [3], len: [1], step: [1]}
             %f = Concat-1(%a, %e, %b) {axis: 0}
             %y = Result-1(%c)
             %z = Result-1(%d)
             %w = Result-1(%f)",
        );
        assert!(text.contains("%y = Result-1(%x)"), "{text}");
        assert!(text.contains("slice(%x) {axes: [0], start: [0], len: [2], step: [3]}"), "{text}");
        assert!(text.contains("%d = Concat-1(%b, %a, %x)"), "{text}");
    }

    #[test]
    fn empty_inputs_are_dropped() {
        let text = fires(
            "concat-of-slices",
            "%x = Parameter-1 {element_type: f32, shape: \"4,N\"}
             %none = slice(%x) {axes: [0], start: [0], len: [0], step: [1]}
             %a = slice(%x) {axes: [0], start: [0], len: [2], step: [1]}
             %b = Concat-1(%none, %a) {axis: 0}
             %c = Concat-1(%a, %none) {axis: 0}
             %y = Result-1(%b)
             %z = Result-1(%c)",
        );
        assert!(text.contains("%y = Result-1(%a)") && text.contains("%z = Result-1(%a)"), "{text}");
    }

    #[test]
    fn gaps_and_other_axes_are_kept() {
        silent(
            "concat-of-slices",
            "%x = Parameter-1 {element_type: f32, shape: \"4,4\"}
             %a = slice(%x) {axes: [0], start: [0], len: [2], step: [1]}
             %b = slice(%x) {axes: [0], start: [3], len: [1], step: [1]}
             %c = Concat-1(%a, %b) {axis: 0}
             %d = slice(%x) {axes: [0, 1], start: [0, 0], len: [2, 2], step: [1, 1]}
             %e = slice(%x) {axes: [0, 1], start: [2, 1], len: [2, 2], step: [1, 1]}
             %f = Concat-1(%d, %e) {axis: 0}
             %y = Result-1(%c)
             %z = Result-1(%f)",
        );
    }
}
