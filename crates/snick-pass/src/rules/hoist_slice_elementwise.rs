//! hoist-slice-elementwise: computes element-wise ops only for the elements that are read.

use smallvec::SmallVec;
use snick_ir::ops::elementwise::auto_broadcast::AutoBroadcast;
use snick_ir::ops::slice::dyn_axis_slice::DynAxisSlice;
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{AttrValue, Op, OpError, OpTraits, Value};

use crate::selection::Selection;

/// Moves a slice above an element-wise op, Convert included, that nobody else reads.
pub(crate) const RULE: Rule = Rule::exact("hoist-slice-elementwise", apply);

fn apply(patch: &mut Patch) -> Result<RewriteResult, OpError> {
    let elementwise = |op: &Op| is_elementwise(op).then(|| op.clone());
    let Some((selection, computed, op)) = Selection::of_computed(patch, elementwise)? else {
        return Ok(RewriteResult::NoMatch);
    };
    if !patch.is_read_once(computed) {
        return Ok(RewriteResult::NoMatch);
    }
    let Some(dims) = patch.dims(computed)? else { return Ok(RewriteResult::NoMatch) };
    if !selection.shrinks(patch, &dims)? {
        return Ok(RewriteResult::NoMatch);
    }
    let mut operands: SmallVec<[(Value, Selection<DynAxisSlice>); 5]> = SmallVec::new();
    for input in patch.inputs_of(computed)? {
        let before = patch.dims(input)?.and_then(|operand| selection.before_broadcast(&operand, &dims));
        match before {
            Some(before) => operands.push((input, before)),
            None => return Ok(RewriteResult::NoMatch),
        }
    }
    let mut inputs: SmallVec<[Value; 5]> = SmallVec::new();
    for (input, selection) in operands {
        inputs.push(selection.apply(patch, input)?);
    }
    patch.add_op(op, &inputs).map(RewriteResult::one)
}

/// Whether the op is element-wise under numpy broadcasting.
pub(crate) fn is_elementwise(op: &Op) -> bool {
    let is_numpy = |broadcast: &AttrValue| *broadcast == AutoBroadcast::Numpy.word().into();
    op.has(OpTraits::ELEMENTWISE) && op.attrs().get(AutoBroadcast::NAME).is_none_or(is_numpy)
}

#[cfg(test)]
mod tests {
    use crate::testing::{fires, silent};

    #[test]
    fn broadcast_axes_of_operands_are_not_sliced() {
        let text = fires(
            "hoist-slice-elementwise",
            "%x = Parameter-1 {element_type: f32, shape: \"N,8,5\"}
             %b = Parameter-1 {element_type: f32, shape: \"8,1\"}
             %a = Add-1(%x, %b)
             %r = ReLU-1(%a)
             %s = slice(%r) {axes: [1, 2], start: [2, 0], len: [3, 2], step: [2, 1]}
             %y = Result-1(%s)",
        );
        assert!(text.contains("slice(%x) {axes: [1,2], start: [2,0], len: [3,2], step: [2,1]}"), "{text}");
        assert!(text.contains("slice(%b) {axes: [0], start: [2], len: [3], step: [2]}"), "{text}");
    }

    #[test]
    fn slices_with_dynamic_bounds_are_hoisted() {
        let text = fires(
            "hoist-slice-elementwise",
            "%x = Parameter-1 {element_type: f32, shape: \"N=2..9,8\"}
             %s = ShapeOf-3(%x) {output_type: i64}
             %zero = Const-1 i64[] <0>
             %n = Gather-8(%s, %zero, %zero) {batch_dims: 0}
             %one = Const-1 i64[] <1>
             %m = Subtract-1(%n, %one)
             %a = ReLU-1(%x)
             %t = slice(%a, %m) {axes: [0, 1], start: [1, 0], len: [\"in 1..8\", \"3\"], step: [1, 2]}
             %y = Result-1(%t)",
        );
        let moved = "slice(%x, %m) {axes: [0,1], start: [1,0], len: [\"in 1..8\",\"3\"], step: [1,2]}";
        assert!(text.contains(moved), "{text}");
    }

    #[test]
    fn shared_values_and_useless_moves_are_kept() {
        silent(
            "hoist-slice-elementwise",
            "%x = Parameter-1 {element_type: f32, shape: \"8\"}
             %z = Parameter-1 {element_type: f32, shape: \"?\"}
             %a = ReLU-1(%x)
             %s = slice(%a) {axes: [0], start: [0], len: [3], step: [1]}
             %b = ReLU-1(%x)
             %t = slice(%b) {axes: [0], start: [7], len: [8], step: [-1]}
             %c = Add-1(%x, %z)
             %u = slice(%c) {axes: [0], start: [0], len: [3], step: [1]}
             %r0 = Result-1(%a)
             %r1 = Result-1(%s)
             %r2 = Result-1(%t)
             %r3 = Result-1(%u)",
        );
    }
}
