//! hoist-slice-broadcast: broadcasts only the elements that are read.

use snick_ir::ops::shape::broadcast::BroadcastMode;
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, OpError};

use crate::selection::Selection;

/// Moves a slice above a Broadcast to a static shape that nobody else reads.
pub(crate) const RULE: Rule = Rule::exact("hoist-slice-broadcast", apply);

fn apply(patch: &mut Patch) -> Result<RewriteResult, OpError> {
    let Some(selection) = Selection::of(patch.node().op()) else { return Ok(RewriteResult::NoMatch) };
    let expanded = patch.input(0)?;
    let Op::Broadcast(broadcast) = patch.op_of(expanded) else { return Ok(RewriteResult::NoMatch) };
    if !matches!(broadcast.mode(), BroadcastMode::Numpy | BroadcastMode::Bidirectional) {
        return Ok(RewriteResult::NoMatch);
    }
    let op = patch.op_of(expanded).clone();
    let (data, dims) = (patch.input_of(expanded, 0)?, patch.dims(expanded)?.unwrap_or_default());
    let target = patch.fact(patch.output(0))?.shape.as_static();
    let before = patch.dims(data)?.and_then(|operand| selection.before_broadcast(&operand, &dims));
    let (Some(target), Some(before)) = (target, before) else { return Ok(RewriteResult::NoMatch) };
    if !patch.is_read_once(expanded) || !selection.shrinks(patch, &dims)? {
        return Ok(RewriteResult::NoMatch);
    }
    let sizes: Vec<i64> = target.iter().map(|&dim| dim as i64).collect();
    let (data, target) = (before.apply(patch, data)?, patch.ints(&sizes)?);
    patch.add_op(op, &[data, target]).map(RewriteResult::one)
}

#[cfg(test)]
mod tests {
    use crate::testing::{fires, silent};

    #[test]
    fn broadcast_and_other_axes_are_hoisted() {
        let text = fires(
            "hoist-slice-broadcast",
            "%x = Parameter-1 {element_type: f32, shape: \"6,1\"}
             %to = Const-1 i64[3] <2, 6, 9>
             %b = Broadcast-3(%x, %to) {mode: numpy}
             %s = slice(%b) {axes: [1, 2], start: [1, 4], len: [3, 5], step: [2, 1]}
             %y = Result-1(%s)",
        );
        assert!(text.contains("slice(%x) {axes: [0], start: [1], len: [3], step: [2]}"), "{text}");
        assert!(text.contains("<2, 3, 5>"), "{text}");
    }

    #[test]
    fn dynamic_and_shared_targets_are_kept() {
        silent(
            "hoist-slice-broadcast",
            "%x = Parameter-1 {element_type: f32, shape: \"6,1\"}
             %n = Parameter-1 {element_type: f32, shape: \"N,6,9\"}
             %to = ShapeOf-3(%n) {output_type: i64}
             %b = Broadcast-3(%x, %to) {mode: numpy}
             %s = slice(%b) {axes: [1], start: [1], len: [3], step: [2]}
             %y = Result-1(%s)",
        );
        let sliced = "%x = Parameter-1 {element_type: f32, shape: \"6,1\"}
             %to = Const-1 i64[3] <2, 6, 9>
             %b = Broadcast-3(%x, %to) {mode: numpy}
             %s = slice(%b) {axes: [1], start: [5], len: [3], step: [-1]}
             %y = Result-1(%s)";
        silent("hoist-slice-broadcast", &format!("{sliced}\n%z = Result-1(%b)"));
        // The whole axis in reverse: nothing is saved.
        silent("hoist-slice-broadcast", &sliced.replace("len: [3]", "len: [6]"));
    }
}
