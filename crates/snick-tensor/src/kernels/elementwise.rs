//! One element out for one element, or one of each input, in.

mod binary;
mod bitwise;
mod chain;
mod compare;
mod erf_inv;
mod remainder;
mod select;
mod unary;
mod vector_unary;

pub use binary::BinaryOp;
pub use bitwise::{BitwiseOp, bitwise_not};
pub use chain::{ElementFunction, FusedElementwise, Stage, StageOperand};
pub use compare::{CompareOp, LogicalOp, logical_not};
pub use select::select;
pub use unary::{TestOp, UnaryOp};
