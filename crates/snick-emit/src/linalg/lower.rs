//! Lowers the typed StableHLO module: calls the file of each family of operations. An operation becomes operations on
//! tensors, or arithmetic on numbers if it only computes sizes.

use super::lowering::{Lowering, Result, result};
use super::types::malformed;
use super::{
    control, convolution, elementwise, gather, movement, product, reduce, reshape, scatter, shape, slices,
    sort, window,
};
use crate::stablehlo::hlo::{Op, OpKind};

/// Lowers an operation, including its regions.
pub(super) fn lower(l: &mut Lowering, op: &Op) -> Result {
    if shape::lower(l, op)? {
        return Ok(());
    }
    match &op.kind {
        OpKind::While => return control::repeat(l, op),
        OpKind::If => return control::branch(l, op),
        OpKind::Sort(axis) => return sort::lower(l, op, *axis),
        OpKind::Constant(literal) => return l.constant(op, literal),
        OpKind::Assert(message) => return control::assert(l, op, message),
        _ => {}
    }
    let y = match &op.kind {
        OpKind::Elementwise(_) | OpKind::Mixed(_) | OpKind::Compare(_) | OpKind::Select => {
            elementwise::lower(l, op)?
        }
        OpKind::Iota(axis) | OpKind::DynamicIota(axis) => movement::iota(l, op, *axis)?,
        OpKind::Reshape | OpKind::DynamicReshape => reshape::lower(l, op)?,
        OpKind::BroadcastInDim(axes) | OpKind::DynamicBroadcastInDim(axes) => {
            movement::broadcast(l, op, axes)?
        }
        OpKind::Transpose(order) => movement::transpose(l, op, order)?,
        OpKind::Reverse(axes) => movement::reverse(l, op, axes)?,
        OpKind::Concatenate(axis) => movement::concatenate(l, op, *axis)?,
        OpKind::Pad { low, high } => movement::pad(l, op, low, high)?,
        OpKind::DynamicPad => movement::dynamic_pad(l, op)?,
        OpKind::Slice(_) | OpKind::DynamicSlice(_) | OpKind::RealDynamicSlice => slices::lower(l, op)?,
        OpKind::DynamicUpdateSlice => slices::update(l, op)?,
        OpKind::DotGeneral { batch, contracting, .. } => product::lower(l, op, batch, contracting)?,
        OpKind::Convolution(convolution) => convolution::lower(l, op, convolution)?,
        OpKind::ReduceWindow(window) => window::lower(l, op, window)?,
        OpKind::Reduce { combine, axes } => reduce::lower(l, op, combine, axes)?,
        OpKind::Gather(gather) => gather::lower(l, op, gather)?,
        OpKind::Scatter(scatter) => scatter::lower(l, op, scatter)?,
        _ => return Err(malformed(op.kind.name())),
    };
    let id = result(op)?;
    let y = l.cast(&y, &l.type_of(id));
    l.tensors.insert(id, y);
    Ok(())
}
