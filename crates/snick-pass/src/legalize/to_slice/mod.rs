//! lower-slices: replaces every slice-like op with the `slice` primitive, one file per op.
//!
//! Known parts of a range become integers of the primitive (`range.rs`). All other parts are clamped at run
//! time by the `bounds` primitive.

mod crop;
mod dynamic_axes;
mod gather;
mod gather_nd;
mod indices;
mod pad;
mod range;
mod reverse;
mod reverse_sequence;
mod slice;
mod split;
mod strided_slice;
mod variadic_split;

use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Dialect, Op, OpError, OpTraits, ops};

/// Replaces every slice-like op with the `slice` primitive.
pub const RULE: Rule = Rule::exact("lower-slices", apply);

/// Whether an op only selects elements by position, so that the primitive can express it.
pub fn is_slice_like(op: &Op) -> bool {
    op.has(OpTraits::SLICE_LIKE)
}

/// Like [`is_slice_like`], by operation type.
pub(crate) fn is_family(op_type: &str) -> bool {
    ops::find(Dialect::OpenVino, op_type).is_some_and(|entry| entry.traits.contains(OpTraits::SLICE_LIKE))
}

fn apply(patch: &mut Patch) -> Result<RewriteResult, OpError> {
    let op = patch.node().op();
    if !op.traits().intersects(OpTraits::SLICE_LIKE | OpTraits::MAYBE_SLICE) {
        return Ok(RewriteResult::NoMatch);
    }
    match op.clone() {
        Op::Crop(op) => crop::lower(&op, patch),
        Op::Gather(op) => gather::lower(&op, patch),
        Op::GatherNd(op) => gather_nd::lower(&op, patch),
        Op::Pad(op) => pad::lower(&op, patch),
        Op::Reverse(op) => reverse::lower(&op, patch),
        Op::ReverseSequence(op) => reverse_sequence::lower(&op, patch),
        Op::Slice8(_) => slice::lower(patch),
        Op::Split(op) => split::lower(&op, patch),
        Op::StridedSlice(op) => strided_slice::lower(&op, patch),
        Op::VariadicSplit(_) => variadic_split::lower(patch),
        _ => Ok(RewriteResult::NoMatch),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{fires, silent};

    #[test]
    fn fires_on_runs_reverses_and_negative_pads() {
        let text = fires(
            "lower-slices",
            "%x = Parameter-1 {element_type: f32, shape: \"4,N\"}
             %axis = Const-1 i64[] <0>
             %run = Const-1 i64[2] <3, 1>
             %a = Gather-8(%x, %run, %axis) {batch_dims: 0}
             %one = Const-1 i64[] <-1>
             %b = Gather-8(%x, %one, %axis) {batch_dims: 0}
             %pairs = Const-1 i64[2,1] <1, 2>
             %c = GatherND-8(%x, %pairs) {batch_dims: 0}
             %rows = Const-1 i64[1] <0>
             %d = Reverse-1(%x, %rows) {mode: index}
             %begin = Const-1 i64[2] <-1, 1>
             %end = Const-1 i64[2] <2, 0>
             %e = Pad-12(%x, %begin, %end) {pad_mode: constant}
             %y0 = Result-1(%a)
             %y1 = Result-1(%b)
             %y2 = Result-1(%c)
             %y3 = Result-1(%d)
             %y4 = Result-1(%e)",
        );
        for part in [
            "%a = slice(%x) {axes: [0], start: [3], len: [2], step: [-2]}",
            "slice(%x) {axes: [0], start: [3], len: [1], step: [1]}",
            "%c = slice(%x) {axes: [0], start: [1], len: [2], step: [1]}",
            "%d = slice(%x) {axes: [0], start: [3], len: [4], step: [-1]}",
            "slice(%x) {axes: [0], start: [1], len: [3], step: [1]}",
            "<0, 1>",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn silent_on_what_is_no_slice() {
        silent(
            "lower-slices",
            "%x = Parameter-1 {element_type: f32, shape: \"4,3..5\"}
             %axis = Const-1 i64[] <0>
             %odd = Const-1 i64[3] <0, 1, 3>
             %a = Gather-8(%x, %odd, %axis) {batch_dims: 0}
             %twice = Const-1 i64[2] <2, 2>
             %b = Gather-8(%x, %twice, %axis) {batch_dims: 0}
             %lengths = Const-1 i64[4] <3, 3, 2, 3>
             %c = ReverseSequence-1(%x, %lengths) {batch_axis: 0, seq_axis: 1}
             %diagonal = Const-1 i64[2,2] <0, 0, 1, 1>
             %d = GatherND-8(%x, %diagonal) {batch_dims: 0}
             %begin = Const-1 i64[2] <1, -4>
             %end = Const-1 i64[2] <2, 0>
             %e = Pad-12(%x, %begin, %end) {pad_mode: edge}
             %columns = Const-1 i64[] <1>
             %far = Const-1 i64[1] <4>
             %f = Gather-8(%x, %far, %columns) {batch_dims: 0}
             %outside = Const-1 i64[] <-5>
             %g = Gather-8(%x, %outside, %axis) {batch_dims: 0}
             %y0 = Result-1(%a)
             %y1 = Result-1(%b)
             %y2 = Result-1(%c)
             %y3 = Result-1(%d)
             %y4 = Result-1(%e)
             %y5 = Result-1(%f)
             %y6 = Result-1(%g)",
        );
    }

    #[test]
    fn tuples_and_index_matrices_keep_their_rank() {
        let layers = |sizes: &str, indices: &str| {
            format!(
                "%x = Parameter-1 {{element_type: f32, shape: \"{sizes}\"}}
                 %axis = Const-1 i64[] <0>
                 %places = Const-1 i64{indices}
                 %a = Gather-8(%x, %places, %axis) {{batch_dims: 0}}
                 %b = GatherND-8(%x, %places) {{batch_dims: 0}}
                 %y = Result-1(%a)
                 %z = Result-1(%b)"
            )
        };
        let text = fires("lower-slices", &layers("4,N", "[1,1] <2>"));
        assert!(text.contains("%a = Reshape-1") && text.contains("%b = Reshape-1"), "{text}");
        // A constant target cannot express two unknown sizes, or an unknown size next to a size of 0.
        silent("lower-slices", &layers("4,N,M", "[1,1] <2>"));
        silent("lower-slices", &layers("4,0,N", "[1,1] <2>"));
        let text = fires("lower-slices", &layers("4,N", "[2,1] <1, 2>"));
        assert!(text.contains("%a = Reshape-1"), "{text}");
        silent("lower-slices", &layers("4,N", "[2,1] <1, 1>"));
    }

    #[test]
    fn an_index_known_at_run_time_is_within_its_axis() {
        let text = fires(
            "lower-slices",
            "%x = Parameter-1 {element_type: f32, shape: \"4,N\"}
             %at = Parameter-1 {element_type: i64, shape: \"1\"}
             %next = Parameter-1 {element_type: i64, shape: \"1\"}
             %one = Const-1 i64[1] <1>
             %a = StridedSlice-1(%x, %at, %next, %one) {begin_mask: [0], end_mask: [0], new_axis_mask: [0],
             shrink_axis_mask: [1], ellipsis_mask: [0]}
             %y = Result-1(%a)",
        );
        assert!(text.contains("{axes: [0], start: [\"in ..3\"], len: [1], step: [1]}"), "{text}");
    }

    /// Inference reports an error for this layer, and canonicalisation skips it.
    #[test]
    fn pads_of_another_rank_are_kept() {
        for (begin, end) in [("[1] <-1>", "[2] <0, 0>"), ("[2] <-1, 0>", "[1] <0>")] {
            let text = format!(
                "snick 1\ngraph \"g\" {{
                 %x = Parameter-1 {{element_type: f32, shape: \"4,5\"}}
                 %begin = Const-1 i64{begin}
                 %end = Const-1 i64{end}
                 %a = Pad-12(%x, %begin, %end) {{pad_mode: constant}}
                 %y = Result-1(%a)\n}}\n"
            );
            let mut graph = snick_ir::text::parse(&text, None).unwrap();
            assert_eq!(snick_ir::infer(&mut graph).len(), 1);
            assert!(crate::lower_slices(&mut graph).applied.is_empty());
        }
    }
}
