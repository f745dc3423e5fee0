//! Legalization: ops become what a target can say.
//!
//! `to_slice` rewrites the slice dialects to the `slice` primitive; the canonical form is built on it. `from_slice`
//! rewrites the primitives to ranges or to arithmetic, for formats that have no such op.

pub mod from_slice;
mod index;
pub mod to_slice;
