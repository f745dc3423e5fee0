//! Canonicalisation: the result computes the same at lower cost.

mod control_flow;
mod gains;
pub mod random_graphs;
mod splits;
