//! What must hold for every input of a reader and for every graph, and mutations that make new ones of them.
//!
//! The targets in `fuzz/` and the ordinary tests call the same functions: what a target finds is kept as a file below
//! `tests/cases/found/`, which `cargo test` checks again.

pub mod memory;
pub mod mutate;

mod input;
mod oracle;

pub use self::input::{Target, check, check_quickly};
pub use self::oracle::{Finding, check_graph};
