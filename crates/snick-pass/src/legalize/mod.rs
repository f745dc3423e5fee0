//! Legalization: what a target has no operator for becomes what it has.
//!
//! `to_slice` rewrites the slice dialects to the `slice` primitive; the canonical form is built on it. `from_slice`
//! rewrites the primitives to ranges or to arithmetic, for formats that have no such op. `inline_if` replaces an If by the branch that it is known to take, `skip_loop` a Loop
//! without iterations by its initial values. `decompose` has a rule for every
//! op that has simpler parts; [`for_target`] applies those that a [`Target`] needs.

mod constants;
pub(crate) mod decompose;
pub mod from_slice;
mod index;
pub mod inline_if;
pub mod skip_loop;
mod target;
pub mod to_slice;
mod widen;

pub use self::target::{Target, for_target, is_rounded_formula};
