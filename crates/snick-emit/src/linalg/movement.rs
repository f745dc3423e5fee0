//! Operations that move elements without computing.

use super::code::parts;
use super::generic::Access;
use super::lowering::{Lowering, Result, result};
use super::reshape::without_axes;
use super::slices::{insert, slice};
use super::types::{AxisSlice, Num, Tensor, known_sizes, malformed};
use crate::stablehlo::hlo::Op;

/// The numbers 0, 1, 2 .. along an axis.
pub(super) fn iota(l: &mut Lowering, op: &Op, axis: usize) -> Result<Tensor> {
    let id = result(op)?;
    let ty = l.type_of(id);
    let sizes = match op.operands.len() {
        0 => vec![Num::Const(0); ty.rank()],
        _ => l.operand_numbers(op, 0)?,
    };
    l.map(l.name(id), &[], &ty, &sizes, |l, _| {
        let place = l.coordinate(axis);
        let integer = if ty.element.is_float() { "i64" } else { ty.scalar() };
        let place = l.code.scalar_of(place, integer);
        match ty.element.is_float() {
            true => Ok(l.code.op("", parts!["arith.sitofp ", place, format!(" : i64 to {}", ty.scalar())])),
            false => Ok(place),
        }
    })
}

/// Broadcasts. An axis whose size may be 1 at run time, while the size of the result is not, selects its
/// position at run time.
pub(super) fn broadcast(l: &mut Lowering, op: &Op, axes: &[usize]) -> Result<Tensor> {
    let (id, from) = (result(op)?, *op.operands.first().ok_or_else(|| malformed("a broadcast"))?);
    let ty = l.type_of(id);
    if let Some(uniform) = l.uniform.get(&from).cloned() {
        l.uniform.insert(id, uniform);
    }
    let x = l.operand(op, 0)?;
    let sizes = match op.operands.len() {
        1 => vec![Num::Const(0); ty.rank()],
        _ => l.operand_numbers(op, 1)?,
    };
    let sizes = known_sizes(&ty, &sizes);
    if let Some(uniform) = l.uniform.get(&from).cloned() {
        let element = l.literal(&uniform, ty.element);
        return Ok(l.filled(element, &ty, &sizes));
    }
    let is_one = |axis: usize| x.ty.dims[axis] == Some(1) && sizes[axes[axis]] != Num::Const(1);
    let ones: Vec<usize> = (0..x.rank()).filter(|&axis| is_one(axis)).collect();
    let kept: Vec<usize> = (0..x.rank()).filter(|&axis| !is_one(axis)).collect();
    let values = &l.function.values;
    let same_graph = values[from].graph == values[id].graph;
    let may_differ = |axis: usize| {
        let equal = same_graph && values[from].ty.dims[axis] == values[id].ty.dims[axes[axis]];
        !equal && x.sizes[axis] != sizes[axes[axis]]
    };
    if !kept.iter().any(|&axis| may_differ(axis)) {
        let narrow = without_axes(l, &x, &ones);
        let inputs = [Access::axes(&narrow, kept.iter().map(|&axis| axes[axis]))];
        return l.map(l.name(id), &inputs, &ty, &sizes, |_, values| Ok(values[0]));
    }
    let open: Vec<bool> = (0..x.rank()).map(may_differ).collect();
    let mut are_one = Vec::with_capacity(x.rank());
    for (&size, is_open) in x.sizes.iter().zip(open) {
        are_one.push(is_open.then(|| l.code.compare("eq", size, Num::Const(1))));
    }
    l.map(l.name(id), &[], &ty, &sizes, |l, _| {
        let mut at = Vec::with_capacity(x.rank());
        for axis in 0..x.rank() {
            let place = l.coordinate(axes[axis]);
            at.push(match are_one[axis] {
                _ if ones.contains(&axis) => Num::Const(0),
                Some(is_one) => l.code.choose(is_one, Num::Const(0), place),
                None => place,
            });
        }
        Ok(l.code.element(&x, &at))
    })
}

/// Permutes the axes.
pub(super) fn transpose(l: &mut Lowering, op: &Op, order: &[usize]) -> Result<Tensor> {
    let (x, id) = (l.operand(op, 0)?, result(op)?);
    let ty = l.type_of(id);
    let sizes: Vec<Num> = order.iter().map(|&axis| x.sizes[axis]).collect();
    transposed(l, l.name(id), &x, order, &ty, &sizes)
}

fn transposed(
    l: &mut Lowering,
    name: &str,
    x: &Tensor,
    order: &[usize],
    ty: &super::types::TensorType,
    sizes: &[Num],
) -> Result<Tensor> {
    let empty = l.empty(ty, sizes);
    let text = parts![
        "linalg.transpose ins(",
        x.value,
        " : ",
        &x.ty,
        ") outs(",
        empty.value,
        " : ",
        ty,
        format!(") permutation = {order:?}")
    ];
    let value = l.code.op(name, text);
    Ok(Tensor { value, ..empty })
}

/// Reverses axes. A slice is reversed while it is taken.
pub(super) fn reverse(l: &mut Lowering, op: &Op, axes: &[usize]) -> Result<Tensor> {
    let (y, id) = (l.operand(op, 0)?, result(op)?);
    let slice = op.operands.first().and_then(|x| l.slices.get(x)).cloned();
    let whole = || y.sizes.iter().map(|&size| AxisSlice { first: Num::Const(0), size, step: Num::Const(1) });
    let (x, slices) = slice.unwrap_or_else(|| (y.clone(), whole().collect()));
    // The first place that is read, and the step.
    let mut ends = Vec::with_capacity(x.rank());
    for (axis, slice) in slices.iter().enumerate() {
        let last = l.code.subtract(slice.size, Num::Const(1));
        let reach = l.code.multiply(last, slice.step);
        let last = l.code.add(slice.first, reach);
        ends.push(if axes.contains(&axis) { Some(last) } else { None });
    }
    l.map(l.name(id), &[], &y.ty, &y.sizes, |l, _| {
        let mut at = Vec::with_capacity(x.rank());
        for (axis, (slice, last)) in slices.iter().zip(&ends).enumerate() {
            let place = l.coordinate(axis);
            let reach = l.code.multiply(place, slice.step);
            at.push(match *last {
                Some(last) => l.code.subtract(last, reach),
                None => l.code.add(slice.first, reach),
            });
        }
        Ok(l.code.element(&x, &at))
    })
}

/// Joins tensors along an axis.
pub(super) fn concatenate(l: &mut Lowering, op: &Op, axis: usize) -> Result<Tensor> {
    let id = result(op)?;
    let ty = l.type_of(id);
    let parts: Vec<Tensor> = (0..op.operands.len()).map(|i| l.operand(op, i)).collect::<Result<_>>()?;
    let first = parts.first().ok_or_else(|| malformed("a concatenation"))?;
    let (mut starts, mut end) = (Vec::with_capacity(parts.len()), Num::Const(0));
    for part in &parts {
        starts.push(end);
        end = l.code.add(end, part.sizes[axis]);
    }
    let mut sizes = first.sizes.clone();
    sizes[axis] = end;
    let mut all = l.empty(&ty, &sizes);
    for (part, start) in parts.iter().zip(starts) {
        if part.ty.dims[axis] == Some(0) {
            continue;
        }
        let mut place = vec![Num::Const(0); ty.rank()];
        place[axis] = start;
        // On the other axes, a part is as long as the result, even if its own type does not say so.
        let own = part.sizes.iter().zip(&all.sizes).enumerate();
        let own: Vec<Num> = own.map(|(i, (&own, &other))| if i == axis { own } else { other }).collect();
        let part = Tensor { sizes: own, ..part.clone() };
        all = insert(l, l.name(id), &part, &all, &place);
    }
    Ok(all)
}

/// Pads with known numbers of elements.
pub(super) fn pad(l: &mut Lowering, op: &Op, low: &[i64], high: &[i64]) -> Result<Tensor> {
    let numbers = |counts: &[i64]| counts.iter().copied().map(Num::Const).collect::<Vec<_>>();
    padding(l, op, &numbers(low), &numbers(high))
}

pub(super) fn dynamic_pad(l: &mut Lowering, op: &Op) -> Result<Tensor> {
    let (low, high) = (l.operand_numbers(op, 2)?, l.operand_numbers(op, 3)?);
    padding(l, op, &low, &high)
}

fn padding(l: &mut Lowering, op: &Op, low: &[Num], high: &[Num]) -> Result<Tensor> {
    let x = l.operand(op, 0)?;
    let value = l.scalar(*op.operands.get(1).ok_or_else(|| malformed("a pad"))?)?;
    padded(l, l.name(result(op)?), &x, value, low, high)
}

/// Pads with a scalar. Negative numbers remove elements first.
pub(super) fn padded(
    l: &mut Lowering,
    name: &str,
    x: &Tensor,
    value: super::types::Value,
    low: &[Num],
    high: &[Num],
) -> Result<Tensor> {
    if low.len() != x.rank() || high.len() != x.rank() {
        return Err(malformed("a pad"));
    }
    let (mut cut, mut before, mut after) = (vec![], vec![], vec![]);
    for axis in 0..x.rank() {
        let mut dropped = |number: Num| {
            let opposite = l.code.subtract(Num::Const(0), number);
            let dropped = l.code.maximum(opposite, Num::Const(0));
            (dropped, l.code.maximum(number, Num::Const(0)))
        };
        let ((first, low), (last, high)) = (dropped(low[axis]), dropped(high[axis]));
        let size = l.code.subtract(x.sizes[axis], first);
        let size = l.code.subtract(size, last);
        cut.push(AxisSlice { first, size, step: Num::Const(1) });
        before.push(low);
        after.push(high);
    }
    let is_cut =
        cut.iter().zip(&x.sizes).any(|(axis, &size)| axis.first != Num::Const(0) || axis.size != size);
    let x = match is_cut {
        true => {
            let ty = x.ty.with_dims(cut.iter().map(|axis| axis.size.as_const()).collect());
            slice(l, "", x, &cut, &ty)
        }
        false => x.clone(),
    };
    if before.iter().chain(&after).all(|&number| number == Num::Const(0)) {
        return Ok(x);
    }
    let mut sizes = Vec::with_capacity(x.rank());
    for axis in 0..x.rank() {
        let size = l.code.add(x.sizes[axis], before[axis]);
        sizes.push(l.code.add(size, after[axis]));
    }
    let known = |axis: usize| Some(x.ty.dims[axis]? + before[axis].as_const()? + after[axis].as_const()?);
    let ty = x.ty.with_dims((0..x.rank()).map(known).collect());
    let outside = l.open();
    let arguments: Vec<_> = (0..x.rank()).map(|_| (l.code.value(""), "index".to_string())).collect();
    l.code.push(vec![], parts!["tensor.yield ", value, format!(" : {}", ty.scalar())]);
    let block = l.close(outside, arguments);
    let text = parts![
        "tensor.pad ",
        x.value,
        " low[",
        &before,
        "] high[",
        &after,
        "] ",
        block,
        " : ",
        &x.ty,
        " to ",
        &ty
    ];
    let value = l.code.op(name, text);
    Ok(Tensor::new(value, ty, &sizes))
}
