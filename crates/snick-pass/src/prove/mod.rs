//! Proofs for all sizes: that rewrites keep what a graph computes, and that two graphs compute the same.

mod export;
mod rewrite;
mod search;
mod smt;
mod solve;
