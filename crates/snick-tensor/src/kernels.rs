//! The numeric kernels, one family a file.
//!
//! Each takes and gives whole [`crate::Tensor`]s, refuses what does not fit before it takes
//! memory, and answers the same bits every time. Types narrower than a kernel computes in are
//! widened first (halves and smaller floats to `f32`, sub-byte integers to `i32`) and rounded
//! once at the end; integers wrap.

mod broadcast;
mod concat;
mod conv;
mod dispatch;
pub mod elementwise;
mod fake_quantize;
mod gather;
mod gemm;
mod interpolate;
mod matmul;
mod normalize;
mod pad;
mod pool;
mod range;
mod reduce;
mod roll;
mod rows;
mod running_sum;
pub mod runs;
pub mod scatter_reduce;
mod softmax;
pub mod strided_copy;
mod tile;
pub mod top_k;
mod window;

pub use broadcast::broadcast_dims;
pub use concat::concat;
pub use conv::{convolution, group_convolution};
pub use elementwise::{
    BinaryOp, BitwiseOp, CompareOp, LogicalOp, TestOp, UnaryOp, bitwise_not, logical_not, select,
};
pub use fake_quantize::fake_quantize;
pub use gather::gather;
pub use interpolate::{Coordinates, Interpolate, InterpolateMode, Nearest, interpolate};
pub use matmul::matmul;
pub use normalize::{EpsMode, mvn, normalize_l2};
pub use pad::{PadMode, pad};
pub use pool::{avg_pool, max_pool, max_pool_indices};
pub use range::range;
pub use reduce::ReduceOp;
pub use roll::roll;
pub use running_sum::running_sum;
pub use softmax::{log_softmax, softmax};
pub use tile::tile;
pub use window::Window;
