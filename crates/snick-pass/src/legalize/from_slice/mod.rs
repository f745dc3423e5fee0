//! The primitives in ops that formats have: `slice` as Slice-8 or StridedSlice-1, `bounds` as arithmetic.

mod arithmetic;
mod ascending;
mod guard;
mod op_range;
mod ranges;

pub use self::arithmetic::RULE as BOUNDS;
pub use self::ranges::{SliceAs, ranges};
