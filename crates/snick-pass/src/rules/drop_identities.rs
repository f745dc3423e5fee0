//! drop-identities: removes layers that return their input.

use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, OpError, Value};
use snick_tensor::ElementType;

use crate::selection::Selection;

/// Removes slices that select everything, reshapes to the same shape, transposes that do not permute axes,
/// conversions to the same type, and similar layers.
pub(crate) const RULE: Rule = Rule::exact("drop-identities", apply);

fn apply(patch: &mut Patch) -> Result<RewriteResult, OpError> {
    let is_identity = match patch.node().op() {
        Op::Identity(_) => true,
        Op::DepthToSpace(op) => op.blocks.block_size == 1,
        Op::SpaceToDepth(op) => op.blocks.block_size == 1,
        Op::ShuffleChannels(op) => op.group == 1,
        Op::Concat(_) => patch.try_input(1).is_none(),
        Op::Slice(slice) => match Selection::of(patch.node().op()) {
            Some(selection) if slice.axes.is_empty() || same_shape(patch)? => {
                return narrowed(patch, &selection);
            }
            _ => false,
        },
        Op::Convert(_) => {
            let (from, to) = (patch.fact(patch.input(0)?)?, patch.fact(patch.output(0))?);
            from.element_type == to.element_type && from.element_type != ElementType::Dynamic
        }
        Op::Transpose(_) => {
            let order = patch.fact(patch.input(1)?)?.ints();
            order.is_some_and(|order| !order.is_empty() && order.iter().copied().eq(0..order.len() as i64))
        }
        Op::Reshape(_) | Op::Squeeze(_) | Op::Unsqueeze(_) | Op::Broadcast(_) | Op::Tile(_) => {
            same_shape(patch)?
        }
        Op::Pad(_) => {
            let is_zero = |value: Value| -> Result<bool, OpError> {
                Ok(patch.fact(value)?.ints().is_some_and(|pads| pads.iter().all(|&pad| pad == 0)))
            };
            is_zero(patch.input(1)?)? && is_zero(patch.input(2)?)?
        }
        _ => false,
    };
    Ok(if is_identity { RewriteResult::one(patch.input(0)?) } else { RewriteResult::NoMatch })
}

/// Whether the input and the output always have the same shape.
fn same_shape(patch: &Patch) -> Result<bool, OpError> {
    let (data, out) = (patch.fact(patch.input(0)?)?, patch.fact(patch.output(0))?);
    Ok(data.shape.dims().is_some() && data.shape == out.shape)
}

/// Removes from a slice the axes that it selects as a whole.
fn narrowed(patch: &mut Patch, selection: &Selection) -> Result<RewriteResult, OpError> {
    let data = patch.input(0)?;
    let before = selection.iter().count();
    let new = selection.apply(patch, data)?;
    let after =
        if new == data { 0 } else { Selection::of(patch.op_of(new)).map_or(before, |s| s.iter().count()) };
    Ok(if after < before || new == data { RewriteResult::one(new) } else { RewriteResult::NoMatch })
}

#[cfg(test)]
mod tests {
    use crate::testing::{fires, silent};

    #[test]
    fn identities_are_dropped() {
        let text = fires(
            "drop-identities",
            "%x = Parameter-1 {element_type: f32, shape: \"N,3\"}
             %order = Const-1 i64[2] <0, 1>
             %same = Const-1 i64[2] <0, 3>
             %zero = Const-1 i64[2] <0, 0>
             %a = slice(%x) {axes: [1], start: [0], len: [3], step: [1]}
             %b = Transpose-1(%a, %order)
             %c = Reshape-1(%b, %same) {special_zero: true}
             %d = Convert-1(%c) {destination_type: f32}
             %e = Pad-1(%d, %zero, %zero) {pad_mode: edge}
             %f = Concat-1(%e) {axis: 0}
             %y = Result-1(%f)",
        );
        assert!(text.contains("%y = Result-1(%x)"), "{text}");
    }

    #[test]
    fn layers_with_an_effect_are_kept() {
        silent(
            "drop-identities",
            "%x = Parameter-1 {element_type: f32, shape: \"3,3\"}
             %turn = Const-1 i64[2] <1, 0>
             %there = Const-1 i64[2] <1, 0>
             %back = Const-1 i64[2] <-1, 0>
             %a = slice(%x) {axes: [1], start: [2], len: [3], step: [-1]}
             %b = Transpose-1(%a, %turn)
             %c = Pad-12(%b, %there, %back) {pad_mode: edge}
             %d = Convert-1(%c) {destination_type: f16}
             %y = Result-1(%d)",
        );
    }
}
