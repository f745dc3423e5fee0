//! The integration tests of the workspace: one binary, with a module per property.
//!
//! Inputs are the files in `cases/` and the models in `models/`; expected outputs are in `golden/`, with one
//! folder per target. A new case is a new file.
#![cfg(test)]

mod attribute_defaults;
mod canonical;
mod coverage;
mod documentation;
mod edits;
mod emit;
mod errors;
mod execution;
mod files;
mod golden;
mod inference;
mod known_differences;
mod older_forms;
mod op_laws;
mod public_names;
mod releases;
mod round_trip;
mod slices;
mod soundness;
mod tidy;
mod why;
