//! The checker: accepts valid proofs, and nothing else.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests")]

mod meaning;
mod poly;
mod proofs;
mod random_graphs;
mod support;
