//! Lowering ranges to the primitive: what is known in numbers becomes static, the rest is clamped at run time by
//! [`Bounds`]; and that by ordinary graph ops on i64 scalars, for formats that cannot say it.
//!
//! The rule is the one of [`snick_shape::AxisSlice::clamp`], written with Minimum, Maximum and Select.

use smallvec::SmallVec;
use snick_shape::{Interval, SymExpr};

use super::bounds::{Bound, Bounds};
use super::primitive::{Axis, Part, Slice};
use super::range::{Index, Range};
use super::scalar::{Scalar, known_scalar};
use crate::rewrite::Patch;
use crate::{OpError, Value};

/// No axis is longer; steps are cut to it so that sums with them stay in i64.
const FAR: i64 = 1 << 62;

/// The primitive that selects `ranges` of `data`; `data` itself if all of them are whole.
pub(crate) fn lower_ranges(cx: &mut Patch, data: Value, ranges: &[Range]) -> Result<Value, OpError> {
    let dims = cx.fact(data)?.shape.dims().map(<[SymExpr]>::to_vec).unwrap_or_default();
    let mut axes: SmallVec<[(Axis, SmallVec<[Value; 3]>); 2]> = SmallVec::new();
    for range in ranges {
        let dim =
            dims.get(range.axis).cloned().ok_or_else(|| OpError::unsupported("slicing beyond the rank"))?;
        let parts = lower_range(cx, data, &dim, range)?;
        axes.extend(parts.map(|parts| to_axis(range.axis, parts)));
    }
    slice_of(cx, data, axes)
}

/// The primitive with these axes; `data` itself if there are none.
pub(super) fn slice_of(
    cx: &mut Patch,
    data: Value,
    mut axes: SmallVec<[(Axis, SmallVec<[Value; 3]>); 2]>,
) -> Result<Value, OpError> {
    if axes.is_empty() {
        return Ok(data);
    }
    axes.sort_by_key(|(axis, _)| axis.axis);
    let mut inputs: SmallVec<[Value; 5]> = smallvec::smallvec![data];
    inputs.extend(axes.iter().flat_map(|(_, operands)| operands.iter().copied()));
    let axes = axes.into_iter().map(|(axis, _)| axis).collect();
    cx.add(Slice { axes }, &inputs)
}

/// `start`, `len` and `step` of one axis, each with the interval it lies in.
pub(super) struct Parts {
    pub(super) start: (Scalar, Interval),
    pub(super) len: (Scalar, Interval),
    pub(super) step: (Scalar, Interval),
}

/// An axis of the primitive, with the operands it reads.
pub(super) fn to_axis(axis: usize, parts: Parts) -> (Axis, SmallVec<[Value; 3]>) {
    let mut operands = SmallVec::new();
    let mut part = |(scalar, interval): (Scalar, Interval)| match scalar {
        Scalar::Number(number) => Part::Static(number),
        Scalar::Value(value) => {
            operands.push(value);
            Part::Operand(interval)
        }
    };
    // A single element has step 1, and an empty slice starts at 0, whatever the op said.
    let (start, step) = match parts.len.0 {
        Scalar::Number(0) => (Part::Static(0), Part::Static(1)),
        Scalar::Number(1) => (part(parts.start), Part::Static(1)),
        _ => {
            let start = part(parts.start);
            let len = part(parts.len);
            let step = part(parts.step);
            return (Axis { axis, start, len, step }, operands);
        }
    };
    let len = part(parts.len);
    (Axis { axis, start, len, step }, operands)
}

/// `None` for a range that is the whole axis for every size.
fn lower_range(cx: &mut Patch, data: Value, dim: &SymExpr, range: &Range) -> Result<Option<Parts>, OpError> {
    let number = |value: i64| (Scalar::Number(value), Interval::exact(value));
    if let (Some(dim), false) = (dim.as_const(), range.single)
        && let Some(slice) = range.resolve(dim)
    {
        let slice = slice?;
        let parts = Parts { start: number(slice.start), len: number(slice.len), step: number(slice.step) };
        return Ok((!slice.is_whole(dim)).then_some(parts));
    }
    if range.single {
        let sizes = cx.graph().symbols().interval(dim);
        let last = Interval::new(0, sizes.hi().saturating_sub(1).max(0)).unwrap_or(Interval::DIM);
        let size = dim_scalar(cx, data, range.axis, dim)?;
        // Left unclamped: an index out of range must fail when the graph runs.
        let index = index_scalar(cx, &range.start)?;
        let start = from_end(cx, index, size)?;
        let known = match start {
            Scalar::Number(n) => Interval::exact(n),
            Scalar::Value(value) => known_interval(cx, value)?,
        };
        let (start, within) = match start {
            Scalar::Number(n) if (0..sizes.hi()).contains(&n) => (start, Interval::exact(n)),
            // Never there, but that is for the run to say: it may not come to this layer.
            Scalar::Number(n) => (Scalar::Value(cx.int(n)?), Interval::ANY),
            Scalar::Value(_) if known.meet(last).is_some() => (start, last),
            Scalar::Value(_) => (start, Interval::ANY),
        };
        return Ok(Some(Parts { start: (start, within), len: number(1), step: number(1) }));
    }
    let origin = cx.origin();
    let len = range.length(cx.symbols(), dim, || origin);
    clamped(cx, data, dim, range, len)
}

/// The parts of a range whose clamping is left to the run, `len` being what is known of its length.
pub(super) fn clamped(
    cx: &mut Patch,
    data: Value,
    dim: &SymExpr,
    range: &Range,
    len: SymExpr,
) -> Result<Option<Parts>, OpError> {
    let number = |value: i64| (Scalar::Number(value), Interval::exact(value));
    let step = range.step.as_const();
    if step == Some(1) && len == *dim {
        return Ok(None);
    }
    let lens = cx.graph().symbols().interval(&len);
    // An unknown step must be looked at even if there is nothing to select: it may be 0.
    let checked = step.is_none();
    if lens.is_exact() == Some(0) && !checked {
        return Ok(Some(Parts { start: number(0), len: number(0), step: number(1) }));
    }
    let size = dim_scalar(cx, data, range.axis, dim)?;
    let step = match step {
        Some(step) => Scalar::Number(step.clamp(-FAR, FAR)),
        None => index_scalar(cx, &range.step)?,
    };
    let bounds = bounds_of(cx, size, range, step)?;
    let scalar = |cx: &Patch, port: u32| -> Result<(Scalar, Interval), OpError> {
        let value = Value { port, ..bounds };
        let within = known_interval(cx, value)?;
        Ok((within.is_exact().map_or(Scalar::Value(value), Scalar::Number), within))
    };
    let len = match lens.is_exact() {
        Some(len) if !checked => number(len),
        _ => (Scalar::Value(Value { port: 1, ..bounds }), lens),
    };
    let step_within = match step {
        Scalar::Number(step) => Interval::exact(step),
        Scalar::Value(_) => Interval::ANY,
    };
    Ok(Some(Parts { start: scalar(cx, 0)?, len, step: (step, step_within) }))
}

/// The `bounds` of a range on an axis of this size.
fn bounds_of(cx: &mut Patch, size: Scalar, range: &Range, step: Scalar) -> Result<Value, OpError> {
    let mut operands: SmallVec<[Value; 4]> = SmallVec::new();
    let mut bound = |scalar: Scalar| match scalar {
        Scalar::Number(number) => Bound::Static(number),
        Scalar::Value(value) => {
            operands.push(value);
            Bound::Operand
        }
    };
    let size = bound(size);
    let [start, stop] = [&range.start, &range.stop].map(|index| match index {
        Index::Masked => Ok(Bound::Open),
        index => index_scalar(cx, index).map(&mut bound),
    });
    let op = Bounds { size, start: start?, stop: stop?, step: bound(step) };
    cx.add(op, &operands)
}

/// Start and length of a range on an axis of `size` elements, of which there are `sizes`, in graph ops.
pub(super) fn clamp_at_run_time(
    cx: &mut Patch,
    range: &Range,
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

/// The size of an axis.
fn dim_scalar(cx: &mut Patch, data: Value, axis: usize, dim: &SymExpr) -> Result<Scalar, OpError> {
    dim.as_const().map_or_else(|| Scalar::dim(cx, data, axis), |size| Ok(Scalar::Number(size)))
}

/// Start and length for a step of known direction.
fn clamp_toward(
    cx: &mut Patch,
    range: &Range,
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
fn known_interval(cx: &Patch, value: Value) -> Result<Interval, OpError> {
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
