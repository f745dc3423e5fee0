//! hoist-slice-transpose: a slice of a Transpose is a Transpose of a slice.

use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, OpError};

use crate::layout::pays;
use crate::selection::Selection;

/// Moves a slice above a Transpose that nobody else reads, towards a layer that it makes cheaper.
pub(crate) const RULE: Rule = Rule::exact("hoist-slice-transpose", apply);

fn apply(patch: &mut Patch) -> Result<RewriteResult, OpError> {
    let transpose = |op: &Op| if let Op::Transpose(op) = op { Some(op.clone()) } else { None };
    let Some((selection, turned, transpose)) = Selection::of_computed(patch, transpose)? else {
        return Ok(RewriteResult::NoMatch);
    };
    let (data, order) = (patch.input_of(turned, 0)?, patch.input_of(turned, 1)?);
    let (Some(dims), Some(known)) = (patch.dims(data)?, patch.fact(order)?.ints()) else {
        return Ok(RewriteResult::NoMatch);
    };
    if !patch.is_read_once(turned) || !pays(patch, data)? {
        return Ok(RewriteResult::NoMatch);
    }
    // An empty order reverses the axes.
    let source = |axis: usize| match known.as_slice() {
        [] => dims.len().checked_sub(axis + 1),
        known => known.get(axis).and_then(|&at| usize::try_from(at).ok()),
    };
    let (moved, stays) = selection.moved(source);
    if !stays.is_whole() {
        return Ok(RewriteResult::NoMatch);
    }
    let sliced = moved.apply(patch, data)?;
    patch.add_op(transpose, &[sliced, order]).map(RewriteResult::one)
}

#[cfg(test)]
mod tests {
    use crate::testing::{fires, silent};

    #[test]
    fn slices_that_make_a_layer_cheaper_are_hoisted() {
        let text = fires(
            "hoist-slice-transpose",
            "%x = Parameter-1 {element_type: f32, shape: \"2,N,5\"}
             %a = ReLU-1(%x)
             %order = Const-1 i64[3] <2, 0, 1>
             %t = Transpose-1(%a, %order)
             %s = slice(%t) {axes: [0, 1], start: [4, 1], len: [3, 1], step: [-2, 1]}
             %y = Result-1(%s)",
        );
        assert!(text.contains("slice(%a) {axes: [0,2], start: [1,4], len: [1,3], step: [1,-2]}"), "{text}");
    }

    #[test]
    fn slices_of_a_transposed_input_are_kept() {
        silent(
            "hoist-slice-transpose",
            "%x = Parameter-1 {element_type: f32, shape: \"2,5\"}
             %order = Const-1 i64[2] <1, 0>
             %t = Transpose-1(%x, %order)
             %s = slice(%t) {axes: [0], start: [1], len: [2], step: [1]}
             %y = Result-1(%s)",
        );
    }
}
