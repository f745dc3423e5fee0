//! Canonicalisation: the result computes the same, and is cheaper.

mod control_flow;
mod gains;
mod random_graphs;
mod splits;
