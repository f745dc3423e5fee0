//! Ops that move elements.

use snick_ir::ops::ReverseSequence;
use snick_ir::ops::movement::reverse::Mode;
use snick_ir::ops::nn::blocks::{Blocks, ChannelOrder};
use snick_ir::{Op, OpError};
use snick_tensor::ElementType;
use snick_tensor::kernels::PadMode;

use super::axes::to_front;
use super::emitter::{Emitter, Result, int, ints, text};
use super::row::OpRow;
use super::types::{MOVED, OF_BLOCKS, PADDED};
use crate::layer::Layer;

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        Op::Concat(op) => OpRow::new(|e| e.last("Concat", &e.inputs(), vec![int("axis", op.axis)]))
            .every_type()
            .lacks(MOVED),
        Op::DepthToSpace(op) => {
            OpRow::new(|e| depth_to_space(e, &op.blocks)).lacks(OF_BLOCKS).only(is_of_images)
        }
        Op::Pad(op) => OpRow::new(|e| pad(e, op.pad_mode))
            .every_type()
            .lacks(PADDED)
            .only(|_| op.pad_mode != PadMode::Symmetric),
        Op::Reverse(op) => OpRow::new(|e| reverse(e, op.mode)).every_type().lacks(MOVED),
        Op::ReverseSequence(op) => OpRow::new(|e| reverse_sequence(e, op)),
        Op::Roll(_) => OpRow::new(roll).every_type().lacks(MOVED),
        Op::SpaceToDepth(op) => OpRow::new(|e| {
            let attrs = vec![int("blocksize", op.blocks.block_size)];
            e.last("SpaceToDepth", &e.inputs(), attrs)
        })
        .lacks(OF_BLOCKS)
        .only(|layer| is_of_images(layer) && op.blocks.mode == ChannelOrder::BlocksFirst),
        Op::Tile(_) => OpRow::new(tile),
        Op::Transpose(_) => OpRow::new(transpose).every_type(),
        _ => return None,
    })
}

fn depth_to_space(e: &mut Emitter, blocks: &Blocks) -> Result {
    let mode = match blocks.mode {
        ChannelOrder::BlocksFirst => "DCR",
        ChannelOrder::DepthFirst => "CRD",
    };
    let attrs = vec![int("blocksize", blocks.block_size), text("mode", mode)];
    e.last("DepthToSpace", &e.inputs(), attrs)
}

fn is_of_images(layer: &Layer) -> bool {
    layer.fact(0).is_ok_and(|fact| fact.shape.rank() == Some(4))
}

fn pad(e: &mut Emitter, mode: PadMode) -> Result {
    let name = match mode {
        PadMode::Constant => "constant",
        PadMode::Edge => "edge",
        PadMode::Reflect => "reflect",
        PadMode::Symmetric => return Err(OpError::unsupported("symmetric padding")),
    };
    let (data, begin, end) = (e.input(0)?, e.input_i64(1)?, e.input_i64(2)?);
    let pads = match (e.known(1), e.known(2)) {
        (Some(begin), Some(end)) => e.vector(&[begin, end].concat())?,
        _ => e.node("Concat", &[begin, end], vec![int("axis", 0)]),
    };
    let mut inputs = vec![data, pads];
    if mode == PadMode::Constant && e.len() > 3 {
        inputs.push(e.input(3)?);
    }
    e.last("Pad", &inputs, vec![text("mode", name)])
}

/// Transposes the batch axis and the sequence axis to the front, and back, if they are not among the first
/// two.
fn reverse_sequence(e: &mut Emitter, op: &ReverseSequence) -> Result {
    let rank = e.rank(0)?;
    let axis = |axis| Ok::<_, OpError>(snick_ir::normalize_axis(axis, rank)? as i64);
    let (batch, time) = (axis(op.batch_axis)?, axis(op.seq_axis)?);
    if e.element_type(1)?.is_float() {
        return Err(OpError::unsupported("lengths that are real numbers"));
    }
    let (x, lengths) = (e.input(0)?, e.input_i64(1)?);
    if batch.max(time) <= 1 {
        let attrs = vec![int("batch_axis", batch), int("time_axis", time)];
        return e.last("ReverseSequence", &[x, lengths], attrs);
    }
    let (order, back) = to_front(rank, &[batch, time]);
    let x = e.transposed(&x, &order);
    let attrs = vec![int("batch_axis", 0), int("time_axis", 1)];
    let y = e.node("ReverseSequence", &[x, lengths], attrs);
    e.last("Transpose", &[y], vec![ints("perm", back)])
}

/// Reverses the axes that are given by a list or a mask.
fn reverse(e: &mut Emitter, mode: Mode) -> Result {
    let x = e.input(0)?;
    let mut axes: Vec<i64> = if mode == Mode::Mask {
        let mask = e.fact(1)?.as_tensor().and_then(|mask| mask.cast(ElementType::U8).ok()?.to_i64_vec().ok());
        let mask = mask.ok_or_else(|| OpError::unsupported("a mask known only at run time"))?;
        (0..).zip(mask).filter(|(_, reversed)| *reversed != 0).map(|(axis, _)| axis).collect()
    } else {
        e.fixed(1, "the axes")?
    };
    // The list may repeat an axis, which Slice does not allow.
    axes.sort_unstable();
    axes.dedup();
    if axes.is_empty() {
        return e.last("Identity", &[x], vec![]);
    }
    let [starts, ends, steps] = [-1, i64::MIN, -1].map(|bound| vec![bound; axes.len()]);
    let bounds = [e.vector(&starts)?, e.vector(&ends)?, e.vector(&axes)?, e.vector(&steps)?];
    e.last("Slice", &[&x, &bounds[0], &bounds[1], &bounds[2], &bounds[3]], vec![])
}

/// Rotates elements along axes.
fn roll(e: &mut Emitter) -> Result {
    let axes = e.fixed(2, "the axes")?;
    let shifts = e.input_i64(1)?;
    let one = e.vector(&[1])?;
    let shifts = e.reshaped(&shifts, &[-1])?;
    let single = e.fact(1)?.shape.element_count() == Some(1);
    let mut value = e.input(0)?;
    for (i, axis) in (0..).zip(axes) {
        let at = if single { 0 } else { i };
        let shift = e.cut(&shifts, 0, at, at + 1)?;
        let size = e.size(&value, axis)?;
        // Avoids a division by zero for an empty axis.
        let divisor = e.larger(&size, &one);
        let shift = e.node("Mod", &[shift, divisor], vec![int("fmod", 0)]);
        let place = e.node("Sub", &[&size, &shift], vec![]);
        let (zero, axes) = (e.vector(&[0])?, e.vector(&[axis])?);
        let tail = e.node("Slice", &[&value, &place, &size, &axes], vec![]);
        let head = e.node("Slice", &[&value, &zero, &place, &axes], vec![]);
        value = e.joined(&[tail, head], axis);
    }
    e.last("Identity", &[value], vec![])
}

/// ONNX needs one repeat per axis. Prepends axes of size 1 or repeats of 1, whichever are missing.
fn tile(e: &mut Emitter) -> Result {
    let (mut x, mut repeats, rank) = (e.input(0)?, e.input_i64(1)?, e.rank(0)?);
    let count = match e.fact(1)?.shape.as_static().as_deref() {
        Some(&[count]) => count,
        _ => return Err(OpError::unsupported("repeats of unknown number")),
    };
    if count > rank {
        let axes: Vec<i64> = (0..(count - rank) as i64).collect();
        x = e.unsqueezed(&x, &axes)?;
    } else if count < rank {
        let ones = e.vector(&vec![1; rank - count])?;
        repeats = e.joined(&[ones, repeats], 0);
    }
    e.last("Tile", &[x, repeats], vec![])
}

/// An empty order reverses the axes, as does a missing order in ONNX.
fn transpose(e: &mut Emitter) -> Result {
    let order = e.fixed(1, "the order of axes")?;
    let x = e.input(0)?;
    let attrs = if order.is_empty() { vec![] } else { vec![ints("perm", order)] };
    e.last("Transpose", &[x], attrs)
}
