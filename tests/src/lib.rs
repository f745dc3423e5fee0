//! The integration tests of the workspace: one binary, a module a stage.
//!
//! Inputs are files in `cases/<stage>/` and the models in `models/`; outputs are snapshots. A new case is a new file.
#![cfg(test)]

mod bodies;
mod canonical_table;
mod corpus;
mod coverage;
mod expect;
mod files;
mod json;
mod malformed;
mod onnx;
mod onnx_values;
mod ops;
mod random_graphs;
mod runtime_differences;
mod slices;
mod splits;
mod stablehlo;
mod stages;
mod tidy;
