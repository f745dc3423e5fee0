//! Converts ranges to the primitive. Known numbers become integers; unknown numbers are clamped by
//! [`Bounds`].

use snick_ir::ops::slice::axis_range::AxisRange;
use snick_ir::ops::slice::bounds::Bounds;
use snick_ir::ops::slice::dyn_axis_slice::{AxisSlices, DynAxisSlice};
use snick_ir::ops::slice::index_inputs::IndexEntry;
use snick_ir::rewrite::Patch;
use snick_ir::{GraphBuilder, IntOrValue, OpError, Value};
use snick_shape::{AxisSlice, Interval, SymExpr};
use snick_tensor::{ElementType, SmallVector, Tensor};

use IntOrValue::Int;

use crate::legalize::index::{FAR, from_end};

/// Adds the primitive that selects `ranges` of `data`, or returns `data` if they select everything.
pub(super) fn slice_ranges<'r>(
    cx: &mut Patch,
    data: Value,
    ranges: impl IntoIterator<Item = &'r AxisRange>,
) -> Result<Value, OpError> {
    let dims = cx.dims(data)?.unwrap_or_default();
    let mut slices = AxisSlices::new();
    for range in ranges {
        let dim = dims.get(range.axis).ok_or_else(|| OpError::unsupported("slicing beyond the rank"))?;
        let slice = match range.single {
            true => Some(single_element(cx, data, dim, range)?),
            false => slice_range(cx, data, dim, range)?,
        };
        slices.extend(slice.map(|slice| (range.axis, slice)));
    }
    cx.slice(data, slices)
}

/// The slice for a range; `None` if the range covers the whole axis for any size.
fn slice_range(
    cx: &mut Patch,
    data: Value,
    dim: &SymExpr,
    range: &AxisRange,
) -> Result<Option<DynAxisSlice>, OpError> {
    if let Some(dim) = dim.as_const()
        && let Some(slice) = range.resolve(dim)
    {
        let slice = slice?;
        return Ok((!slice.is_whole(dim)).then(|| slice.into()));
    }
    let origin = cx.origin();
    let len = range.length(cx.symbols(), dim, || origin);
    clamped(cx, data, dim, range, len, read)
}

/// The element at the start of a range. If the index is out of range, the slice only fails at run time,
/// because the layer might never be executed.
fn single_element(
    cx: &mut Patch,
    data: Value,
    dim: &SymExpr,
    range: &AxisRange,
) -> Result<DynAxisSlice, OpError> {
    let sizes = cx.interval(dim);
    let last = Interval::new(0, sizes.hi().saturating_sub(1).max(0)).unwrap_or(Interval::DIM);
    let size = IntOrValue::dim(cx, data, range.axis)?;
    let index = range.start.as_ref().map_or(Ok(Int(0)), |start| read(cx, start))?;
    let start = from_end(cx, index, size)?;
    let start = match start {
        Int(n) if (0..sizes.hi()).contains(&n) => start,
        Int(n) => IntOrValue::Value(cx.int(n)?, Interval::ANY),
        IntOrValue::Value(_, known) if known.meet(last).is_some() => start.within(last),
        IntOrValue::Value(..) => start.within(Interval::ANY),
    };
    Ok(DynAxisSlice { start, len: Int(1), step: Int(1) })
}

/// The slice for a range that is clamped at run time; `len` is its inferred length. `None` for a whole axis.
pub(super) fn clamped<V>(
    cx: &mut Patch,
    data: Value,
    dim: &SymExpr,
    range: &AxisRange<V>,
    len: SymExpr,
    read: impl Fn(&mut Patch, &IntOrValue<V>) -> Result<IntOrValue, OpError>,
) -> Result<Option<DynAxisSlice>, OpError> {
    let step = range.step.as_int();
    if step == Some(1) && len == *dim {
        return Ok(None);
    }
    let lens = cx.interval(&len);
    // An unknown step may be 0, which is an error even for an empty result.
    let is_checked = step.is_none();
    if lens.is_exact() == Some(0) && !is_checked {
        return Ok(Some(AxisSlice::EMPTY.into()));
    }
    let size = IntOrValue::dim(cx, data, range.axis)?;
    let step = match step {
        Some(step) => Int(step.clamp(-FAR, FAR)),
        None => read(cx, &range.step)?,
    };
    let start = range.start.as_ref().map(|start| read(cx, start)).transpose()?;
    let stop = range.stop.as_ref().map(|stop| read(cx, stop)).transpose()?;
    let bounds = add_bounds(cx, [Some(size), start, stop, Some(step)])?;
    let len = match lens.is_exact() {
        Some(len) if !is_checked => Int(len),
        _ => IntOrValue::Value(Value { port: 1, ..bounds }, lens),
    };
    Ok(Some(DynAxisSlice { start: IntOrValue::fold(cx, bounds)?, len, step: step.within(Interval::ANY) }))
}

/// Adds `bounds` for a size, start, stop and step.
fn add_bounds(cx: &mut GraphBuilder, fields: [Option<IntOrValue>; 4]) -> Result<Value, OpError> {
    let mut operands: SmallVector<Value, 4> = SmallVector::new();
    let [size, start, stop, step] = fields.map(|field| {
        field?.within(Interval::ANY).rename(|value| {
            operands.push(value);
            Some(())
        })
    });
    let (size, step) = (size.unwrap_or(Int(0)), step.unwrap_or(Int(1)));
    cx.add_op(Bounds { size, start, stop, step }, &operands)
}

/// Reads an entry of an index input as an i64 scalar.
pub(super) fn read(cx: &mut Patch, entry: &IntOrValue<IndexEntry>) -> Result<IntOrValue, OpError> {
    match entry {
        Int(int) => Ok(Int(*int)),
        IntOrValue::Value(IndexEntry { input, at, .. }, _) => {
            let entries = index_vector(cx, *input)?;
            IntOrValue::element(cx, entries, *at)
        }
    }
}

/// Converts an index input to i64. A u64 beyond the range of i64 stands for the end of the axis.
pub(super) fn index_vector(cx: &mut Patch, input: usize) -> Result<Value, OpError> {
    let mut entries = cx.input(input)?;
    if cx.element_type(entries)? == ElementType::U64 {
        let most = cx.constant(Tensor::scalar(i64::MAX as u64))?;
        entries = cx.minimum(entries, most)?;
    }
    cx.convert(entries, ElementType::I64)
}

/// The start of a slice if `fault` is 0, otherwise a negative number, which is an invalid start. The start is
/// at most `size + fault`, so subtracting `fault * (size + 2)` makes it negative.
pub(super) fn poison_if(
    cx: &mut GraphBuilder,
    fault: IntOrValue,
    start: IntOrValue,
    size: IntOrValue,
) -> Result<IntOrValue, OpError> {
    let far = size.add(cx, Int(2))?;
    let back = fault.mul(cx, far)?;
    start.sub(cx, back)
}
