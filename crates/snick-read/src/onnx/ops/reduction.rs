//! Operators that make one element of many.

use snick_ir::{Attrs, OpError, Value};
use snick_tensor::ElementType;

use super::{ImportEntry, one};
use crate::onnx::builder::{NodeBuilder, Result};

pub(super) const ENTRIES: &[ImportEntry] = &[
    one("ArgMax", &[1, 11, 12, 13], |b| arg(b, "max")),
    one("ArgMin", &[1, 11, 12, 13], |b| arg(b, "min")),
    one("CumProd", &[26], cumulative_product),
    one("CumSum", &[11, 14], cum_sum),
    one("ReduceL1", &[1, 11, 13, 18], |b| reduce(b, "ReduceL1")),
    one("ReduceL2", &[1, 11, 13, 18], |b| reduce(b, "ReduceL2")),
    one("ReduceLogSum", &[1, 11, 13, 18], |b| {
        let sum = reduce(b, "ReduceSum")?;
        b.plain("Log", &[sum])
    }),
    one("ReduceLogSumExp", &[1, 11, 13, 18], log_sum_exp),
    one("ReduceMax", &[1, 11, 12, 13, 18, 20], |b| extreme(b, "ReduceMax", "ReduceLogicalOr")),
    one("ReduceMean", &[1, 11, 13, 18], |b| reduce(b, "ReduceMean")),
    one("ReduceMin", &[1, 11, 12, 13, 18, 20], |b| extreme(b, "ReduceMin", "ReduceLogicalAnd")),
    one("ReduceProd", &[1, 11, 13, 18], |b| reduce(b, "ReduceProd")),
    one("ReduceSum", &[1, 11, 13], |b| reduce(b, "ReduceSum")),
    one("ReduceSumSquare", &[1, 11, 13, 18], |b| {
        let x = b.input(0)?;
        let square = b.plain("Multiply", &[x, x])?;
        reduce_value(b, "ReduceSum", square, keeps(b)?)
    }),
];

/// The axes: an attribute or input 1; without any all, or none where the node says so.
fn axes(b: &mut NodeBuilder, data: Value) -> Result {
    let none_means_none = b.flag("noop_with_empty_axes", false)?;
    let axes = match b.ints("axes")? {
        Some(axes) => Some(b.vector(&axes)?),
        None => b.optional(1),
    };
    if let Some(axes) = axes {
        match b.dims(axes) {
            Some(dims) if !dims.contains(&0) => return Ok(axes),
            Some(_) => {}
            None => return Err(OpError::unsupported("axes of which the number is unknown")),
        }
    }
    if none_means_none {
        return b.vector(&[]);
    }
    let all: Vec<i64> = (0..).take(b.rank(data)?).collect();
    b.vector(&all)
}

fn keeps(b: &NodeBuilder) -> Result<bool, OpError> {
    b.flag("keepdims", true)
}

pub(super) fn reduce_value(b: &mut NodeBuilder, op_type: &str, x: Value, keep_dims: bool) -> Result {
    let axes = axes(b, x)?;
    b.make(op_type, Attrs::new().with("keep_dims", keep_dims), &[x, axes])
}

fn reduce(b: &mut NodeBuilder, op_type: &str) -> Result {
    let (x, keep_dims) = (b.input(0)?, keeps(b)?);
    reduce_value(b, op_type, x, keep_dims)
}

fn extreme(b: &mut NodeBuilder, op_type: &str, of_booleans: &str) -> Result {
    let x = b.input(0)?;
    let boolean = b.element_type(x) == Ok(ElementType::Boolean);
    reduce(b, if boolean { of_booleans } else { op_type })
}

/// The greatest element is taken out first: sums of large exponentials would leave the numbers.
fn log_sum_exp(b: &mut NodeBuilder) -> Result {
    let (x, keep_dims) = (b.input(0)?, keeps(b)?);
    let greatest = reduce_value(b, "ReduceMax", x, true)?;
    // Nothing can be taken out of infinities.
    let (finite, zero) = (b.plain("IsFinite", &[greatest])?, b.number_like(x, 0.0)?);
    let greatest = b.plain("Select", &[finite, greatest, zero])?;
    let rest = b.plain("Subtract", &[x, greatest])?;
    let rest = b.plain("Exp", &[rest])?;
    let sum = reduce_value(b, "ReduceSum", rest, true)?;
    let sum = b.plain("Log", &[sum])?;
    let sum = b.plain("Add", &[sum, greatest])?;
    if keep_dims {
        return Ok(sum);
    }
    let axes = axes(b, x)?;
    b.plain("Squeeze", &[sum, axes])
}

/// The first of equal elements counts, or the last: the first of the reversed axis.
fn arg(b: &mut NodeBuilder, mode: &'static str) -> Result {
    let (mut x, axis) = (b.input(0)?, b.int("axis", 0)?);
    let last = b.flag("select_last_index", false)?;
    let axes = b.vector(&[axis])?;
    if last {
        let (start, stop, step) = (b.vector(&[-1])?, b.vector(&[i64::MIN])?, b.vector(&[-1])?);
        x = b.plain("Slice", &[x, start, stop, step, axes])?;
    }
    let k = b.index(1)?;
    let attrs = Attrs::new().with("axis", axis).with("mode", mode).with("sort", "value");
    let attrs = attrs.with("index_element_type", ElementType::I64).with("stable", true);
    let best = b.many("TopK", attrs, &[x, k], 2)?;
    let mut index = *best.get(1).ok_or(OpError::NotConnected { port: 1 })?;
    if last {
        let (shape, zero) = (b.shape_of(x)?, b.index(0)?);
        let size = b.plain("Gather", &[shape, axes, zero])?;
        let unit = b.index(1)?;
        let end = b.plain("Subtract", &[size, unit])?;
        index = b.plain("Subtract", &[end, index])?;
    }
    if keeps(b)? { Ok(index) } else { b.plain("Squeeze", &[index, axes]) }
}

fn cum_sum(b: &mut NodeBuilder) -> Result {
    let (x, axis) = (b.input(0)?, b.input(1)?);
    let axis = b.scalar(axis)?;
    let (exclusive, reverse) = (b.flag("exclusive", false)?, b.flag("reverse", false)?);
    b.make("CumSum", Attrs::new().with("exclusive", exclusive).with("reverse", reverse), &[x, axis])
}

/// Products of all elements up to each, by a matrix of what takes part: the IR has no op that remembers a product.
fn cumulative_product(b: &mut NodeBuilder) -> Result {
    let (whole, axis) = (b.input(0)?, b.input(1)?);
    let x = whole;
    let axis = b.scalar(axis)?;
    let axis = b.convert(axis, ElementType::I64)?;
    // The axis changes places with the last one, there and back.
    let last = b.rank(x)? as i64 - 1;
    let order: Vec<i64> = (0..=last).collect();
    let (order, last, count) = (b.vector(&order)?, b.index(last)?, b.index(last + 1)?);
    let axis = b.plain("FloorMod", &[axis, count])?;
    let (here, behind) = (b.plain("Equal", &[order, axis])?, b.plain("Equal", &[order, last])?);
    let order = b.plain("Select", &[behind, axis, order])?;
    let order = b.plain("Select", &[here, last, order])?;
    let x = b.plain("Transpose", &[x, order])?;
    let op_type = match (b.flag("reverse", false)?, b.flag("exclusive", false)?) {
        (false, false) => "LessEqual",
        (false, true) => "Less",
        (true, false) => "GreaterEqual",
        (true, true) => "Greater",
    };
    let size = b.size(x, -1)?;
    let factors = b.count_to(size)?;
    let results = b.unsqueeze(factors, &[-1])?;
    let takes_part = b.plain(op_type, &[factors, results])?;
    let (x, unit) = (b.unsqueeze(x, &[-2])?, b.number_like(x, 1.0)?);
    let factors = b.plain("Select", &[takes_part, x, unit])?;
    let products = b.reduced("ReduceProd", factors, &[-1], false)?;
    let products = b.plain("Transpose", &[products, order])?;
    // Inference knows the sizes by those of the data, whatever the axis.
    let sizes = b.shape_of(whole)?;
    b.reshape_to(products, sizes)
}
