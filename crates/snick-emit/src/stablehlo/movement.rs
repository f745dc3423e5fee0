//! Elements to other places.

use snick_ir::{Op, OpError};
use snick_tensor::kernels::PadMode;

use super::emitter::{Emitter, Operand, Written};
use super::table::Form::{self, By};

pub(super) const ROWS: &[(&str, Form)] = &[
    ("Concat", By(concat)),
    ("DepthToSpace", By(depth_to_space)),
    ("Pad", By(pad)),
    ("Reverse", By(reverse)),
    ("Roll", By(roll)),
    ("ShuffleChannels", By(shuffle_channels)),
    ("SpaceToDepth", By(space_to_depth)),
];

fn concat(e: &mut Emitter) -> Written {
    let parts = e.inputs()?;
    let rank = e.output(0)?.rank();
    let axis = snick_ir::normalize_axis(e.int("axis")?, rank)?;
    let y = e.concatenate(&parts, axis);
    e.give(0, y)
}

fn reverse(e: &mut Emitter) -> Written {
    let x = e.input(0)?;
    let entries = e.fixed(1, "the axes to reverse")?;
    let axes: Vec<usize> = match e.word("mode")?.as_str() {
        "mask" => (0..).zip(&entries).filter(|(_, entry)| **entry != 0).map(|(axis, _)| axis).collect(),
        _ => super::reduction::axes(e, 1, x.ty.rank())?,
    };
    let y = e.reverse(&x, &axes);
    e.give(0, y)
}

/// The end of an axis is put in front of its beginning.
fn roll(e: &mut Emitter) -> Written {
    let mut x = e.input(0)?;
    let (shifts, axes) = (e.fixed(1, "shifts")?, e.fixed(2, "axes")?);
    for (i, &axis) in axes.iter().enumerate() {
        let axis = snick_ir::normalize_axis(axis, x.ty.rank())?;
        let size = x.ty.dims[axis];
        let shift = shifts.get(i).or(shifts.first()).copied().unwrap_or(0);
        if size == 0 {
            continue;
        }
        let cut = size - usize::try_from(shift.rem_euclid(size as i64)).unwrap_or(0);
        if cut != size {
            let parts = [e.part(&x, axis, cut, size), e.part(&x, axis, 0, cut)];
            x = e.concatenate(&parts, axis);
        }
    }
    e.give(0, x)
}

/// Constant padding is an operation; for the other modes the neighbours of the edge are put beside it.
fn pad(e: &mut Emitter) -> Written {
    let Op::Pad(op) = &e.node.op else { return Err(OpError::unsupported("this padding in StableHLO")) };
    let mode = op.pad_mode;
    let x = e.input(0)?;
    let (begin, end) = (e.fixed(1, "padding")?, e.fixed(2, "padding")?);
    if mode == PadMode::Constant {
        let value = match e.len() {
            4.. => {
                let value = e.input(3)?;
                e.reshape(&value, &[])
            }
            _ => e.full(0.0, &x.ty.sized(&[]))?,
        };
        let inside = vec![0; begin.len()];
        let what = format!("{}, {}", x.name, value.name);
        let ty = e.output(0)?;
        let tail = format!(
            ", low = {begin:?}, high = {end:?}, interior = {inside:?} : ({}, {}) -> {ty}",
            x.ty, value.ty
        );
        let y = e.line("stablehlo.pad", &what, &tail, ty);
        return e.give(0, y);
    }
    let mut padded = x;
    for (axis, (&low, &high)) in begin.iter().zip(&end).enumerate() {
        padded = beside(e, &padded, axis, [low, high], mode)?;
    }
    e.give(0, padded)
}

/// One axis with so many elements more before and behind; fewer where negative.
fn beside(
    e: &mut Emitter,
    x: &Operand,
    axis: usize,
    pads: [i64; 2],
    mode: PadMode,
) -> Result<Operand, OpError> {
    let cut = pads.map(|pad| usize::try_from(pad.saturating_neg()).unwrap_or(0));
    let [low, high] = pads.map(|pad| usize::try_from(pad).unwrap_or(0));
    let size = x.ty.dims[axis];
    let (first, last) = (cut[0], size.saturating_sub(cut[1]));
    let middle = if first == 0 && last == size { x.clone() } else { e.part(x, axis, first, last) };
    let size = middle.ty.dims[axis];
    // Reflection leaves the edge itself out.
    let skip = usize::from(mode == PadMode::Reflect);
    let mut parts = Vec::new();
    if low > 0 {
        parts.push(match mode {
            PadMode::Edge => edge(e, &middle, axis, 0, low),
            _ => mirrored(e, &middle, axis, skip, skip + low),
        });
    }
    parts.push(middle.clone());
    if high > 0 {
        parts.push(match mode {
            PadMode::Edge => edge(e, &middle, axis, size - 1, high),
            _ => mirrored(e, &middle, axis, size - skip - high, size - skip),
        });
    }
    Ok(e.concatenate(&parts, axis))
}

fn mirrored(e: &mut Emitter, x: &Operand, axis: usize, start: usize, stop: usize) -> Operand {
    let part = e.part(x, axis, start, stop);
    e.reverse(&part, &[axis])
}

/// One element of an axis, many times.
fn edge(e: &mut Emitter, x: &Operand, axis: usize, at: usize, count: usize) -> Operand {
    let one = e.part(x, axis, at, at + 1);
    let mut dims = one.ty.dims.clone();
    dims[axis] = count;
    e.broadcast(&one, &dims)
}

/// The order of axes that puts each block axis behind the axis it came from, or the other way round.
fn shuffled(e: &mut Emitter, parts: &[usize], order: &[usize]) -> Written {
    let (x, dims) = (e.input(0)?, e.output(0)?.dims);
    let apart = e.reshape(&x, parts);
    let moved = e.transpose(&apart, order);
    let y = e.reshape(&moved, &dims);
    e.give(0, y)
}

fn block(e: &Emitter) -> Result<(usize, Vec<usize>), OpError> {
    let size = e.int("block_size")?;
    let size = usize::try_from(size).map_err(|_| OpError::out_of_range("block_size", size, "1 or more"))?;
    Ok((size.max(1), e.input(0)?.ty.dims))
}

fn depth_to_space(e: &mut Emitter) -> Written {
    let (block, dims) = block(e)?;
    let [batch, channels, spatial @ ..] = dims.as_slice() else {
        return Err(OpError::rank("the data", dims.len(), "3 or more"));
    };
    let count = spatial.len();
    let own = channels / block.pow(u32::try_from(count).unwrap_or(0));
    let blocks = vec![block; count];
    let (parts, depth, first) = match e.word("mode")?.as_str() {
        "depth_first" => ([&[*batch, own], blocks.as_slice(), spatial].concat(), 1, 2),
        _ => ([&[*batch], blocks.as_slice(), &[own], spatial].concat(), count + 1, 1),
    };
    let mut order = vec![0, depth];
    (0..count).for_each(|i| order.extend([count + 2 + i, first + i]));
    shuffled(e, &parts, &order)
}

fn space_to_depth(e: &mut Emitter) -> Written {
    let (block, dims) = block(e)?;
    let [batch, channels, spatial @ ..] = dims.as_slice() else {
        return Err(OpError::rank("the data", dims.len(), "3 or more"));
    };
    let mut parts = vec![*batch, *channels];
    spatial.iter().for_each(|size| parts.extend([size / block, block]));
    let places = (0..spatial.len()).map(|i| 2 + 2 * i);
    let blocks: Vec<usize> = places.clone().map(|axis| axis + 1).collect();
    let order = match e.word("mode")?.as_str() {
        "depth_first" => [vec![0, 1], blocks, places.collect()].concat(),
        _ => [vec![0], blocks, vec![1], places.collect()].concat(),
    };
    shuffled(e, &parts, &order)
}

fn shuffle_channels(e: &mut Emitter) -> Written {
    let dims = e.input(0)?.ty.dims;
    let axis = snick_ir::normalize_axis(e.int("axis")?, dims.len())?;
    let group = usize::try_from(e.int("group")?).unwrap_or(1).max(1);
    let mut parts = dims.clone();
    parts.splice(axis..=axis, [group, dims[axis] / group]);
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.swap(axis, axis + 1);
    shuffled(e, &parts, &order)
}
