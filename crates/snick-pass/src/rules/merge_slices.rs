//! merge-slices: a slice of a slice is one slice.

use smallvec::{SmallVec, smallvec};
use snick_ir::ops::slice::primitive::{Axis, Part, Slice};
use snick_ir::rewrite::{Lowered, Patch, Rule};
use snick_ir::{Op, OpError, Value};

/// Composes slices axis by axis. Operands stay what they are, so an axis that both slice must be static in both.
pub(crate) const RULE: Rule = Rule::exact("merge-slices", apply);

/// An axis with the values of its operands.
type Sliced = (Axis, SmallVec<[Value; 3]>);

fn apply(patch: &mut Patch) -> Result<Lowered, OpError> {
    let Op::Slice(outer) = &patch.node().op else { return Ok(Lowered::Keep) };
    let middle = patch.input(0)?;
    let Op::Slice(inner) = patch.op_of(middle) else { return Ok(Lowered::Keep) };
    let last = sliced(outer, &patch.inputs_of(patch.output(0))?)?;
    let inputs = patch.inputs_of(middle)?;
    let data = patch.input_of(middle, 0)?;
    let mut axes = sliced(inner, &inputs)?;
    for (axis, operands) in last {
        match axes.iter_mut().find(|(first, _)| first.axis == axis.axis) {
            None => axes.push((axis, operands)),
            Some((first, _)) => match (first.as_static(), axis.as_static()) {
                (Some(a), Some(b)) => *first = Axis::from((axis.axis, a.then(&b))),
                _ => return Ok(Lowered::Keep),
            },
        }
    }
    axes.sort_by_key(|(axis, _)| axis.axis);
    let mut inputs: SmallVec<[Value; 5]> = smallvec![data];
    inputs.extend(axes.iter().flat_map(|(_, operands)| operands.iter().copied()));
    let merged = Slice { axes: axes.into_iter().map(|(axis, _)| axis).collect() };
    patch.add(merged, &inputs).map(Lowered::one)
}

/// The axes of a slice with their operands.
fn sliced(slice: &Slice, inputs: &[Value]) -> Result<SmallVec<[Sliced; 2]>, OpError> {
    let mut operands = inputs.iter().skip(1).copied();
    let mut axes = SmallVec::new();
    for axis in &slice.axes {
        let parts = [axis.start, axis.len, axis.step];
        let count = parts.iter().filter(|part| matches!(part, Part::Operand(_))).count();
        axes.push((*axis, operands.by_ref().take(count).collect()));
    }
    Ok(axes)
}

#[cfg(test)]
mod tests {
    use crate::testing::{fires, silent};

    #[test]
    fn fires_on_slices_of_slices() {
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
    fn silent_where_an_operand_would_have_to_be_composed() {
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
