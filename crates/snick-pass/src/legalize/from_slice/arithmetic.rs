//! lower-bounds: clamping by ordinary ops on i64 scalars, for formats that have no ranges: [`AxisSlice::clamp`] with
//! Minimum, Maximum and Select.
//!
//! [`AxisSlice::clamp`]: snick_shape::AxisSlice::clamp

use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{GraphBuilder, IntOrValue, Op, OpError, Value};

use IntOrValue::Int;

use crate::legalize::index::{FAR, from_end};

/// `bounds` as arithmetic.
pub const RULE: Rule = Rule::exact("lower-bounds", lower);

/// The range to clamp on an axis of `size` elements; `None` leaves nothing out in the direction of the step.
struct OpenRange {
    size: IntOrValue,
    start: Option<IntOrValue>,
    stop: Option<IntOrValue>,
}

fn lower(cx: &mut Patch) -> Result<RewriteResult, OpError> {
    let Op::Bounds(bounds) = cx.node().op() else { return Ok(RewriteResult::NoMatch) };
    let mut fields = bounds.bind(&cx.inputs_of(cx.output(0))?)?;
    for field in fields.iter_mut().flatten() {
        if let IntOrValue::Value(value, _) = *field {
            *field = IntOrValue::fold(cx, value)?;
        }
    }
    let [size, start, stop, step] = fields;
    let range = OpenRange { size: size.unwrap_or(Int(0)), start, stop };
    let (start, len) = clamp(cx, &range, step.unwrap_or(Int(1)))?;
    let mut value =
        |scalar: IntOrValue| -> Result<Option<Value>, OpError> { scalar.materialize(cx).map(Some) };
    Ok(RewriteResult::Replaced(vec![value(start)?, value(len)?]))
}

/// Start and length.
fn clamp(
    cx: &mut GraphBuilder,
    range: &OpenRange,
    step: IntOrValue,
) -> Result<(IntOrValue, IntOrValue), OpError> {
    if let Int(step) = step {
        return clamp_toward(cx, range, Int(step.clamp(-FAR, FAR)), step > 0);
    }
    let step = step.max(cx, Int(-FAR))?.min(cx, Int(FAR))?;
    let is_backward = step.less(cx, Int(1))?;
    let up = clamp_toward(cx, range, step, true)?;
    let down = clamp_toward(cx, range, step, false)?;
    Ok((is_backward.select(cx, down.0, up.0)?, is_backward.select(cx, down.1, up.1)?))
}

/// Start and length for a step of known direction.
fn clamp_toward(
    cx: &mut GraphBuilder,
    &OpenRange { size, start, stop }: &OpenRange,
    step: IntOrValue,
    is_forward: bool,
) -> Result<(IntOrValue, IntOrValue), OpError> {
    let start = match (start, is_forward) {
        (None, true) => Int(0),
        (None, false) => size.sub(cx, Int(1))?,
        // A start within every size needs no clamping.
        (Some(Int(n)), _) if n >= 0 && n < size.interval().lo() => Int(n),
        (Some(index), _) => {
            let highest = if is_forward { size } else { size.sub(cx, Int(1))? };
            // The upper clamp comes last: it is what leaves an empty axis empty.
            from_end(cx, index, size)?.max(cx, Int(0))?.min(cx, highest)?
        }
    };
    let stop = match (stop, is_forward) {
        (None, true) => size,
        (None, false) => Int(-1),
        (Some(index), _) => {
            let lowest = if is_forward { Int(0) } else { Int(-1) };
            from_end(cx, index, size)?.max(cx, lowest)?.min(cx, size)?
        }
    };
    let (from, to, width) = match is_forward {
        true => (start, stop, step),
        false => (stop, start, Int(0).sub(cx, step)?),
    };
    let span = to.sub(cx, from)?.max(cx, Int(0))?;
    if width == Int(1) {
        return Ok((start, span));
    }
    // ceil(span / width): nothing here is negative.
    let padded = width.sub(cx, Int(1))?.add(cx, span)?;
    Ok((start, padded.div(cx, width)?))
}
