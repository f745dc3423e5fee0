//! Replaces primitives with ops that formats have: `slice` with Slice-8 or StridedSlice-1, and `bounds` with
//! arithmetic.

mod arithmetic;
mod ascending;
mod guard;
mod op_range;
mod ranges;

pub use self::arithmetic::RULE as BOUNDS;
pub use self::ranges::{SliceAs, ranges};
