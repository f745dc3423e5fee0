//! Canonicalisation: the result is equivalent and costs less.

mod control_flow;
mod gains;
pub mod random_graphs;
mod splits;
