//! Ops that change shapes.

use snick_ir::ops::Broadcast;
use snick_ir::ops::shape::broadcast::BroadcastMode;
use snick_ir::{Op, OpError};
use snick_shape::SymExpr;

use super::data_sizes;
use super::emitter::{Emitter, Result};
use super::row::OpRow;

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        Op::Broadcast(op) => OpRow::new(|e| broadcast(e, op)),
        Op::Reshape(op) => OpRow::new(|e| {
            let x = e.input(0)?;
            if data_sizes::has_unknown_sizes(e)? {
                data_sizes::learn_reshape(e, &x, op.special_zero)?;
            }
            reshape(e)
        }),
        Op::Identity(_) | Op::Squeeze(_) | Op::Unsqueeze(_) => OpRow::new(reshape),
        Op::Range(_) => OpRow::new(range),
        Op::ShapeOf(_) => OpRow::new(shape_of),
        Op::Tile(_) => OpRow::new(tile),
        Op::Transpose(_) => OpRow::new(transpose),
        _ => return None,
    })
}

/// Writes any operation that only changes sizes.
fn reshape(e: &mut Emitter) -> Result {
    let (x, dims) = (e.input(0)?, e.output(0)?.dims);
    let y = e.reshape(&x, dims)?;
    e.give(0, y)
}

/// Reads the sizes of the value itself, including sizes that do not follow from the sizes of arguments.
fn shape_of(e: &mut Emitter) -> Result {
    let (x, ty) = (e.input(0)?, e.output(0)?);
    let sizes = e.vector(x.ty.dims)?;
    let y = e.convert(&sizes, ty.element);
    e.give(0, y)
}

fn transpose(e: &mut Emitter) -> Result {
    let x = e.input(0)?;
    let order = e.fixed(1, "an order of axes")?;
    let order: Vec<usize> = match order.is_empty() {
        true => (0..x.ty.rank()).rev().collect(),
        false => order.iter().filter_map(|&axis| usize::try_from(axis).ok()).collect(),
    };
    let y = e.transpose(&x, &order);
    e.give(0, y)
}

fn broadcast(e: &mut Emitter, op: &Broadcast) -> Result {
    let (x, dims) = (e.input(0)?, e.output(0)?.dims);
    if data_sizes::has_unknown_sizes(e)? && op.mode() != BroadcastMode::Bidirectional {
        data_sizes::learn_broadcast(e)?;
    }
    let y = match (op.mode(), e.len()) {
        (BroadcastMode::Explicit, 3) => {
            let axes = e.fixed(2, "the axes of a broadcast")?;
            let axes: Vec<usize> = axes.iter().filter_map(|&axis| usize::try_from(axis).ok()).collect();
            e.spread(&x, &axes, dims)?
        }
        (BroadcastMode::Pdpd, _) => return Err(OpError::unsupported("Broadcast of mode pdpd")),
        (BroadcastMode::Bidirectional, _) => {
            // The target shape is independent of the shape of the input.
            let target = e.elements(1).unwrap_or_default();
            e.meet(&[&x.ty.dims, &target], &dims)?;
            e.broadcast(&x, dims)?
        }
        _ => e.broadcast(&x, dims)?,
    };
    e.give(0, y)
}

/// Computes `start + i * step` for each index `i`. The number of elements is known from inference.
fn range(e: &mut Emitter) -> Result {
    let ty = e.output(0)?;
    let (start, step) = (e.input(0)?, e.input(2)?);
    if data_sizes::has_unknown_sizes(e)? {
        let count = data_sizes::count(e, ty.element)?;
        ty.dims.iter().for_each(|dim| e.function.learn(dim, &count));
    }
    let (start, step) = (e.convert(&start, ty.element), e.convert(&step, ty.element));
    let (start, step) = (e.everywhere(&start, &ty.dims)?, e.everywhere(&step, &ty.dims)?);
    let steps = e.iota(0, ty)?;
    let reach = e.same("multiply", &[&steps, &step]);
    let y = e.same("add", &[&start, &reach]);
    e.give(0, y)
}

/// Splits each axis into two, repeats along the first of the two, and merges them again.
fn tile(e: &mut Emitter) -> Result {
    let (x, dims) = (e.input(0)?, e.output(0)?.dims);
    let missing = dims.len().saturating_sub(x.ty.rank());
    let own = [vec![SymExpr::from(1); missing], x.ty.dims.clone()].concat();
    let x = e.reshape(&x, &own)?;
    let repeats = e.elements(1);
    let (mut pairs, mut axes) = (Vec::new(), Vec::new());
    for (axis, (size, all)) in own.into_iter().zip(&dims).enumerate() {
        axes.push(pairs.len() + 1);
        // A list of known repeats may be shorter than the rank of the output.
        let repeat = match (&repeats, size.as_const(), all.as_const()) {
            (_, Some(size), Some(all)) => all.checked_div(size).unwrap_or(1).into(),
            (Some(repeats), ..) => {
                let place = (axis + repeats.len()).checked_sub(dims.len());
                place.and_then(|place| repeats.get(place).cloned()).unwrap_or_else(|| 1.into())
            }
            (None, Some(1), _) => all.clone(),
            _ => return Err(OpError::unsupported("repeats known only at run time")),
        };
        pairs.extend([repeat, size]);
    }
    let repeated = e.spread(&x, &axes, pairs)?;
    let y = e.reshape(&repeated, dims)?;
    e.give(0, y)
}
