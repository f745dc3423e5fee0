//! Reductions and cumulative operators.

use snick_ir::ops::movement::top_k::TopKMode;
use snick_ir::{Attrs, Op, OpError, Value, ops};
use snick_tensor::kernels::ReduceOp;
use snick_tensor::{ElementType, Tensor};

use super::{ImportEntry, one};
use crate::onnx::builder::{NodeBuilder, Result};

/// The attributes of most reductions.
const AXES: &str = "axes keepdims noop_with_empty_axes";

pub(super) const ENTRIES: &[ImportEntry] = &[
    one("ArgMax", &[1, 11, 12, 13], |b| arg(b, TopKMode::Max)).attrs("axis keepdims select_last_index"),
    one("ArgMin", &[1, 11, 12, 13], |b| arg(b, TopKMode::Min)).attrs("axis keepdims select_last_index"),
    one("CumProd", &[26], cumulative_product).attrs("exclusive reverse"),
    one("CumSum", &[11, 14], cum_sum).attrs("exclusive reverse"),
    one("ReduceL1", &[1, 11, 13, 18], |b| reduce(b, ReduceOp::L1)).attrs(AXES),
    one("ReduceL2", &[1, 11, 13, 18], |b| reduce(b, ReduceOp::L2)).attrs(AXES),
    one("ReduceLogSum", &[1, 11, 13, 18], |b| {
        let sum = reduce(b, ReduceOp::Sum)?;
        b.log(sum)
    })
    .attrs(AXES),
    one("ReduceLogSumExp", &[1, 11, 13, 18], log_sum_exp).attrs(AXES),
    one("ReduceMax", &[1, 11, 12, 13, 18, 20], |b| extreme(b, ReduceOp::Max, ReduceOp::LogicalOr))
        .attrs(AXES),
    one("ReduceMean", &[1, 11, 13, 18], |b| reduce(b, ReduceOp::Mean)).attrs(AXES),
    one("ReduceMin", &[1, 11, 12, 13, 18, 20], |b| extreme(b, ReduceOp::Min, ReduceOp::LogicalAnd))
        .attrs(AXES),
    one("ReduceProd", &[1, 11, 13, 18], |b| reduce(b, ReduceOp::Prod)).attrs(AXES),
    one("ReduceSum", &[1, 11, 13], |b| reduce(b, ReduceOp::Sum)).attrs(AXES),
    one("ReduceSumSquare", &[1, 11, 13, 18], |b| {
        let x = b.input(0)?;
        let square = b.multiply(x, x)?;
        reduce_value(b, ReduceOp::Sum, square, keeps(b)?)
    })
    .attrs(AXES),
];

/// The axes, from an attribute or from input 1. A missing list means all axes, or no axes if
/// `noop_with_empty_axes` is set.
fn axes(b: &mut NodeBuilder, data: Value) -> Result {
    let none_means_none = b.flag_attr("noop_with_empty_axes", false)?;
    let axes = match b.ints_attr("axes")? {
        Some(axes) => Some(b.ints(&axes)?),
        None => b.optional(1),
    };
    match axes {
        // An empty list then means no axes, as in OpenVINO, so the length of the list need not be known.
        Some(axes) if none_means_none => return Ok(axes),
        Some(axes) => match b.dims(axes) {
            Some(dims) if !dims.contains(&0) => return Ok(axes),
            Some(_) => {}
            None => return Err(OpError::unsupported("an unknown number of axes")),
        },
        None if none_means_none => return b.ints(&[]),
        None => {}
    }
    let all: Vec<i64> = (0..).take(b.rank(data)?).collect();
    b.ints(&all)
}

/// Whether a list of axes is known to be empty, so that the reduction does nothing.
fn is_empty(b: &NodeBuilder, axes: Value) -> bool {
    b.dims(axes).is_some_and(|dims| dims.contains(&0))
}

fn keeps(b: &NodeBuilder) -> Result<bool, OpError> {
    b.flag_attr("keepdims", true)
}

pub(super) fn reduce_value(b: &mut NodeBuilder, function: ReduceOp, x: Value, keep_dims: bool) -> Result {
    let axes = axes(b, x)?;
    // If a reduction over no axes is to drop dims, OpenVINO's CPU plug-in fails.
    let keep_dims = keep_dims || is_empty(b, axes);
    b.add_op(ops::Reduce { function, keep_dims }, &[x, axes])
}

fn reduce(b: &mut NodeBuilder, function: ReduceOp) -> Result {
    let (x, keep_dims) = (b.input(0)?, keeps(b)?);
    reduce_value(b, function, x, keep_dims)
}

fn extreme(b: &mut NodeBuilder, function: ReduceOp, of_booleans: ReduceOp) -> Result {
    let x = b.input(0)?;
    let boolean = b.element_type(x) == Ok(ElementType::Boolean);
    reduce(b, if boolean { of_booleans } else { function })
}

/// Adds a ReduceLogSumExp. Subtracts the maximum first, so that the exponentials do not overflow.
fn log_sum_exp(b: &mut NodeBuilder) -> Result {
    let (x, keep_dims) = (b.input(0)?, keeps(b)?);
    let greatest = reduce_value(b, ReduceOp::Max, x, true)?;
    // Subtracts 0 instead of an infinite maximum, because the difference of two infinities is NaN.
    let finite = b.ir_op("IsFinite", Attrs::new(), &[greatest])?;
    let greatest = b.select(finite, greatest, 0.0)?;
    let rest = b.subtract(x, greatest)?;
    let rest = b.exp(rest)?;
    let sum = reduce_value(b, ReduceOp::Sum, rest, true)?;
    let sum = b.log(sum)?;
    let sum = b.add(sum, greatest)?;
    if keep_dims {
        return Ok(sum);
    }
    let axes = axes(b, x)?;
    // Without axes, a Squeeze would drop all dims of size 1.
    if is_empty(b, axes) {
        return Ok(sum);
    }
    b.ir_op("Squeeze", Attrs::new(), &[sum, axes])
}

/// Adds an ArgMax or ArgMin, which selects the first of equal elements. To select the last one, the axis is
/// reversed.
fn arg(b: &mut NodeBuilder, mode: TopKMode) -> Result {
    let (mut x, axis) = (b.input(0)?, b.int_attr("axis", 0)?);
    if let Some(mut dims) = b.dims(x) {
        let of = b.axis(axis, dims.len())?;
        if std::mem::replace(&mut dims[of], 1) == 0 {
            // TopK rejects an empty axis even if there is nothing to reduce.
            if !dims.contains(&0) {
                return Err(OpError::mismatch(format!("the size of axis {of}"), 0, "1 or more"));
            }
            if !keeps(b)? {
                dims.remove(of);
            }
            return b.constant(Tensor::zeros(ElementType::I64, &dims)?);
        }
    }
    // For numpy, NaN is both the minimum and the maximum; for TopK, it is only the maximum. The minimum of
    // floats is therefore computed as the maximum of their negatives.
    let is_negated = mode == TopKMode::Min && b.element_type(x)?.is_float();
    let mode = if is_negated { TopKMode::Max } else { mode };
    if is_negated {
        x = b.ir_op("Negative", Attrs::new(), &[x])?;
    }
    let last = b.flag_attr("select_last_index", false)?;
    if last {
        x = b.slice8(x, &[-1], &[i64::MIN], &[-1], &[axis])?;
    }
    let k = b.int(1)?;
    let [_, mut index] = b.top_k(x, k, axis, mode)?;
    if last {
        let size = b.size_of(x, axis)?;
        let end = b.subtract(size, 1.0)?;
        index = b.subtract(end, index)?;
    }
    if keeps(b)? { Ok(index) } else { b.squeeze(index, &[axis]) }
}

fn cum_sum(b: &mut NodeBuilder) -> Result {
    let (x, axis) = (b.input(0)?, b.input(1)?);
    let axis = b.to_scalar(axis)?;
    let (exclusive, reverse) = (b.flag_attr("exclusive", false)?, b.flag_attr("reverse", false)?);
    b.add_op(ops::CumSum { exclusive, reverse }, &[x, axis])
}

/// Cumulative products. The IR has no such op, so a mask selects the factors of each product.
fn cumulative_product(b: &mut NodeBuilder) -> Result {
    let (whole, axis) = (b.input(0)?, b.input(1)?);
    let x = whole;
    let axis = b.to_scalar(axis)?;
    let axis = b.convert(axis, ElementType::I64)?;
    // Swaps the axis with the last one, and back at the end.
    let last = b.rank(x)? as i64 - 1;
    let order: Vec<i64> = (0..=last).collect();
    let (order, last, count) = (b.ints(&order)?, b.int(last)?, b.int(last + 1)?);
    let axis = b.floor_mod(axis, count)?;
    let (here, behind) = (b.equal(order, axis)?, b.equal(order, last)?);
    let order = b.select(behind, axis, order)?;
    let order = b.select(here, last, order)?;
    let x = b.add_op(ops::Transpose, &[x, order])?;
    let order_of_products: Op = match (b.flag_attr("reverse", false)?, b.flag_attr("exclusive", false)?) {
        (false, false) => ops::LessEqual::default().into(),
        (false, true) => ops::Less::default().into(),
        (true, false) => ops::GreaterEqual::default().into(),
        (true, true) => ops::Greater::default().into(),
    };
    let size = b.size_of(x, -1)?;
    let factors = b.count_to(size)?;
    let results = b.unsqueeze(factors, &[-1])?;
    let takes_part = b.add_op(order_of_products, &[factors, results])?;
    let x = b.unsqueeze(x, &[-2])?;
    let factors = b.select(takes_part, x, 1.0)?;
    let products = b.reduce_prod(factors, &[-1], false)?;
    let products = b.add_op(ops::Transpose, &[products, order])?;
    // The result has the same shape as the data. Inference cannot derive this if the axis is unknown, so a
    // Reshape is added.
    let sizes = b.shape_of(whole)?;
    b.reshape_copying(products, sizes)
}
