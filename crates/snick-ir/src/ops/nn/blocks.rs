//! Shared code of DepthToSpace and SpaceToDepth, which convert between spatial blocks and channels.

use snick_shape::{Interval, SymExpr};

use crate::{Infer, OpError};

attrs! {
    /// Spatial blocks.
    pub struct Blocks {
        /// Size of a block on each spatial axis, at least 1.
        pub block_size: i64 = 1,
        /// Whether the position in the block or the depth varies slowest along the channel axis.
        pub mode: ChannelOrder = ChannelOrder::BlocksFirst,
    }
}

/// Whether the position in the block or the depth varies slowest along the channel axis.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum ChannelOrder {
    /// The position in the block varies slowest.
    BlocksFirst,
    /// The depth varies slowest.
    DepthFirst,
}

attr_words!(ChannelOrder { BlocksFirst = "blocks_first", DepthFirst = "depth_first" });

impl Blocks {
    /// Rejects empty blocks.
    pub(super) fn check(&self) -> Result<(), OpError> {
        match self.block_size < 1 {
            true => Err(OpError::out_of_range("`block_size`", self.block_size, "1 or more")),
            false => Ok(()),
        }
    }

    /// Number of elements of a block with `rank` axes.
    pub(super) fn volume(&self, rank: usize) -> Result<i64, OpError> {
        let volume = u32::try_from(rank).ok().and_then(|rank| self.block_size.checked_pow(rank));
        volume.ok_or_else(|| {
            OpError::out_of_range("`block_size`", self.block_size, "a block that fits in memory")
        })
    }

    /// The size of a block on one axis, and the number of elements of a block with `rank` axes.
    pub(super) fn concrete(&self, rank: usize) -> Result<[usize; 2], OpError> {
        Ok([self.block_size, self.volume(rank)?].map(|size| usize::try_from(size).unwrap_or(0)))
    }
}

/// Divides a size without remainder.
pub(super) fn part(size: usize, divisor: usize) -> Result<usize, OpError> {
    match size.checked_rem(divisor) {
        Some(0) => Ok(size / divisor),
        _ => Err(OpError::mismatch("a size", size, format!("a multiple of {divisor}"))),
    }
}

/// Multiplies two sizes, checking for overflow.
pub(super) fn times(a: usize, b: usize) -> Result<usize, OpError> {
    a.checked_mul(b).ok_or_else(|| OpError::unsupported("a block of this size"))
}

/// Divides a dim without remainder, reporting an error if that is impossible.
pub(in crate::ops) fn divided(cx: &mut Infer, dim: &SymExpr, divisor: i64) -> SymExpr {
    cx.exact_div(dim, &divisor.into()).unwrap_or_else(|| {
        cx.report(OpError::mismatch("a size", cx.interval(dim), format!("a multiple of {divisor}")));
        cx.unknown(Interval::DIM)
    })
}
