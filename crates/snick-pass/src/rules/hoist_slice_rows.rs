//! hoist-slice-rows: computes row-wise ops only for the rows that are read.

use smallvec::SmallVec;
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, OpError, Value, normalize_axis};
use snick_tensor::kernels::ReduceOp;

use crate::selection::Selection;

/// Moves a slice above an op that nobody else reads, along axes of which the op computes each index independently.
pub(crate) const RULE: Rule = Rule::exact("hoist-slice-rows", |patch| apply(patch, Sum::Same));

/// The same for ops that sum: fewer rows may be summed in another order.
pub(crate) const SUMS: Rule =
    Rule::exact("hoist-slice-sums", |patch| apply(patch, Sum::Rounds)).may_round_within(1e-5, 0.0);

/// Whether an op sums elements that round.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Sum {
    Same,
    Rounds,
}

/// By axis of the output, the axis of input 0 of which each index is computed independently.
type Rows = SmallVec<[Option<usize>; 4]>;

fn apply(patch: &mut Patch, sum: Sum) -> Result<RewriteResult, OpError> {
    // Most slices are of these two; `rows` accepts neither.
    let computes = |op: &Op| (!matches!(op, Op::Slice(_) | Op::Parameter(_))).then_some(());
    let Some((selection, computed, ())) = Selection::of_computed(patch, computes)? else {
        return Ok(RewriteResult::NoMatch);
    };
    let Some((rows, _)) = rows(patch, computed)?.filter(|(_, found)| *found == sum) else {
        return Ok(RewriteResult::NoMatch);
    };
    let (moves, stays) = selection.moved(|axis| rows.get(axis).copied().flatten());
    let mut inputs = patch.inputs_of(computed)?;
    let dims = patch.dims(inputs[0])?.unwrap_or_default();
    if !patch.is_read_once(computed) || !moves.shrinks(patch, &dims)? {
        return Ok(RewriteResult::NoMatch);
    }
    let op = patch.op_of(computed).clone();
    inputs[0] = moves.apply(patch, inputs[0])?;
    let computed = patch.add_op(op, &inputs)?;
    stays.apply(patch, computed).map(RewriteResult::one)
}

/// The rows of an op with one output, and whether it sums along them.
fn rows(patch: &Patch, value: Value) -> Result<Option<(Rows, Sum)>, OpError> {
    let op = patch.op_of(value);
    let data = patch.inputs_of(value)?.first().copied();
    let rank = data.map(|data| patch.dims(data)).transpose()?.flatten().map(|dims| dims.len());
    let Some((data, rank)) = data.zip(rank) else { return Ok(None) };
    let numbers = |input: usize| -> Result<Option<SmallVec<[i64; 4]>>, OpError> {
        Ok(patch.fact(patch.input_of(value, input)?)?.ints())
    };
    let but = |axes: &[i64]| -> Result<Rows, OpError> {
        let mut rows: Rows = (0..rank).map(Some).collect();
        for &axis in axes {
            rows[normalize_axis(axis, rank)?] = None;
        }
        Ok(rows)
    };
    // Integers wrap, whatever the order of the sum.
    let of_sum = match patch.fact(data)?.element_type.is_integer() {
        true => Sum::Same,
        false => Sum::Rounds,
    };
    let spatial: SmallVec<[i64; 4]> = (2..rank as i64).collect();
    Ok(match op {
        Op::Softmax(op) => Some((but(&[op.axis()])?, Sum::Rounds)),
        Op::LogSoftmax(op) => Some((but(&[op.axis])?, Sum::Rounds)),
        Op::CumSum(_) => numbers(1)?.map(|axes| but(&axes)).transpose()?.map(|rows| (rows, of_sum)),
        Op::NormalizeL2(_) => numbers(1)?.map(|axes| but(&axes)).transpose()?.map(|rows| (rows, Sum::Rounds)),
        Op::Mvn(op) if op.has_axes_input() => {
            numbers(1)?.map(|axes| but(&axes)).transpose()?.map(|rows| (rows, Sum::Rounds))
        }
        Op::Reduce(op) => numbers(1)?.map(|axes| but(&axes)).transpose()?.map(|mut rows| {
            if !op.keep_dims {
                rows.retain(|row| row.is_some());
            }
            let same = matches!(
                op.function,
                ReduceOp::Max | ReduceOp::Min | ReduceOp::LogicalAnd | ReduceOp::LogicalOr
            );
            (rows, if same { Sum::Same } else { of_sum })
        }),
        Op::MaxPool(op) if op.has_indices() => None,
        Op::MaxPool(_) => Some((but(&spatial)?, Sum::Same)),
        Op::AvgPool(_) => Some((but(&spatial)?, Sum::Rounds)),
        Op::Pad(_) => numbers(1)?.zip(numbers(2)?).map(|(begin, end)| {
            let is_padded = |axis: usize| begin.get(axis) != Some(&0) || end.get(axis) != Some(&0);
            ((0..rank).map(|axis| (!is_padded(axis)).then_some(axis)).collect(), Sum::Same)
        }),
        Op::Tile(_) => numbers(1)?.map(|repeats| {
            // Missing repeats and missing axes are 1, in front.
            let before = repeats.len().saturating_sub(rank);
            let row = |axis: usize| {
                let repeat = (axis + repeats.len()).checked_sub(rank.max(repeats.len()));
                let once = repeat.is_none_or(|at| repeats.get(at) == Some(&1));
                axis.checked_sub(before).filter(|_| once)
            };
            ((0..rank + before).map(row).collect(), Sum::Same)
        }),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{fires, silent};

    #[test]
    fn slices_along_independent_axes_are_hoisted() {
        let text = fires(
            "hoist-slice-sums",
            "%x = Parameter-1 {element_type: f32, shape: \"N,8,5,6\"}
             %a = SoftMax-8(%x) {axis: -1}
             %b = slice(%a) {axes: [1, 3], start: [2, 0], len: [3, 2], step: [2, 1]}
             %axes = Const-1 i64[2] <-1, 1>
             %c = ReduceSum-1(%x, %axes) {keep_dims: false}
             %d = slice(%c) {axes: [1], start: [4], len: [1], step: [1]}
             %y = Result-1(%b)
             %z = Result-1(%d)",
        );
        assert!(text.contains("slice(%x) {axes: [1], start: [2], len: [3], step: [2]}"), "{text}");
        assert!(text.contains("{axes: [3], start: [0], len: [2], step: [1]}"), "{text}");
        assert!(text.contains("slice(%x) {axes: [2], start: [4], len: [1], step: [1]}"), "{text}");
    }

    #[test]
    fn every_op_that_computes_rows_is_known() {
        let sums = "hoist-slice-sums";
        for (rule, element_type, layer) in [
            (sums, "f32", "SoftMax-8(%x) {axis: 2}"),
            (sums, "f32", "LogSoftmax-5(%x) {axis: 2}"),
            (sums, "f32", "CumSum-3(%x, %axis) {exclusive: false, reverse: false}"),
            ("hoist-slice-rows", "i32", "CumSum-3(%x, %axis) {exclusive: false, reverse: false}"),
            (sums, "f32", "NormalizeL2-1(%x, %axes) {eps: 0.5, eps_mode: max}"),
            (sums, "f32", "MVN-6(%x, %axes) {eps: 0.5, normalize_variance: true, eps_mode: INSIDE_SQRT}"),
            (sums, "f32", "ReduceMean-1(%x, %axes) {keep_dims: true}"),
            (
                sums,
                "f32",
                "AvgPool-1(%x) {kernel: [3], strides: [1], pads_begin: [0], pads_end: [0], rounding_type: floor, \"exclude-pad\": false}",
            ),
        ] {
            let layers = format!(
                "%x = Parameter-1 {{element_type: {element_type}, shape: \"N,8,5\"}}
                 %axis = Const-1 i64[] <2>
                 %axes = Const-1 i64[1] <2>
                 %a = {layer}
                 %b = slice(%a) {{axes: [1], start: [2], len: [3], step: [2]}}
                 %y = Result-1(%b)"
            );
            let text = fires(rule, &layers);
            assert!(text.contains("slice(%x) {axes: [1], start: [2], len: [3], step: [2]}"), "{text}");
        }
    }

    #[test]
    fn slices_are_hoisted_above_windows_pads_and_tiles() {
        let text = fires(
            "hoist-slice-rows",
            "%x = Parameter-1 {element_type: f32, shape: \"4,8,5\"}
             %p = MaxPool-1(%x) {kernel: \"3\", strides: \"1\", pads_begin: \"0\", pads_end: \"0\", rounding_type: floor}
             %a = slice(%p) {axes: [1], start: [7], len: [4], step: [-2]}
             %repeats = Const-1 i64[4] <2, 1, 2, 1>
             %t = Tile-1(%x, %repeats)
             %b = slice(%t) {axes: [0, 1, 3], start: [1, 0, 1], len: [1, 2, 3], step: [1, 1, 1]}
             %begin = Const-1 i64[3] <1, 0, 0>
             %end = Const-1 i64[3] <0, 0, 0>
             %q = Pad-12(%x, %begin, %end) {pad_mode: constant}
             %c = slice(%q) {axes: [0, 2], start: [0, 1], len: [2, 3], step: [1, 1]}
             %y = Result-1(%a)
             %z = Result-1(%b)
             %w = Result-1(%c)",
        );
        for part in [
            "slice(%x) {axes: [1], start: [7], len: [4], step: [-2]}",
            "slice(%x) {axes: [0,2], start: [0,1], len: [2,3], step: [1,1]}",
            "{axes: [0], start: [1], len: [1], step: [1]}",
            "slice(%x) {axes: [2], start: [1], len: [3], step: [1]}",
            "{axes: [0], start: [0], len: [2], step: [1]}",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn dependent_axes_and_shared_values_are_kept() {
        let layers = "%x = Parameter-1 {element_type: f32, shape: \"4,8,5\"}
             %a = SoftMax-8(%x) {axis: 1}
             %b = slice(%a) {axes: [1], start: [2], len: [3], step: [1]}
             %axis = Const-1 i64[] <0>
             %c = CumSum-3(%x, %axis) {exclusive: false, reverse: false}
             %d = slice(%c) {axes: [1], start: [2], len: [3], step: [1]}
             %one = Const-1 i64[1] <1>
             %e = ReduceMax-1(%x, %one) {keep_dims: true}
             %f = slice(%e) {axes: [1], start: [0], len: [0], step: [1]}
             %y = Result-1(%b)
             %z = Result-1(%c)
             %w = Result-1(%d)
             %v = Result-1(%f)";
        silent("hoist-slice-sums", layers);
        silent("hoist-slice-rows", layers);
    }
}
