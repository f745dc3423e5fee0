//! Clamping by ordinary graph ops on i64 scalars, for formats that cannot say a range: the rule of
//! [`snick_shape::AxisSlice::clamp`], written with Minimum, Maximum and Select.

use snick_shape::{Interval, SymExpr};

use super::axis_range::{AxisRange, Index};
use super::scalar::{Scalar, known_scalar};
use crate::rewrite::Patch;
use crate::{OpError, Value};

/// No axis is longer; steps are cut to it so that sums with them stay in i64.
pub(super) const FAR: i64 = 1 << 62;

/// Start and length of a range on an axis of `size` elements, of which there are `sizes`, in graph ops.
pub(super) fn clamp_at_run_time(
    cx: &mut Patch,
    range: &AxisRange,
    size: Scalar,
    sizes: Interval,
) -> Result<(Scalar, Scalar), OpError> {
    match index_scalar(cx, &range.step)? {
        Scalar::Number(step) => {
            let near = Scalar::Number(step.clamp(-FAR, FAR));
            clamp_toward(cx, range, size, near, step > 0, sizes)
        }
        step => {
            let step = step.max(cx, Scalar::Number(-FAR))?.min(cx, Scalar::Number(FAR))?;
            let forward = step.less(cx, Scalar::Number(1))?;
            let up = clamp_toward(cx, range, size, step, true, sizes)?;
            let down = clamp_toward(cx, range, size, step, false, sizes)?;
            Ok((forward.select(cx, down.0, up.0)?, forward.select(cx, down.1, up.1)?))
        }
    }
}

/// Start and length for a step of known direction.
fn clamp_toward(
    cx: &mut Patch,
    range: &AxisRange,
    size: Scalar,
    step: Scalar,
    forward: bool,
    sizes: Interval,
) -> Result<(Scalar, Scalar), OpError> {
    let zero = Scalar::Number(0);
    let before = Scalar::Number(-1);
    let start = match (&range.start, forward) {
        (Index::Masked, true) => zero,
        (Index::Masked, false) => size.sub(cx, Scalar::Number(1))?,
        (index, _) => {
            let index = index_scalar(cx, index)?;
            match index {
                // A start that every size reaches needs no clamping.
                Scalar::Number(n) if n >= 0 && n < sizes.lo() => index,
                _ => {
                    let highest = if forward { size } else { size.sub(cx, Scalar::Number(1))? };
                    // The upper clamp comes last: it is what leaves an empty axis empty.
                    from_end(cx, index, size)?.max(cx, zero)?.min(cx, highest)?
                }
            }
        }
    };
    let stop = match (&range.stop, forward) {
        (Index::Masked, true) => size,
        (Index::Masked, false) => before,
        (index, _) => {
            let index = index_scalar(cx, index)?;
            let lowest = if forward { zero } else { before };
            from_end(cx, index, size)?.max(cx, lowest)?.min(cx, size)?
        }
    };
    let (from, to, width) = match forward {
        true => (start, stop, step),
        false => (stop, start, Scalar::Number(0).sub(cx, step)?),
    };
    let span = to.sub(cx, from)?.max(cx, zero)?;
    if width == Scalar::Number(1) {
        return Ok((start, span));
    }
    // ceil(span / width): nothing here is negative.
    let padded = width.sub(cx, Scalar::Number(1))?.add(cx, span)?;
    Ok((start, padded.div(cx, width)?))
}

/// The interval in which a scalar is known to lie.
pub(super) fn known_interval(cx: &Patch, value: Value) -> Result<Interval, OpError> {
    let known = known_scalar(cx, value)?;
    Ok(known.map_or(Interval::ANY, |expr| cx.graph().symbols().interval(&expr)))
}

/// `index + size` where the index is negative.
pub(super) fn from_end(cx: &mut Patch, index: Scalar, size: Scalar) -> Result<Scalar, OpError> {
    match index {
        Scalar::Number(n) if n >= 0 => Ok(index),
        Scalar::Number(_) => index.add(cx, size),
        Scalar::Value(value) => {
            let range = known_interval(cx, value)?;
            let moved = |cx: &mut Patch| index.add(cx, size);
            match (range.lo() >= 0, range.hi() < 0) {
                (true, _) => Ok(index),
                (_, true) => moved(cx),
                _ => {
                    let negative = index.less(cx, Scalar::Number(0))?;
                    // Only a negative index is added to, so that the largest ones do not wrap.
                    let low = index.min(cx, Scalar::Number(0))?.add(cx, size)?;
                    negative.select(cx, low, index)
                }
            }
        }
    }
}

/// An entry as a number, or as a scalar read when the graph runs.
pub(super) fn index_scalar(cx: &mut Patch, index: &Index) -> Result<Scalar, OpError> {
    match index {
        Index::Masked => Ok(Scalar::Number(0)),
        Index::Fixed(value) => Ok(Scalar::Number(*value)),
        Index::Entry { input, at, known, element_type } => {
            if let Some(value) = known.as_ref().and_then(SymExpr::as_const) {
                return Ok(Scalar::Number(value));
            }
            let entries = Scalar::entries(cx, *input, *element_type)?;
            Scalar::pick(cx, entries, *at)
        }
        Index::Computed(scalar) => Ok(*scalar),
    }
}
