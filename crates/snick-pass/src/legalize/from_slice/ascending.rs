//! Rewrites a dynamic slice so that it selects its elements in ascending order. The bounds are computed in
//! the graph.

use snick_ir::ops::slice::dyn_axis_slice::DynAxisSlice;
use snick_ir::rewrite::Patch;
use snick_ir::{IntOrValue, OpError};
use snick_tensor::ElementType;

use IntOrValue::Int;

use super::guard::guarded_start;
use super::op_range::OpRange;
use crate::legalize::index::FAR;

/// The direction of a step.
#[derive(Copy, Clone)]
enum Direction {
    Up,
    Down,
    /// Only known at run time; the condition is true for `Up`.
    Unknown(IntOrValue),
}

/// The range of an axis in ascending order. For a descending slice, also the range that reverses the result.
pub(super) fn ascending(
    cx: &mut Patch,
    axis: usize,
    slice: &DynAxisSlice,
) -> Result<(OpRange, Option<OpRange>), OpError> {
    let [start, len, step] = [wide(cx, slice.start)?, wide(cx, slice.len)?, wide(cx, slice.step)?];
    let start = guarded_start(cx, slice, start, len)?;
    let direction = direction(cx, slice, step)?;
    let stride = stride(cx, step, direction)?;
    let (start, reversal) = match direction {
        Direction::Up => (start, None),
        Direction::Down => {
            let reversal = OpRange { axis, start: None, stop: None, step: Int(-1) };
            (last(cx, start, len, step)?, Some(reversal))
        }
        Direction::Unknown(is_up) => {
            let last = last(cx, start, len, step)?;
            let start = is_up.select(cx, start, last)?;
            let reversal = OpRange {
                axis,
                start: Some(is_up.select(cx, Int(0), Int(-1))?),
                stop: Some(is_up.select(cx, Int(i64::MAX), Int(i64::MIN))?),
                step: is_up.select(cx, Int(1), Int(-1))?,
            };
            (start, Some(reversal))
        }
    };
    let length = len.mul(cx, stride)?;
    let stop = start.add(cx, length)?;
    Ok((OpRange { axis, start: Some(start), stop: Some(stop), step: stride }, reversal))
}

/// Converts an operand of the primitive, which may be of any integer type, to i64, and keeps its inferred
/// interval.
fn wide(cx: &mut Patch, number: IntOrValue) -> Result<IntOrValue, OpError> {
    let IntOrValue::Value(value, _) = number else { return Ok(number) };
    let wide = cx.convert(value, ElementType::I64)?;
    IntOrValue::value(cx, wide)
}

fn direction(cx: &mut Patch, slice: &DynAxisSlice, step: IntOrValue) -> Result<Direction, OpError> {
    let steps = slice.step.interval();
    match (steps.lo() >= 0, steps.hi() <= 0) {
        (true, _) => Ok(Direction::Up),
        (_, true) => Ok(Direction::Down),
        _ => Ok(Direction::Unknown(Int(0).less(cx, step)?)),
    }
}

/// The absolute value of the step, limited to [`FAR`]. The limit does not change the result, because a slice
/// selects at most one element with any step this long.
fn stride(cx: &mut Patch, step: IntOrValue, direction: Direction) -> Result<IntOrValue, OpError> {
    match (step, direction) {
        (Int(step), _) => Ok(Int(step.saturating_abs().min(FAR))),
        (IntOrValue::Value(..), Direction::Up) => step.min(cx, Int(FAR)),
        (IntOrValue::Value(..), _) => {
            // Avoids the smallest integer, which has no absolute value.
            let near = step.max(cx, Int(-FAR))?.materialize(cx)?;
            let size = cx.abs(near)?;
            IntOrValue::value(cx, size)?.max(cx, Int(1))?.min(cx, Int(FAR))
        }
    }
}

/// The index of the last element: `start + (len - 1) * step`.
fn last(cx: &mut Patch, start: IntOrValue, len: IntOrValue, step: IntOrValue) -> Result<IntOrValue, OpError> {
    let distance = len.sub(cx, Int(1))?.mul(cx, step)?;
    start.add(cx, distance)
}

#[cfg(test)]
mod tests {
    use snick_ir::infer;

    use crate::legalize::from_slice::{SliceAs, ranges};
    use crate::{Pass, RewriteOptions, apply};

    #[test]
    fn unknown_steps_select_what_the_primitive_does() {
        for (start, step) in [(0, "in 1.."), (9, "in -inf..-1"), (5, "in -inf..")] {
            let text = format!(
                "snick 1\ngraph \"g\" {{
                 %x = Parameter-1 {{element_type: f32, shape: \"10\"}}
                 %n = Parameter-1 {{element_type: i64, shape: \"\"}}
                 %y = slice(%x, %n) {{axes: [0], start: [{start}], len: [3], step: [\"{step}\"]}}
                 %r = Result-1(%y)\n}}\n"
            );
            for slice_as in [SliceAs::Slice, SliceAs::StridedSlice] {
                let mut graph = snick_ir::text::parse(&text, None).unwrap();
                assert_eq!(infer(&mut graph), []);
                let pass = Pass::new("ranges", [ranges(slice_as)]);
                let report = apply(&mut graph, &[pass], &RewriteOptions::new().check(true).seed(1));
                assert!(report.is_ok() && report.checked == 1, "{step}: {report:?}");
            }
        }
    }
}
