//! shape-of-source: reads the shape of a sliced value from an operand of the op that computes the value.
//!
//! If the stop of a slice depends on the size of the sliced value, a ShapeOf reads this value, too. This
//! second reader would keep the slice from being moved above the op, so the ShapeOf is changed to read an
//! operand of the same shape.

use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, OpError, OpTraits, Value};

/// Moves a ShapeOf above an op whose output is also sliced. An operand of the op must have the same shape.
pub(crate) const RULE: Rule = Rule::exact("shape-of-source", apply);

/// Maximum number of readers of a value to consider.
const MAX_READERS: u32 = 8;

fn apply(patch: &mut Patch) -> Result<RewriteResult, OpError> {
    let Op::ShapeOf(shape_of) = patch.node().op() else { return Ok(RewriteResult::NoMatch) };
    let shape_of = shape_of.clone();
    let value = patch.input(0)?;
    let op = patch.op_of(value);
    let is_sliced = patch.is_read_by(value, MAX_READERS, |op| matches!(op, Op::Slice(_)));
    if op.has(OpTraits::ROOT) || !op.traits().is_foldable() || !is_sliced {
        return Ok(RewriteResult::NoMatch);
    }
    let Some(source) = of_same_shape(patch, value)? else { return Ok(RewriteResult::NoMatch) };
    patch.add_op(shape_of, &[source]).map(RewriteResult::one)
}

/// An operand of the op that always has the same shape as the value.
fn of_same_shape(patch: &Patch, value: Value) -> Result<Option<Value>, OpError> {
    let shape = &patch.fact(value)?.shape;
    if shape.dims().is_none() {
        return Ok(None);
    }
    for operand in patch.inputs_of(value)? {
        if patch.fact(operand)?.shape == *shape {
            return Ok(Some(operand));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use crate::testing::{fires, silent};

    #[test]
    fn shapes_of_sliced_values_are_read_from_the_source() {
        let text = fires(
            "shape-of-source",
            "%x = Parameter-1 {element_type: f32, shape: \"N,8\"}
             %b = Parameter-1 {element_type: f32, shape: \"8\"}
             %a = Add-1(%b, %x)
             %s = ShapeOf-3(%a) {output_type: i64}
             %t = slice(%a) {axes: [1], start: [0], len: [2], step: [1]}
             %y = Result-1(%s)
             %z = Result-1(%t)",
        );
        assert!(text.contains("%s = ShapeOf-3(%x)"), "{text}");
    }

    #[test]
    fn other_shapes_are_kept() {
        silent(
            "shape-of-source",
            "%x = Parameter-1 {element_type: f32, shape: \"N,8\"}
             %a = ReLU-1(%x)
             %s = ShapeOf-3(%a) {output_type: i64}
             %b = Concat-1(%a, %x) {axis: 0}
             %t = ShapeOf-3(%b) {output_type: i64}
             %c = slice(%b) {axes: [1], start: [0], len: [2], step: [1]}
             %y = Result-1(%s)
             %z = Result-1(%t)
             %w = Result-1(%c)",
        );
    }
}
