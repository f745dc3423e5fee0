//! Element-wise functions.

mod binary;
mod bitwise;
mod compare;
mod erf_inv;
mod fused;
mod remainder;
mod select;
mod unary;
mod unary_op;
mod vector_unary;
mod zip;

pub use binary::BinaryOp;
pub use bitwise::{BitwiseOp, bitwise_not};
pub use compare::{CompareOp, LogicalOp, logical_not};
pub use fused::{ElementFunction, FusedElementwise, Stage};
pub use select::select;
pub use unary::TestOp;
pub use unary_op::UnaryOp;
