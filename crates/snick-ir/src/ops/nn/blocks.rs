//! What DepthToSpace and SpaceToDepth share: blocks of space, each of which becomes a vector of channels or comes of
//! one.

use snick_shape::{Interval, SymExpr};

use crate::{Infer, OpError};

attrs! {
    /// Blocks of space.
    pub struct Blocks {
        /// Elements of a block along each spatial axis, at least 1.
        pub block_size: i64 = 1,
        /// The order of block and depth in the number of a channel.
        pub mode: ChannelOrder = ChannelOrder::BlocksFirst,
    }
}

/// The order of block and depth in the number of a channel.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum ChannelOrder {
    /// The position in the block is the major part.
    BlocksFirst,
    /// The depth is the major part.
    DepthFirst,
}

attr_words!(ChannelOrder { BlocksFirst = "blocks_first", DepthFirst = "depth_first" });

impl Blocks {
    /// Fails for blocks without elements.
    pub(super) fn check(&self) -> Result<(), OpError> {
        match self.block_size < 1 {
            true => Err(OpError::out_of_range("`block_size`", self.block_size, "1 or more")),
            false => Ok(()),
        }
    }

    /// Elements of a block over `rank` axes.
    pub(super) fn volume(&self, rank: usize) -> Result<i64, OpError> {
        let volume = u32::try_from(rank).ok().and_then(|rank| self.block_size.checked_pow(rank));
        volume.ok_or_else(|| {
            OpError::out_of_range("`block_size`", self.block_size, "a block that fits in memory")
        })
    }

    /// Elements of a block along an axis and over `rank` axes.
    pub(super) fn concrete(&self, rank: usize) -> Result<[usize; 2], OpError> {
        Ok([self.block_size, self.volume(rank)?].map(|size| usize::try_from(size).unwrap_or(0)))
    }
}

/// A size divided by a number that must divide it.
pub(super) fn part(size: usize, divisor: usize) -> Result<usize, OpError> {
    match size.checked_rem(divisor) {
        Some(0) => Ok(size / divisor),
        _ => Err(OpError::mismatch("a size", size, format!("a multiple of {divisor}"))),
    }
}

/// The product of two sizes.
pub(super) fn times(a: usize, b: usize) -> Result<usize, OpError> {
    a.checked_mul(b).ok_or_else(|| OpError::unsupported("a block of this size"))
}

/// A dim divided by a number that must divide it; reported if it cannot.
pub(in crate::ops) fn divided(cx: &mut Infer, dim: &SymExpr, divisor: i64) -> SymExpr {
    cx.exact_div(dim, &divisor.into()).unwrap_or_else(|| {
        cx.report(OpError::mismatch("a size", cx.interval(dim), format!("a multiple of {divisor}")));
        cx.unknown(Interval::DIM)
    })
}
