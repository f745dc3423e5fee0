//! Replaces the `slice` primitive with ops that OpenVINO has: Slice-8 or StridedSlice-1.
//!
//! If `bounds` computed a slice from a range, the slice becomes this range again, because the replacing ops
//! clamp it in the same way. Other dynamic slices select their elements in ascending order; if the original
//! slice is descending, a second slice then reverses the whole axis.
//!
//! This avoids ranges with a negative step and an unknown stop, for which the shape inference of the OpenVINO
//! runtime is wrong: it considers `0:stop:-3` empty for any stop.

use snick_ir::ops::slice::dyn_axis_slice::DynAxisSlice;
use snick_ir::ops::{Reshape, Slice8};
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{IntOrValue, Op, OpError, StridedSliceMasks, Value, ops};
use snick_shape::SymExpr;
use snick_tensor::SmallVector;

use IntOrValue::Int;

use super::ascending::ascending;
use super::op_range::{OpRange, is_unknown};

/// The op that replaces a `slice`.
///
/// ```
/// use snick::SliceAs;
///
/// assert_eq!(SliceAs::default(), SliceAs::Either);
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum SliceAs {
    /// Slice-8, or StridedSlice-1 if nothing is known about a bound before the run: in this case the OpenVINO
    /// runtime infers more precise shapes for StridedSlice.
    #[default]
    Either,
    /// Slice-8, which lists the axes that it slices.
    Slice,
    /// StridedSlice-1, for readers that do not know opset8.
    StridedSlice,
}

/// slice-to-ranges: replaces the `slice` primitive with ops that have ranges.
pub fn ranges(slice_as: SliceAs) -> Rule {
    let apply: fn(&mut Patch) -> Result<RewriteResult, OpError> = match slice_as {
        SliceAs::Either => |cx| lower(cx, SliceAs::Either),
        SliceAs::Slice => |cx| lower(cx, SliceAs::Slice),
        SliceAs::StridedSlice => |cx| lower(cx, SliceAs::StridedSlice),
    };
    Rule::for_target("slice-to-ranges", apply)
}

/// The replacement of a primitive: one op for each list that is not empty, in this order, followed by
/// assertions of sizes. Ranges with known and with unknown numbers go to different ops, because in a single
/// op the unknown numbers would keep the runtime from inferring the known ones.
#[derive(Default)]
struct Steps {
    /// Ranges in which all numbers are known.
    known: Vec<OpRange>,
    /// Ranges that `bounds` clamps.
    clamped: Vec<OpRange>,
    /// Ascending ranges that are computed with arithmetic.
    computed: Vec<OpRange>,
    /// Ranges that reverse descending slices.
    reversed: Vec<OpRange>,
    /// Ranges that limit a computed length to its maximum.
    capped: Vec<OpRange>,
    /// The sizes that axes must have.
    size_asserts: Vec<(usize, i64)>,
}

fn lower(cx: &mut Patch, slice_as: SliceAs) -> Result<RewriteResult, OpError> {
    let Op::Slice(slice) = cx.node().op() else { return Ok(RewriteResult::NoMatch) };
    let inputs = cx.inputs_of(cx.output(0))?;
    let (data, slices) = (inputs[0], slice.bind(&inputs[1..])?);
    let mut steps = Steps::default();
    for (axis, slice) in slices {
        let clamped = OpRange::of_bounds(cx, data, axis, &slice)?;
        if let Some(range) = clamped.filter(|r| r.has_numbers() || slice_as != SliceAs::Slice) {
            let list = if range.is_known() { &mut steps.known } else { &mut steps.clamped };
            list.push(range);
            continue;
        }
        let dim = cx.dims(data)?.and_then(|dims| dims.get(axis).cloned());
        // The replacing ops select only the elements that exist, whereas the primitive fails if elements are
        // missing.
        if let (Int(len @ 1..), false) = (slice.len, is_within(cx, dim.as_ref(), &slice)) {
            steps.size_asserts.push((axis, len));
        }
        if let Some(range) = OpRange::fixed(axis, &slice) {
            steps.known.push(range);
            continue;
        }
        let (range, reversal) = ascending(cx, axis, &slice)?;
        steps.computed.push(range);
        steps.reversed.extend(reversal);
        steps.capped.extend(cap(cx, axis, dim.as_ref(), &slice));
    }
    let mut sliced = data;
    for ranges in [steps.known, steps.clamped, steps.computed, steps.reversed, steps.capped] {
        if !ranges.is_empty() {
            sliced = add_slice(cx, slice_as, sliced, &ranges)?;
        }
    }
    if !steps.size_asserts.is_empty() {
        sliced = assert_sizes(cx, sliced, &steps.size_asserts)?;
    }
    if sliced == data {
        // The slice selects everything. An op is added nevertheless, because both the layer and its input
        // must keep their names.
        sliced = add_slice(cx, slice_as, data, &[])?;
    }
    Ok(RewriteResult::one(sliced))
}

/// A range that limits a computed length to its known maximum. `None` if the size of the axis already implies
/// this limit.
fn cap(cx: &Patch, axis: usize, dim: Option<&SymExpr>, slice: &DynAxisSlice) -> Option<OpRange> {
    let IntOrValue::Value(_, lens) = slice.len else { return None };
    let most = lens.has_upper().then_some(lens.hi())?;
    let says_more = most < cx.interval(dim?).hi();
    says_more.then_some(OpRange { axis, start: None, stop: Some(Int(most)), step: Int(1) })
}

/// Whether the axis contains all elements of a static slice for every possible size.
fn is_within(cx: &Patch, dim: Option<&SymExpr>, slice: &DynAxisSlice) -> bool {
    let Some(slice) = slice.as_static() else { return false };
    let last = slice.start.saturating_add((slice.len - 1).max(0).saturating_mul(slice.step));
    dim.is_some_and(|dim| slice.start.max(last) < cx.interval(dim).lo()) || slice.len == 0
}

/// Adds a Reshape that fails at run time if one of these axes has a different size.
fn assert_sizes(cx: &mut Patch, value: Value, size_asserts: &[(usize, i64)]) -> Result<Value, OpError> {
    let Some(rank) = cx.fact(value)?.shape.rank() else { return Ok(value) };
    let size = |axis: usize| size_asserts.iter().find(|(at, _)| *at == axis).map_or(0, |(_, size)| *size);
    let sizes = cx.ints(&(0..rank).map(size).collect::<Vec<i64>>())?;
    cx.add_op(Reshape { special_zero: true }, &[value, sizes])
}

/// Adds one op for all `ranges`, which are sorted by axis.
fn add_slice(cx: &mut Patch, slice_as: SliceAs, data: Value, ranges: &[OpRange]) -> Result<Value, OpError> {
    // StridedSlice has to list all earlier axes, too, and an unknown step would keep the runtime from
    // inferring their sizes.
    let names_no_others = || ranges.iter().enumerate().all(|(i, range)| range.axis == i);
    let steps_are_known = || ranges.iter().all(|range| range.step.as_int().is_some());
    let is_tighter = ranges.iter().any(|range| range.numbers().any(|number| is_unknown(&number)))
        && (steps_are_known() || names_no_others());
    match slice_as {
        SliceAs::StridedSlice => strided_slice(cx, data, ranges),
        SliceAs::Either if is_tighter => strided_slice(cx, data, ranges),
        SliceAs::Either | SliceAs::Slice => slice8(cx, data, ranges),
    }
}

fn slice8(cx: &mut Patch, data: Value, ranges: &[OpRange]) -> Result<Value, OpError> {
    let mut inputs: SmallVector<Value, 5> = SmallVector::from_slice(&[data]);
    let numbers: [fn(&OpRange) -> IntOrValue; 4] = [
        |range| range.start.unwrap_or(range.first()),
        |range| range.stop.unwrap_or(range.last()),
        |range| range.step,
        |range| Int(range.axis as i64),
    ];
    for number in numbers {
        let column: Vec<IntOrValue> = ranges.iter().map(number).collect();
        inputs.push(IntOrValue::vector(cx, &column)?);
    }
    cx.add_op(Slice8, &inputs)
}

fn strided_slice(cx: &mut Patch, data: Value, ranges: &[OpRange]) -> Result<Value, OpError> {
    let axes = ranges.last().map_or(0, |range| range.axis + 1);
    let whole = OpRange { axis: 0, start: None, stop: None, step: Int(1) };
    let on = |axis: usize| ranges.iter().find(|range| range.axis == axis).unwrap_or(&whole);
    let mut inputs: SmallVector<Value, 4> = SmallVector::from_slice(&[data]);
    let numbers: [fn(&OpRange) -> IntOrValue; 3] =
        [|range| range.start.unwrap_or(Int(0)), |range| range.stop.unwrap_or(Int(0)), |range| range.step];
    for number in numbers {
        let column: Vec<IntOrValue> = (0..axes).map(|axis| number(on(axis))).collect();
        inputs.push(IntOrValue::vector(cx, &column)?);
    }
    let zeros = || vec![0; axes];
    let masks = StridedSliceMasks::new()
        .begin((0..axes).map(|axis| u8::from(on(axis).start.is_none())))
        .end((0..axes).map(|axis| u8::from(on(axis).stop.is_none())))
        .new_axis(zeros())
        .shrink_axis(zeros())
        .ellipsis(zeros());
    cx.add_op(ops::StridedSlice::from(masks), &inputs)
}
