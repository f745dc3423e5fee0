//! merge-slices: merges a slice with the slice that it reads.

use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, OpError};

use crate::selection::Selection;

/// Composes two slices axis by axis. Does not match if this would need arithmetic on dynamic bounds.
pub(crate) const RULE: Rule = Rule::exact("merge-slices", apply);

fn apply(patch: &mut Patch) -> Result<RewriteResult, OpError> {
    let slices = |op: &Op| matches!(op, Op::Slice(_)).then_some(());
    let Some((last, middle, ())) = Selection::of_computed(patch, slices)? else {
        return Ok(RewriteResult::NoMatch);
    };
    let Some(mut merged) = Selection::computing(patch, middle)? else { return Ok(RewriteResult::NoMatch) };
    for (axis, next) in last.iter() {
        let both = match merged.on(axis) {
            Some(first) => first.then(next),
            None => Some(*next),
        };
        let Some(cut) = both else { return Ok(RewriteResult::NoMatch) };
        merged = merged.with(axis, cut);
    }
    let data = patch.input_of(middle, 0)?;
    merged.apply(patch, data).map(RewriteResult::one)
}

#[cfg(test)]
mod tests {
    use crate::testing::{fires, silent};

    #[test]
    fn slices_of_slices_are_merged() {
        let text = fires(
            "merge-slices",
            "%x = Parameter-1 {element_type: f32, shape: \"10,N\"}
             %n = Parameter-1 {element_type: i64, shape: \"\"}
             %a = slice(%x, %n) {axes: [0, 1], start: [1, 0], len: [\"8\", \"in 0..4\"], step: [1, 1]}
             %b = slice(%a) {axes: [0], start: [7], len: [4], step: [-2]}
             %y = Result-1(%b)",
        );
        let merged = "slice(%x, %n) {axes: [0,1], start: [8,0], len: [\"4\",\"in ..4\"], step: [-2,1]}";
        assert!(text.contains(merged), "{text}");
    }

    #[test]
    fn unchanged_operands_are_merged() {
        let text = fires(
            "merge-slices",
            "%x = Parameter-1 {element_type: f32, shape: \"10\"}
             %m = Parameter-1 {element_type: i64, shape: \"\"}
             %n = Parameter-1 {element_type: i64, shape: \"\"}
             %a = slice(%x, %m) {axes: [0], start: [\"1\"], len: [\"in 3..4\"], step: [\"2\"]}
             %b = slice(%a, %n) {axes: [0], start: [\"1\"], len: [\"in ..2\"], step: [\"1\"]}
             %y = Result-1(%b)",
        );
        assert!(
            text.contains("slice(%x, %n) {axes: [0], start: [3], len: [\"in ..2\"], step: [2]}"),
            "{text}"
        );
    }

    #[test]
    fn operands_that_need_arithmetic_are_kept() {
        silent(
            "merge-slices",
            "%x = Parameter-1 {element_type: f32, shape: \"10\"}
             %n = Parameter-1 {element_type: i64, shape: \"\"}
             %a = slice(%x, %n) {axes: [0], start: [\"in 0..2\"], len: [\"8\"], step: [\"1\"]}
             %b = slice(%a) {axes: [0], start: [1], len: [2], step: [1]}
             %y = Result-1(%b)",
        );
    }
}
