//! Lowering ranges to the primitive: what is known in numbers becomes static, the rest is clamped at run time by
//! [`Bounds`].

use smallvec::SmallVec;
use snick_shape::{AxisSlice, Interval, SymExpr};

use super::arithmetic::{FAR, from_end, index_scalar, known_interval};
use super::axis_range::{AxisRange, Index};
use super::bounds::{Bound, Bounds};
use super::dyn_axis_slice::{DynAxisSlice, Number};
use super::primitive::{Axis, Slice};
use super::scalar::Scalar;
use crate::rewrite::Patch;
use crate::{OpError, Value};

/// The primitive that selects `ranges` of `data`; `data` itself if all of them are whole.
pub(crate) fn lower_ranges(cx: &mut Patch, data: Value, ranges: &[AxisRange]) -> Result<Value, OpError> {
    let dims = cx.fact(data)?.shape.dims().map(<[SymExpr]>::to_vec).unwrap_or_default();
    let mut axes: SmallVec<[(Axis, SmallVec<[Value; 3]>); 2]> = SmallVec::new();
    for range in ranges {
        let dim =
            dims.get(range.axis).cloned().ok_or_else(|| OpError::unsupported("slicing beyond the rank"))?;
        let cut = lower_range(cx, data, &dim, range)?;
        axes.extend(cut.map(|cut| cut.on_axis(range.axis)));
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
    cx.add_op(Slice { axes }, &inputs)
}

/// `None` for a range that is the whole axis for every size.
fn lower_range(
    cx: &mut Patch,
    data: Value,
    dim: &SymExpr,
    range: &AxisRange,
) -> Result<Option<DynAxisSlice>, OpError> {
    if let (Some(dim), false) = (dim.as_const(), range.single)
        && let Some(slice) = range.resolve(dim)
    {
        let slice = slice?;
        return Ok((!slice.is_whole(dim)).then_some(slice.into()));
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
        let start = Number::of(start, within);
        return Ok(Some(DynAxisSlice { start, len: Number::Known(1), step: Number::Known(1) }));
    }
    let origin = cx.origin();
    let len = range.length(cx.symbols(), dim, || origin);
    clamped(cx, data, dim, range, len)
}

/// The slice of a range whose clamping is left to the run, `len` being what is known of its length.
pub(super) fn clamped(
    cx: &mut Patch,
    data: Value,
    dim: &SymExpr,
    range: &AxisRange,
    len: SymExpr,
) -> Result<Option<DynAxisSlice>, OpError> {
    let step = range.step.as_const();
    if step == Some(1) && len == *dim {
        return Ok(None);
    }
    let lens = cx.graph().symbols().interval(&len);
    // An unknown step must be looked at even if there is nothing to select: it may be 0.
    let checked = step.is_none();
    if lens.is_exact() == Some(0) && !checked {
        return Ok(Some(AxisSlice { start: 0, len: 0, step: 1 }.into()));
    }
    let size = dim_scalar(cx, data, range.axis, dim)?;
    let step = match step {
        Some(step) => Scalar::Number(step.clamp(-FAR, FAR)),
        None => index_scalar(cx, &range.step)?,
    };
    let bounds = bounds_of(cx, size, range, step)?;
    let starts = known_interval(cx, bounds)?;
    let start = starts.is_exact().map_or(Number::Read(bounds, starts), Number::Known);
    let len = match lens.is_exact() {
        Some(len) if !checked => Number::Known(len),
        _ => Number::Read(Value { port: 1, ..bounds }, lens),
    };
    Ok(Some(DynAxisSlice { start, len, step: Number::of(step, Interval::ANY) }))
}

/// The `bounds` of a range on an axis of this size.
fn bounds_of(cx: &mut Patch, size: Scalar, range: &AxisRange, step: Scalar) -> Result<Value, OpError> {
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
    cx.add_op(op, &operands)
}

/// The size of an axis.
fn dim_scalar(cx: &mut Patch, data: Value, axis: usize, dim: &SymExpr) -> Result<Scalar, OpError> {
    dim.as_const().map_or_else(|| Scalar::dim(cx, data, axis), |size| Ok(Scalar::Number(size)))
}
