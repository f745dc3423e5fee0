//! DepthToSpace-1 and SpaceToDepth-1: blocks of space to channels, and back.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::{Dims, Tensor};

use crate::attrs::missing;
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// Data `[N, C * block^K, D1, .., DK]` to `[N, C, D1 * block, .., DK * block]`, or the other way.
#[derive(Clone, PartialEq, Debug)]
pub struct DepthSpace {
    /// Whether blocks become channels.
    pub to_depth: bool,
    /// The size of a block along each axis of space.
    pub block_size: i64,
    /// Whether the place in the block is the major part of a channel's number.
    pub blocks_first: bool,
}

const NAMES: [OpName; 2] = [OpName::openvino("DepthToSpace", &[1]), OpName::openvino("SpaceToDepth", &[1])];

const MODES: &[(&str, bool)] = &[("blocks_first", true), ("depth_first", false)];

impl OpDef for DepthSpace {
    const NAMES: &'static [OpName] = &NAMES;
    const ARITY: Arity = Arity::exactly(1);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        Ok(Self {
            to_depth: raw.op_type.eq_ignore_ascii_case(NAMES[1].name),
            block_size: raw.attrs.int("block_size")?.unwrap_or(1),
            blocks_first: raw.attrs.choice("mode", MODES)?.ok_or(missing("mode"))?,
        })
    }

    fn attrs(&self) -> Attrs<'static> {
        let mode = MODES[usize::from(!self.blocks_first)].0;
        Attrs::new().with("block_size", self.block_size).with("mode", mode)
    }

    fn name(&self) -> &'static OpName {
        &Self::NAMES[usize::from(self.to_depth)]
    }
}

impl InferOp for DepthSpace {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_rank(0, "3 or more", |rank| rank >= 3)?;
        let element_type = cx.element_type(0);
        if self.block_size < 1 {
            return Err(OpError::out_of_range("`block_size`", self.block_size, "1 or more"));
        }
        let Some([batch, channels, space @ ..]) = cx.shape(0).dims() else {
            return Ok(smallvec![Fact::new(element_type, Shape::unranked())]);
        };
        let volume = self.volume(space.len())?;
        let mut dims: SmallVec<[SymExpr; 4]> = smallvec![batch.clone()];
        if self.to_depth {
            dims.push(cx.mul(channels, &volume.into()));
            for dim in space {
                let part = divided(cx, dim, self.block_size);
                dims.push(part);
            }
        } else {
            let part = divided(cx, channels, volume);
            dims.push(part);
            for dim in space {
                dims.push(cx.mul(dim, &self.block_size.into()));
            }
        }
        Ok(smallvec![Fact::new(element_type, Shape::ranked(dims))])
    }
}

impl EvalOp for DepthSpace {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data] = inputs else { return Ok(Vec::new()) };
        let [batch, channels, ref space @ ..] = *data.dims() else {
            return Err(OpError::rank("data", data.rank(), "3 or more"));
        };
        let block = usize::try_from(self.block_size).unwrap_or(0);
        let volume = usize::try_from(self.volume(space.len())?).unwrap_or(0);
        let k = space.len();
        let parted = if self.to_depth { space } else { std::slice::from_ref(&channels) };
        let divisor = if self.to_depth { block } else { volume };
        if let Some(&dim) = parted.iter().find(|&&dim| divisor == 0 || dim % divisor != 0) {
            return Err(OpError::mismatch("a size", dim, format!("a multiple of {divisor}")));
        }
        let too_large = || OpError::unsupported("a block of this size");
        let times = |a: usize, b: usize| a.checked_mul(b).ok_or_else(too_large);
        let mut split: Dims = smallvec![batch];
        let mut order: Dims = smallvec![0];
        let mut dims: Dims = smallvec![batch];
        if self.to_depth {
            // [N, C, D1, b1, D2, b2, ..] to [N, b.., C, D..] or [N, C, b.., D..].
            split.push(channels);
            space.iter().for_each(|dim| split.extend([dim / block, block]));
            let blocks = (0..k).map(|i| 3 + 2 * i);
            if self.blocks_first {
                order.extend(blocks);
                order.push(1);
            } else {
                order.push(1);
                order.extend(blocks);
            }
            order.extend((0..k).map(|i| 2 + 2 * i));
            dims.push(times(channels, volume)?);
            dims.extend(space.iter().map(|dim| dim / block));
        } else {
            // [N, b.., C, D..] or [N, C, b.., D..] to [N, C, D1, b1, D2, b2, ..].
            let depth = channels / volume;
            let first_block = if self.blocks_first { 1 } else { 2 };
            if self.blocks_first {
                split.extend((0..k).map(|_| block));
                split.push(depth);
            } else {
                split.push(depth);
                split.extend((0..k).map(|_| block));
            }
            split.extend(space.iter().copied());
            order.push(if self.blocks_first { 1 + k } else { 1 });
            (0..k).for_each(|i| order.extend([2 + k + i, first_block + i]));
            dims.push(depth);
            for &dim in space {
                dims.push(times(dim, block)?);
            }
        }
        Ok(vec![data.reshape(&split)?.permute(&order)?.reshape(&dims)?])
    }
}

impl DepthSpace {
    /// Elements of a block over `rank` axes.
    fn volume(&self, rank: usize) -> Result<i64, OpError> {
        let volume = u32::try_from(rank).ok().and_then(|rank| self.block_size.checked_pow(rank));
        volume.ok_or_else(|| {
            OpError::out_of_range("`block_size`", self.block_size, "a block that fits in memory")
        })
    }
}

/// A dim that every run divides without rest; reported where none can.
pub(in crate::ops) fn divided(cx: &mut Infer, dim: &SymExpr, divisor: i64) -> SymExpr {
    cx.divided(dim, &divisor.into()).unwrap_or_else(|| {
        cx.report(OpError::mismatch("a size", cx.interval(dim), format!("a multiple of {divisor}")));
        cx.unknown(Interval::DIM)
    })
}
