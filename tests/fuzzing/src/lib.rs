//! Properties that must hold for every reader input and every graph, and mutations that create new ones.
//!
//! The targets in `fuzz/` and the ordinary tests call the same functions. Findings are kept as files in
//! `tests/cases/found/`, which `cargo test` checks again.

pub mod memory;
pub mod mutate;

mod certificate;
mod input;
mod oracle;

pub use self::input::{Target, check, check_quickly};
pub use self::oracle::{Finding, check_graph};
