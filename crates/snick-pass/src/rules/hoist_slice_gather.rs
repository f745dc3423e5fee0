//! hoist-slice-gather: gathers only the elements that are read.

use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, OpError, normalize_axis};

use crate::selection::Selection;

/// Moves a slice above a Gather without batch axes that nobody else reads: to the data on axes other than the gathered
/// one, to the indices on their axes.
pub(crate) const RULE: Rule = Rule::exact("hoist-slice-gather", apply);

fn apply(patch: &mut Patch) -> Result<RewriteResult, OpError> {
    let gather = |op: &Op| if let Op::Gather(op) = op { Some(op.clone()) } else { None };
    let Some((selection, gathered, gather)) = Selection::of_computed(patch, gather)? else {
        return Ok(RewriteResult::NoMatch);
    };
    let inputs = patch.inputs_of(gathered)?;
    let &[data, indices, axis] = inputs.as_slice() else { return Ok(RewriteResult::NoMatch) };
    let (Some(dims), Some(places), Some(out), Some(known)) =
        (patch.dims(data)?, patch.dims(indices)?, patch.dims(gathered)?, patch.fact(axis)?.ints())
    else {
        return Ok(RewriteResult::NoMatch);
    };
    let &[at] = known.as_slice() else { return Ok(RewriteResult::NoMatch) };
    let at = normalize_axis(at, dims.len())?;
    if gather.batch_dims != 0 || !patch.is_read_once(gathered) || !selection.shrinks(patch, &out)? {
        return Ok(RewriteResult::NoMatch);
    }
    let behind = at + places.len();
    let (of_indices, rest) = selection.moved(|axis| axis.checked_sub(at).filter(|_| axis < behind));
    let (of_data, _) = rest.moved(|axis| Some(if axis < at { axis } else { axis + 1 - places.len() }));
    let (data, indices) = (of_data.apply(patch, data)?, of_indices.apply(patch, indices)?);
    patch.add_op(gather, &[data, indices, axis]).map(RewriteResult::one)
}

#[cfg(test)]
mod tests {
    use crate::testing::{fires, silent};

    #[test]
    fn data_and_index_axes_are_hoisted() {
        let text = fires(
            "hoist-slice-gather",
            "%x = Parameter-1 {element_type: f32, shape: \"6,9,N\"}
             %i = Parameter-1 {element_type: i64, shape: \"3,4\"}
             %axis = Const-1 i64[] <1>
             %a = Gather-8(%x, %i, %axis) {batch_dims: 0}
             %s = slice(%a) {axes: [0, 2], start: [5, 1], len: [3, 2], step: [-2, 2]}
             %y = Result-1(%s)",
        );
        assert!(text.contains("slice(%x) {axes: [0], start: [5], len: [3], step: [-2]}"), "{text}");
        assert!(text.contains("slice(%i) {axes: [1], start: [1], len: [2], step: [2]}"), "{text}");
        // With `places` axes of indices in place of one, the axes behind it are elsewhere in the data.
        for (places, behind) in [("", 1), ("3,4", 3)] {
            let layers = format!(
                "%x = Parameter-1 {{element_type: f32, shape: \"6,9,8\"}}
                 %i = Parameter-1 {{element_type: i64, shape: \"{places}\"}}
                 %axis = Const-1 i64[] <1>
                 %a = Gather-8(%x, %i, %axis) {{batch_dims: 0}}
                 %s = slice(%a) {{axes: [{behind}], start: [1], len: [2], step: [3]}}
                 %y = Result-1(%s)"
            );
            let text = fires("hoist-slice-gather", &layers);
            assert!(text.contains("slice(%x) {axes: [2], start: [1], len: [2], step: [3]}"), "{text}");
        }
    }

    #[test]
    fn batches_and_shared_values_are_kept() {
        silent(
            "hoist-slice-gather",
            "%x = Parameter-1 {element_type: f32, shape: \"6,9\"}
             %i = Parameter-1 {element_type: i64, shape: \"6,4\"}
             %axis = Const-1 i64[] <1>
             %a = Gather-8(%x, %i, %axis) {batch_dims: 1}
             %s = slice(%a) {axes: [0], start: [0], len: [3], step: [1]}
             %b = Gather-8(%x, %i, %axis) {batch_dims: 0}
             %t = slice(%b) {axes: [0], start: [0], len: [3], step: [1]}
             %y = Result-1(%s)
             %z = Result-1(%t)
             %w = Result-1(%b)",
        );
    }
}
