//! Proofs for all sizes: that rewrites keep what a graph computes, and that two graphs compute the same.

mod export;
pub(crate) mod rewrite;
mod search;
pub(crate) mod solve;
