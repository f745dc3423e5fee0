//! The integration tests of the workspace: one binary, a module for each property that is proved.
//!
//! Inputs are the files in `cases/` and the models in `models/`; expected outputs are in `golden/`, a folder for each
//! target. A new case is a new file.
#![cfg(test)]

mod attribute_defaults;
mod canonical;
mod coverage;
mod documentation;
mod emit;
mod errors;
mod execution;
mod files;
mod golden;
mod inference;
mod known_differences;
mod op_laws;
mod round_trip;
mod slices;
mod soundness;
mod tidy;
mod why;
