//! Legalization: replaces operations that a target lacks with operations that it has.
//!
//! `to_slice` rewrites slice dialects to the `slice` primitive and is the basis of the canonical form.
//! `from_slice` rewrites the primitives to ranges or arithmetic, for formats without such ops. If the
//! condition of an If is known, `inline_if` replaces the If with the branch that runs. `skip_loop` replaces a
//! Loop without iterations with its initial values. `decompose` has a rule for each op that can be expressed
//! with simpler ops; [`for_target`] applies the rules that a [`Target`] needs.

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
