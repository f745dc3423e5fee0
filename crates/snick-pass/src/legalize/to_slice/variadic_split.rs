//! VariadicSplit: a slice for each output that has readers, or the data itself. If the lengths do not match
//! the axis, the first slice fails.

use snick_ir::ops::slice::dyn_axis_slice::DynAxisSlice;
use snick_ir::ops::slice::split::known_axis;
use snick_ir::ops::slice::variadic_split::constant_lengths;
use snick_ir::rewrite::{Patch, RewriteResult};
use snick_ir::{IntOrValue, OpError};
use snick_shape::{Interval, SymExpr};
use snick_tensor::{ElementType, SmallVector};

use IntOrValue::Int;

use super::range::poison_if;

/// The start and length of each part.
type Parts = Vec<(IntOrValue, IntOrValue)>;

pub(super) fn lower(cx: &mut Patch) -> Result<RewriteResult, OpError> {
    let facts = cx.input_facts()?;
    let Some(dims) = facts[0].shape.dims() else {
        return Ok(RewriteResult::Declined("the rank of the data is unknown".into()));
    };
    let Some(axis) = known_axis(facts[1], dims.len())? else {
        return Ok(RewriteResult::Declined("which axis is split is known only at run time".into()));
    };
    let (dim, lengths) = (dims[axis].clone(), facts[2].ints());
    let parts = match constant_lengths(facts[2]).or(lengths.map(SmallVector::into_vec)) {
        Some(lengths) => known_parts(cx, axis, &dim, &lengths)?,
        None => computed_parts(cx, axis)?,
    };
    slice_parts(cx, axis, &dim, parts)
}

/// The parts if the lengths are known. One length may be -1, which means the rest of the axis.
fn known_parts(cx: &mut Patch, axis: usize, dim: &SymExpr, lengths: &[i64]) -> Result<Parts, OpError> {
    let data = cx.input(0)?;
    let rest = lengths.iter().position(|&len| len == -1);
    let used = cx.used_outputs();
    let is_used = |port: usize| used.get(port).is_some_and(|&is_used| is_used);
    // The size of the axis minus `taken`. If the axis is dynamic and no layer reads the part, uses 0 instead,
    // because the size is not needed.
    let left = |cx: &mut Patch, port: usize, taken: i64| match is_used(port) || dim.as_const().is_some() {
        true => IntOrValue::dim(cx, data, axis)?.sub(cx, Int(taken)),
        false => Ok(Int(0)),
    };
    // For each part, the number of elements in it and all later parts.
    let mut behind: Vec<i64> = lengths.to_vec();
    let mut sum = 0i64;
    for len in behind.iter_mut().rev() {
        sum = sum.saturating_add((*len).max(0));
        *len = sum;
    }
    let mut before = 0i64;
    let mut parts = Parts::with_capacity(lengths.len());
    for (k, &length) in lengths.iter().enumerate() {
        let len = match (rest == Some(k), cx.output_dim(k as u32, axis)?.as_const()) {
            (false, _) => Int(length),
            (true, Some(len)) => Int(len),
            (true, None) => left(cx, k, sum)?,
        };
        let start = match rest {
            // For parts after the rest, the start is counted from the end.
            Some(rest) if k > rest => left(cx, k, behind[k])?,
            _ => Int(before),
        };
        before = before.saturating_add(length.max(0));
        parts.push((start, len));
    }
    // If the other lengths exceed the size of the axis, the length of the rest is negative, and a slice of
    // this length fails. The check below is therefore only needed if no layer reads the rest.
    let fails = rest.is_some_and(is_used);
    if dim.as_const().is_none() && !fails {
        let size = IntOrValue::dim(cx, data, axis)?;
        let left = size.sub(cx, Int(sum))?;
        let mut fault = Int(0).sub(cx, left)?.max(cx, Int(0))?;
        if rest.is_none() {
            fault = fault.max(cx, left)?;
        }
        poison_first(cx, &mut parts, fault, size)?;
    }
    Ok(parts)
}

/// The parts if the lengths are only known at run time. One of them may be -1.
fn computed_parts(cx: &mut Patch, axis: usize) -> Result<Parts, OpError> {
    let count = cx.node().outs().len();
    let (data, lengths) = (cx.input(0)?, cx.input(2)?);
    let size = IntOrValue::dim(cx, data, axis)?;
    let lengths = cx.convert(lengths, ElementType::I64)?;
    let mut raw = Vec::with_capacity(count);
    for k in 0..count {
        raw.push(IntOrValue::element(cx, lengths, k)?);
    }
    let mut sum = Int(0);
    for len in &raw {
        let len = len.max(cx, Int(0))?;
        sum = sum.add(cx, len)?;
    }
    let left = size.sub(cx, sum)?;
    let mut start = Int(0);
    let mut parts = Parts::with_capacity(count);
    // The lengths must not exceed the axis. If none is -1, they must also cover the axis.
    let missing = Int(0).sub(cx, left)?.max(cx, Int(0))?;
    let mut fault = missing.max(cx, left)?;
    for len in raw {
        let is_rest = len.less(cx, Int(0))?;
        fault = is_rest.select(cx, missing, fault)?;
        let len = is_rest.select(cx, left, len)?;
        parts.push((start, len));
        start = start.add(cx, len)?;
    }
    poison_first(cx, &mut parts, fault, size)?;
    Ok(parts)
}

/// If `fault` is positive, makes the slice for the first used output fail.
fn poison_first(
    cx: &mut Patch,
    parts: &mut Parts,
    fault: IntOrValue,
    size: IntOrValue,
) -> Result<(), OpError> {
    let first = cx.used_outputs().into_iter().zip(parts).find(|(is_used, _)| *is_used);
    if let Some((_, (start, _))) = first {
        *start = poison_if(cx, fault, *start, size)?;
    }
    Ok(())
}

/// Adds a slice for each output that is read.
fn slice_parts(cx: &mut Patch, axis: usize, dim: &SymExpr, parts: Parts) -> Result<RewriteResult, OpError> {
    let data = cx.input(0)?;
    let sizes = cx.interval(dim);
    let starts = Interval::new(0, sizes.hi()).unwrap_or(Interval::DIM);
    let mut values = Vec::new();
    for ((port, is_used), (start, len)) in (0..).zip(cx.used_outputs()).zip(parts) {
        if !is_used {
            values.push(None);
            continue;
        }
        let out = cx.output_dim(port, axis)?;
        if out == *dim && start == Int(0) {
            values.push(Some(data));
            continue;
        }
        let lens = cx.interval(&out);
        let slice = DynAxisSlice { start: start.within(starts), len: len.within(lens), step: Int(1) };
        values.push(Some(cx.slice(data, [(axis, slice)])?));
    }
    Ok(RewriteResult::Replaced(values))
}
