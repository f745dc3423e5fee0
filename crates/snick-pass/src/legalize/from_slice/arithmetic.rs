//! lower-bounds: computes the `bounds` primitive with Minimum, Maximum and Select on i64 scalars, as
//! [`clamp_range`] does. Needed where a format cannot express the range itself.

use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{GraphBuilder, IntOrValue, Op, OpError, Value};
use snick_shape::clamp_range;

use IntOrValue::Int;

use crate::legalize::index::{FAR, from_end};

/// Replaces `bounds` with arithmetic.
pub const RULE: Rule = Rule::exact("lower-bounds", lower);

fn lower(cx: &mut Patch) -> Result<RewriteResult, OpError> {
    let Op::Bounds(bounds) = cx.node().op() else { return Ok(RewriteResult::NoMatch) };
    let mut fields = bounds.bind(&cx.inputs_of(cx.output(0))?)?;
    for field in fields.iter_mut().flatten() {
        if let IntOrValue::Value(value, _) = *field {
            *field = IntOrValue::fold(cx, value)?;
        }
    }
    let [size, start, stop, step] = fields;
    let size = size.unwrap_or(Int(0));
    let mut from_start = |bound: Option<IntOrValue>| bound.map(|bound| from_end(cx, bound, size)).transpose();
    let bounds = [from_start(start)?, from_start(stop)?];
    let (start, len) = clamp(cx, size, bounds, step.unwrap_or(Int(1)))?;
    let mut value =
        |scalar: IntOrValue| -> Result<Option<Value>, OpError> { scalar.materialize(cx).map(Some) };
    Ok(RewriteResult::Replaced(vec![value(start)?, value(len)?]))
}

/// Computes the start and the length.
fn clamp(
    cx: &mut GraphBuilder,
    size: IntOrValue,
    bounds: [Option<IntOrValue>; 2],
    step: IntOrValue,
) -> Result<(IntOrValue, IntOrValue), OpError> {
    if let Int(step) = step {
        return clamp_range(cx, &size, bounds, &Int(step.clamp(-FAR, FAR)), step > 0);
    }
    let step = step.max(cx, Int(-FAR))?.min(cx, Int(FAR))?;
    let is_backward = step.less(cx, Int(1))?;
    let up = clamp_range(cx, &size, bounds, &step, true)?;
    let down = clamp_range(cx, &size, bounds, &step, false)?;
    Ok((is_backward.select(cx, down.0, up.0)?, is_backward.select(cx, down.1, up.1)?))
}
