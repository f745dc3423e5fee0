//! Lowering ranges to the primitive: what is known in numbers becomes static, the rest is clamped at run time by
//! [`Bounds`].

use smallvec::SmallVec;
use snick_shape::{Interval, SymExpr};

use super::arithmetic::{FAR, from_end, index_scalar, known_interval};
use super::bounds::{Bound, Bounds};
use super::primitive::{Axis, Part, Slice};
use super::range::{Index, Range};
use super::scalar::Scalar;
use crate::rewrite::Patch;
use crate::{OpError, Value};

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

/// The size of an axis.
fn dim_scalar(cx: &mut Patch, data: Value, axis: usize, dim: &SymExpr) -> Result<Scalar, OpError> {
    dim.as_const().map_or_else(|| Scalar::dim(cx, data, axis), |size| Ok(Scalar::Number(size)))
}
