//! Blocks of space to channels or to the batch, and back.

use snick_ir::OpError;
use snick_shape::SymExpr;

use super::emitter::{Emitter, Operand, Result};
use super::table::EmitRule::{self, Custom};
use super::types::Sizes;

pub(super) const RULES: &[(&str, EmitRule)] = &[
    ("BatchToSpace", Custom(batch_to_space)),
    ("DepthToSpace", Custom(depth_to_space)),
    ("ReorgYolo", Custom(reorg_yolo)),
    ("ShuffleChannels", Custom(shuffle_channels)),
    ("SpaceToBatch", Custom(space_to_batch)),
    ("SpaceToDepth", Custom(space_to_depth)),
];

/// The order of axes that puts each block axis behind the axis it came from, or the other way round.
fn shuffled(e: &mut Emitter, x: &Operand, parts: Vec<SymExpr>, order: &[usize]) -> Result {
    let dims = e.output(0)?.dims;
    let apart = e.reshape(x, parts)?;
    let moved = e.transpose(&apart, order);
    let y = e.reshape(&moved, dims)?;
    e.give(0, y)
}

/// The data, and the size of a block.
fn block(e: &Emitter) -> Result<(Operand, i64), OpError> {
    let size = e.int("block_size")?;
    if size < 1 {
        return Err(OpError::out_of_range("block_size", size, "1 or more"));
    }
    Ok((e.input(0)?, size))
}

/// A size without a factor that it has.
fn quotient(e: &Emitter, size: &SymExpr, factor: i64) -> Result<SymExpr, OpError> {
    let quotient = e.graph.symbols().floor_div(size, &factor.into());
    quotient.ok_or_else(|| OpError::mismatch("a block", factor, "a size of 1 or more"))
}

fn depth_to_space(e: &mut Emitter) -> Result {
    let (x, block) = block(e)?;
    let dims = x.ty.dims.clone();
    let [batch, channels, spatial @ ..] = dims.as_slice() else {
        return Err(OpError::rank("the data", dims.len(), "3 or more"));
    };
    let count = spatial.len();
    let in_all = u32::try_from(count).ok().and_then(|count| block.checked_pow(count));
    let in_all = in_all.ok_or_else(|| OpError::out_of_range("block_size", block, "smaller"))?;
    let own = quotient(e, channels, in_all)?;
    let blocks = vec![SymExpr::from(block); count];
    let (parts, depth, first) = match e.word("mode")?.as_str() {
        "depth_first" => ([&[batch.clone(), own], blocks.as_slice(), spatial].concat(), 1, 2),
        _ => ([std::slice::from_ref(batch), blocks.as_slice(), &[own], spatial].concat(), count + 1, 1),
    };
    let mut order = vec![0, depth];
    (0..count).for_each(|i| order.extend([count + 2 + i, first + i]));
    shuffled(e, &x, parts, &order)
}

fn space_to_depth(e: &mut Emitter) -> Result {
    let (x, block) = block(e)?;
    let dims = x.ty.dims.clone();
    let [batch, channels, spatial @ ..] = dims.as_slice() else {
        return Err(OpError::rank("the data", dims.len(), "3 or more"));
    };
    let mut parts = vec![batch.clone(), channels.clone()];
    for size in spatial {
        parts.extend([quotient(e, size, block)?, block.into()]);
    }
    let places = (0..spatial.len()).map(|i| 2 + 2 * i);
    let blocks: Vec<usize> = places.clone().map(|axis| axis + 1).collect();
    let order = match e.word("mode")?.as_str() {
        "depth_first" => [vec![0, 1], blocks, places.collect()].concat(),
        _ => [vec![0], blocks, vec![1], places.collect()].concat(),
    };
    shuffled(e, &x, parts, &order)
}

fn shuffle_channels(e: &mut Emitter) -> Result {
    let x = e.input(0)?;
    let dims = x.ty.dims.clone();
    let axis = snick_ir::normalize_axis(e.int("axis")?, dims.len())?;
    let group = e.int("group")?.max(1);
    let of_group = quotient(e, &dims[axis], group)?;
    let mut parts = dims;
    parts.splice(axis..=axis, [group.into(), of_group]);
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.swap(axis, axis + 1);
    shuffled(e, &x, parts, &order)
}

/// Blocks, and what is padded or cropped at the begin and the end of each axis.
fn batch_blocks(e: &Emitter) -> Result<[Vec<i64>; 3], OpError> {
    let rank = e.input(0)?.ty.rank();
    let mut all = [vec![], vec![], vec![]];
    for (i, own) in (1..).zip(&mut all) {
        *own = e.fixed(i, "blocks")?;
        if own.len() != rank {
            return Err(OpError::mismatch(format!("the size of input {i}"), own.len(), rank));
        }
    }
    Ok(all)
}

/// Padded; each axis becomes parts and a block, and the blocks go to the front.
fn space_to_batch(e: &mut Emitter) -> Result {
    let x = e.input(0)?;
    let [blocks, begins, ends] = batch_blocks(e)?;
    let mut dims = Vec::with_capacity(blocks.len());
    for ((dim, begin), end) in x.ty.dims.iter().zip(&begins).zip(&ends) {
        dims.push(e.total([dim, &(*begin).into(), &(*end).into()])?);
    }
    let zero = e.full(0.0, &x.ty.sized(&[]))?;
    let padded = e.padded(&x, &zero, &begins, &ends, x.ty.sized(&dims));
    let mut parts = Vec::with_capacity(2 * dims.len());
    for (dim, &block) in dims.iter().zip(&blocks) {
        parts.extend([quotient(e, dim, block)?, block.into()]);
    }
    let order: Vec<usize> =
        (0..dims.len()).map(|i| 2 * i + 1).chain((0..dims.len()).map(|i| 2 * i)).collect();
    shuffled(e, &padded, parts, &order)
}

/// The blocks in front of the batch go behind the axes that they belong to; then it is cropped.
fn batch_to_space(e: &mut Emitter) -> Result {
    let x = e.input(0)?;
    let [blocks, begins, ends] = batch_blocks(e)?;
    let rank = blocks.len();
    let blocks: Vec<SymExpr> = blocks.into_iter().map(SymExpr::from).collect();
    let volume = e.product(&blocks)?;
    let volume = volume.as_const().ok_or_else(|| OpError::unsupported("blocks of this size in StableHLO"))?;
    let mut parts = x.ty.dims.clone();
    if let Some(batch) = parts.first_mut() {
        *batch = quotient(e, &batch.clone(), volume)?;
    }
    let mut dims = Vec::with_capacity(rank);
    for (part, block) in parts.iter().zip(&blocks) {
        dims.push(e.product([part, block])?);
    }
    let apart = e.reshape(&x, [blocks, parts].concat())?;
    let order: Vec<usize> = (0..rank).flat_map(|i| [rank + i, i]).collect();
    let moved = e.transpose(&apart, &order);
    let mut y = e.reshape(&moved, dims)?;
    let lens = e.output(0)?.dims;
    for (axis, (&begin, &end)) in begins.iter().zip(&ends).enumerate() {
        if (begin, end) != (0, 0) {
            y = e.part(&y, axis, &begin.into(), lens[axis].clone())?;
        }
    }
    e.give(0, y)
}

/// The data is read as if it had `channels / stride^2` channels of `stride` times the height and width.
fn reorg_yolo(e: &mut Emitter) -> Result {
    let x = e.input(0)?;
    let stride = e.int("stride")?.max(1);
    let &[images, channels, height, width] = x.ty.fixed()?.as_slice() else {
        return Err(OpError::rank("the data", x.ty.rank(), "4"));
    };
    let size = usize::try_from(stride).unwrap_or(1);
    let area = size.saturating_mul(size);
    if channels.checked_rem(area) != Some(0) {
        return Err(OpError::unsupported("channels that do not divide into blocks in StableHLO"));
    }
    let parts = [images, channels / area, height, size, width, size].as_slice().sizes();
    shuffled(e, &x, parts, &[0, 3, 5, 1, 2, 4])
}
