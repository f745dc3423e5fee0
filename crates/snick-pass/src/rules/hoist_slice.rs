//! The hoist-slice rules: move a slice above an op, so that the op only computes the elements that are read.

use snick_ir::ops::slice::dyn_axis_slice::DynAxisSlice;
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, OpError, OpTraits};

use crate::layout::{is_view, pays};
use crate::selection::Selection;

/// Moves a slice above an elementwise op or a Convert that has no other readers.
pub(crate) const ELEMENTWISE: Rule =
    Rule::exact("hoist-slice-elementwise", |patch| hoist(patch, |op| op.has(OpTraits::ELEMENTWISE), false));

/// Moves a slice above a Broadcast whose sliced output is static.
pub(crate) const BROADCAST: Rule =
    Rule::exact("hoist-slice-broadcast", |patch| hoist(patch, |op| matches!(op, Op::Broadcast(_)), false));

/// Moves a slice above an op without a rule of its own, along axes on which the op computes each index
/// independently.
pub(crate) const ROWS: Rule = Rule::exact("hoist-slice-rows", |patch| hoist(patch, is_of_rows, false));

/// Like [`ROWS`], for ops that sum. With fewer rows, such an op may sum in a different order.
pub(crate) const SUMS: Rule =
    Rule::exact("hoist-slice-sums", |patch| hoist(patch, is_of_rows, true)).may_round_within(1e-5, 0.0);

/// Moves a slice above a Gather: slices its data and its indices.
pub(crate) const GATHER: Rule =
    Rule::exact("hoist-slice-gather", |patch| hoist(patch, |op| matches!(op, Op::Gather(_)), false));

/// Moves a slice above a MatMul. A smaller matrix multiplication may sum in a different order.
pub(crate) const MATMUL: Rule =
    Rule::exact("hoist-slice-matmul", |patch| hoist(patch, |op| matches!(op, Op::MatMul(_)), true))
        .may_round_within(1e-5, 0.0);

/// Moves a slice above a Transpose, towards a layer that the slice makes cheaper.
pub(crate) const TRANSPOSE: Rule =
    Rule::exact("hoist-slice-transpose", |patch| hoist(patch, |op| matches!(op, Op::Transpose(_)), false));

fn is_of_rows(op: &Op) -> bool {
    let has_own_rule = op.has(OpTraits::ELEMENTWISE)
        || matches!(op, Op::Broadcast(_) | Op::Gather(_) | Op::MatMul(_) | Op::Transpose(_));
    // Most slices read one of these two ops. Excluding them here saves time, because they have no axis map.
    !has_own_rule && !matches!(op, Op::Slice(_) | Op::Parameter(_))
}

/// Moves the matched slice above the op whose output it slices, if `accepts` allows this op and the op has no
/// other reader. Output axes without a corresponding input axis are still sliced after the op.
fn hoist(patch: &mut Patch, accepts: fn(&Op) -> bool, may_round: bool) -> Result<RewriteResult, OpError> {
    let Some((selection, computed, ())) = Selection::of_computed(patch, |op| accepts(op).then_some(()))?
    else {
        return Ok(RewriteResult::NoMatch);
    };
    if !patch.is_read_once(computed) {
        return Ok(RewriteResult::NoMatch);
    }
    let Some(map) = patch.graph().axis_map(computed.node).filter(|map| may_round || !map.rounds) else {
        return Ok(RewriteResult::NoMatch);
    };
    let (moves, stays) = selection.split(|axis| map.source(axis).is_some());
    let mut inputs = patch.inputs_of(computed)?;
    let saves = match is_view(patch.op_of(computed)) {
        true => !moves.is_whole() && pays(patch, inputs[0])?,
        false => moves.shrinks(patch, &patch.dims(computed)?.unwrap_or_default())?,
    };
    if !saves {
        return Ok(RewriteResult::NoMatch);
    }
    let sizes = match map.sizes {
        None => None,
        Some(port) => match patch.fact(patch.output(0))?.shape.as_static().filter(|_| stays.is_whole()) {
            None => return Ok(RewriteResult::NoMatch),
            Some(sizes) => Some((port, sizes)),
        },
    };
    let mut by_input: Vec<Vec<(usize, DynAxisSlice)>> = vec![Vec::new(); inputs.len()];
    for (axis, slice) in moves.iter() {
        for &(input, at) in map.source(axis).iter().flat_map(|factor| &factor.inputs) {
            by_input[input].push((at, *slice));
        }
    }
    let op = patch.op_of(computed).clone();
    for (input, axes) in inputs.iter_mut().zip(by_input) {
        *input = Selection::new(axes).apply(patch, *input)?;
    }
    if let Some((port, sizes)) = sizes {
        let sizes: Vec<i64> = sizes.iter().map(|&size| size as i64).collect();
        inputs[port] = patch.ints(&sizes)?;
    }
    let computed = patch.add_op(op, &inputs)?;
    stays.apply(patch, computed).map(RewriteResult::one)
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
        // A slice that only reverses an axis does not save anything.
        silent("hoist-slice-broadcast", &sliced.replace("len: [3]", "len: [6]"));
    }

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
        // Unless `places` has exactly one axis, later axes of the output are at other positions in the data.
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
    fn batches_are_hoisted_to_data_and_indices() {
        let text = fires(
            "hoist-slice-gather",
            "%x = Parameter-1 {element_type: f32, shape: \"6,9\"}
             %i = Parameter-1 {element_type: i64, shape: \"6,4\"}
             %axis = Const-1 i64[] <1>
             %a = Gather-8(%x, %i, %axis) {batch_dims: -1}
             %s = slice(%a) {axes: [0, 1], start: [0, 2], len: [3, 2], step: [1, 1]}
             %y = Result-1(%s)",
        );
        assert!(text.contains("slice(%x) {axes: [0], start: [0], len: [3], step: [1]}"), "{text}");
        assert!(text.contains("slice(%i) {axes: [0,1], start: [0,2], len: [3,2], step: [1,1]}"), "{text}");
    }

    #[test]
    fn shared_gathers_are_kept() {
        silent(
            "hoist-slice-gather",
            "%x = Parameter-1 {element_type: f32, shape: \"6,9\"}
             %i = Parameter-1 {element_type: i64, shape: \"6,4\"}
             %axis = Const-1 i64[] <1>
             %b = Gather-8(%x, %i, %axis) {batch_dims: 0}
             %t = slice(%b) {axes: [0], start: [0], len: [3], step: [1]}
             %z = Result-1(%t)
             %w = Result-1(%b)",
        );
    }

    #[test]
    fn rows_columns_and_batches_are_hoisted() {
        let text = fires(
            "hoist-slice-matmul",
            "%a = Parameter-1 {element_type: f32, shape: \"1,4,6\"}
             %b = Parameter-1 {element_type: f32, shape: \"7,5,4\"}
             %p = MatMul-1(%a, %b) {transpose_a: true, transpose_b: true}
             %s = slice(%p) {axes: [0, 1, 2], start: [6, 0, 1], len: [2, 2, 3], step: [-3, 1, 1]}
             %y = Result-1(%s)",
        );
        assert!(text.contains("slice(%a) {axes: [2], start: [0], len: [2], step: [1]}"), "{text}");
        assert!(text.contains("slice(%b) {axes: [0,1], start: [6,1], len: [2,3], step: [-3,1]}"), "{text}");
    }

    #[test]
    fn slices_are_hoisted_above_products_with_vectors() {
        let text = fires(
            "hoist-slice-matmul",
            "%a = Parameter-1 {element_type: f32, shape: \"3,4\"}
             %v = Parameter-1 {element_type: f32, shape: \"4\"}
             %w = Parameter-1 {element_type: f32, shape: \"3\"}
             %p = MatMul-1(%a, %v) {transpose_a: false, transpose_b: true}
             %s = slice(%p) {axes: [0], start: [1], len: [2], step: [1]}
             %q = MatMul-1(%w, %a) {transpose_a: true, transpose_b: false}
             %t = slice(%q) {axes: [0], start: [1], len: [2], step: [1]}
             %y = Result-1(%s)
             %z = Result-1(%t)",
        );
        assert!(text.contains("slice(%a) {axes: [0], start: [1], len: [2], step: [1]}"), "{text}");
        assert!(text.contains("slice(%a) {axes: [1], start: [1], len: [2], step: [1]}"), "{text}");
    }

    #[test]
    fn shared_products_are_kept() {
        silent(
            "hoist-slice-matmul",
            "%a = Parameter-1 {element_type: f32, shape: \"3,4\"}
             %q = MatMul-1(%a, %a) {transpose_a: false, transpose_b: true}
             %t = slice(%q) {axes: [0], start: [1], len: [2], step: [1]}
             %z = Result-1(%q)
             %w = Result-1(%t)",
        );
    }

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
