//! Replaces primitives by ops that formats have: `slice` by Slice-8 or StridedSlice-1, and `bounds` by
//! arithmetic.

mod arithmetic;
mod ascending;
mod guard;
mod op_range;
mod ranges;

pub use self::arithmetic::RULE as BOUNDS;
pub use self::ranges::{SliceAs, ranges};
