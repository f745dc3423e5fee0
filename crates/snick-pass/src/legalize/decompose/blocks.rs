//! Moves blocks from space to channels or to the batch and back, by Reshape, Transpose and Reshape.

use snick_ir::ops::nn::blocks::{Blocks, ChannelOrder};
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, Value, normalize_axis};

use super::helpers::{Result, Size, at_run_time, known, known_size, reshape, reshape_like};

pub(crate) const BATCH_TO_SPACE: Rule = Rule::exact("decompose-batch-to-space", batch_to_space);
pub(crate) const DEPTH_TO_SPACE: Rule = Rule::exact("decompose-depth-to-space", depth_to_space);
pub(crate) const REORG_YOLO: Rule = Rule::exact("decompose-reorg-yolo", reorg_yolo);
pub(crate) const SHUFFLE_CHANNELS: Rule = Rule::exact("decompose-shuffle-channels", shuffle_channels);
pub(crate) const SPACE_TO_BATCH: Rule = Rule::exact("decompose-space-to-batch", space_to_batch);
pub(crate) const SPACE_TO_DEPTH: Rule = Rule::exact("decompose-space-to-depth", space_to_depth);

/// The size of an axis divided by `over`.
fn share(axis: usize, over: i64) -> Size {
    Size::Of { axis, times: 1, over }
}

/// The size of an axis multiplied by `times`.
fn multiple(axis: usize, times: i64) -> Size {
    Size::Of { axis, times, over: 1 }
}

/// Reshapes to sizes `parts`, permutes the axes by `order`, and merges each group of axes in `joined`. These
/// axes are numbered as after the permutation.
fn rearrange(
    p: &mut Patch,
    x: Value,
    parts: &[Size],
    order: &[usize],
    joined: &[Vec<usize>],
) -> Result<Value> {
    let apart = reshape(p, x, parts)?;
    let order: Vec<i64> = order.iter().map(|&axis| axis as i64).collect();
    let moved = p.transpose(apart, &order)?;
    // The sizes of blocks are known, so at most one size of each group is unknown.
    let mut sizes = Vec::with_capacity(joined.len());
    for axes in joined {
        let (mut times, mut open) = (1_i64, None);
        for &axis in axes {
            match known_size(p, moved, axis)? {
                Some(size) => times = times.saturating_mul(size),
                None => open = Some(axis),
            }
        }
        sizes.push(open.map_or(Size::Known(times), |axis| multiple(axis, times)));
    }
    reshape(p, moved, &sizes)
}

fn depth_to_space(p: &mut Patch) -> Result<RewriteResult> {
    let Op::DepthToSpace(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let Blocks { block_size, mode } = op.blocks;
    let x = p.input(0)?;
    let count = p.rank(x)?.saturating_sub(2);
    let volume = u32::try_from(count).ok().and_then(|count| block_size.checked_pow(count));
    let Some(volume) = volume.filter(|&volume| volume > 0) else { return Ok(RewriteResult::NoMatch) };
    let blocks = vec![Size::Known(block_size); count];
    let channels = vec![share(1, volume)];
    let (middle, depth, first) = if mode == ChannelOrder::BlocksFirst {
        ([blocks, channels], count + 1, 1)
    } else {
        ([channels, blocks], 1, 2)
    };
    let parts = [vec![Size::of(0)], middle.concat(), (2..count + 2).map(Size::of).collect()].concat();
    let order: Vec<usize> =
        [0, depth].into_iter().chain((0..count).flat_map(|i| [count + 2 + i, first + i])).collect();
    let joined: Vec<Vec<usize>> =
        [vec![0], vec![1]].into_iter().chain((0..count).map(|i| vec![2 + 2 * i, 3 + 2 * i])).collect();
    rearrange(p, x, &parts, &order, &joined).map(RewriteResult::one)
}

fn space_to_depth(p: &mut Patch) -> Result<RewriteResult> {
    let Op::SpaceToDepth(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let x = p.input(0)?;
    let count = p.rank(x)?.saturating_sub(2);
    let Blocks { block_size, mode } = op.blocks;
    let spatial = (2..count + 2).flat_map(|axis| [share(axis, block_size), Size::Known(block_size)]);
    let parts: Vec<Size> = [Size::of(0), Size::of(1)].into_iter().chain(spatial).collect();
    let blocks = (0..count).map(|i| 3 + 2 * i);
    let places = (0..count).map(|i| 2 + 2 * i);
    let order: Vec<usize> = match mode == ChannelOrder::BlocksFirst {
        true => [0].into_iter().chain(blocks).chain([1]).chain(places).collect(),
        false => [0, 1].into_iter().chain(blocks).chain(places).collect(),
    };
    let joined: Vec<Vec<usize>> = [vec![0], (1..count + 2).collect()]
        .into_iter()
        .chain((0..count).map(|i| vec![count + 2 + i]))
        .collect();
    rearrange(p, x, &parts, &order, &joined).map(RewriteResult::one)
}

fn shuffle_channels(p: &mut Patch) -> Result<RewriteResult> {
    let Op::ShuffleChannels(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let x = p.input(0)?;
    let rank = p.rank(x)?;
    let axis = normalize_axis(op.axis, rank)?;
    let mut parts: Vec<Size> = (0..rank).map(Size::of).collect();
    parts.splice(axis..=axis, [Size::Known(op.group.max(1)), share(axis, op.group.max(1))]);
    let mut order: Vec<usize> = (0..=rank).collect();
    order.swap(axis, axis + 1);
    let apart = reshape(p, x, &parts)?;
    let order: Vec<i64> = order.iter().map(|&axis| axis as i64).collect();
    let dealt = p.transpose(apart, &order)?;
    reshape_like(p, dealt, x).map(RewriteResult::one)
}

/// Reinterprets the data as images with `channels / stride^2` channels and `stride` times the height and
/// width.
fn reorg_yolo(p: &mut Patch) -> Result<RewriteResult> {
    let Op::ReorgYolo(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let (x, stride) = (p.input(0)?, op.stride.max(1) as i64);
    let area = stride.saturating_mul(stride);
    if known_size(p, x, 1)?.is_none_or(|channels| channels % area != 0) {
        return Ok(RewriteResult::Declined("channels that do not divide into blocks".into()));
    }
    let block = Size::Known(stride);
    let parts = [Size::of(0), share(1, area), Size::of(2), block, Size::of(3), block];
    let joined = [vec![0], vec![1, 2, 3], vec![4], vec![5]];
    let moved = rearrange(p, x, &parts, &[0, 3, 5, 1, 2, 4], &joined)?;
    // Reinterprets the elements, in row-major order, as smaller images.
    let sizes = [Size::of(0), multiple(1, area), share(2, stride), share(3, stride)];
    reshape(p, moved, &sizes).map(RewriteResult::one)
}

/// The block sizes, and the padding or cropping at the beginning and at the end of each axis.
fn known_blocks(p: &Patch) -> Result<Option<[Vec<i64>; 3]>> {
    let rank = p.rank(p.input(0)?)?;
    let (Some(blocks), Some(begins), Some(ends)) = (known(p, 1)?, known(p, 2)?, known(p, 3)?) else {
        return Ok(None);
    };
    let all = [blocks, begins, ends];
    Ok((all.iter().all(|list| list.len() == rank) && all[0].iter().all(|&size| size > 0)).then_some(all))
}

/// Pads, splits each axis into blocks, and moves the blocks to the batch.
fn space_to_batch(p: &mut Patch) -> Result<RewriteResult> {
    let Op::SpaceToBatch(_) = p.node().op() else { return Ok(RewriteResult::NoMatch) };
    let Some([blocks, begins, ends]) = known_blocks(p)? else { return Ok(at_run_time("the blocks")) };
    let (x, rank) = (p.input(0)?, blocks.len());
    let zero = p.scalar_like(x, 0.0)?;
    let padded = p.pad(x, &begins, &ends, zero)?;
    let parts: Vec<Size> =
        (0..rank).flat_map(|axis| [share(axis, blocks[axis]), Size::Known(blocks[axis])]).collect();
    let order: Vec<usize> = (0..rank).map(|i| 2 * i + 1).chain((0..rank).map(|i| 2 * i)).collect();
    let joined: Vec<Vec<usize>> =
        [(0..=rank).collect()].into_iter().chain((rank + 1..2 * rank).map(|axis| vec![axis])).collect();
    rearrange(p, padded, &parts, &order, &joined).map(RewriteResult::one)
}

/// Moves the blocks from the batch to the axes that they belong to, merges them, and crops.
fn batch_to_space(p: &mut Patch) -> Result<RewriteResult> {
    let Op::BatchToSpace(_) = p.node().op() else { return Ok(RewriteResult::NoMatch) };
    let Some([blocks, begins, ends]) = known_blocks(p)? else { return Ok(at_run_time("the blocks")) };
    let (x, rank) = (p.input(0)?, blocks.len());
    let volume = blocks.iter().fold(1_i64, |volume, &block| volume.saturating_mul(block));
    let parts: Vec<Size> = blocks
        .iter()
        .map(|&block| Size::Known(block))
        .chain((0..rank).map(|axis| if axis == 0 { share(0, volume) } else { Size::of(axis) }))
        .collect();
    let order: Vec<usize> = (0..rank).flat_map(|i| [rank + i, i]).collect();
    let joined: Vec<Vec<usize>> = (0..rank).map(|i| vec![2 * i, 2 * i + 1]).collect();
    let whole = rearrange(p, x, &parts, &order, &joined)?;
    let stops: Vec<i64> = ends.iter().map(|&end| if end == 0 { i64::MAX } else { -end }).collect();
    let axes: Vec<i64> = (0..rank as i64).collect();
    p.slice8(whole, &begins, &stops, &vec![1; rank], &axes).map(RewriteResult::one)
}
