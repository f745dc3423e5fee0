//! ONNX models: protobuf messages to a graph of IR ops.
//!
//! `model.rs` opens the file, `network.rs` walks its graph, `function.rs` inlines the functions it brings along,
//! `bodies.rs` reads the graphs inside of nodes,
//! `tensor.rs` views its constants. One node becomes IR nodes by a row of the table in `ops/`, which builds them
//! with a `NodeBuilder` (`builder.rs`); sequences are resolved on the way (`sequence.rs`). A node without a row, or whose
//! row refuses it, stays as an opaque layer with the types that the file declares for its outputs.

mod attribute;
mod bodies;
mod builder;
mod free_names;
mod function;
mod model;
mod network;
mod ops;
mod opsets;
mod sequence;
mod stepped;
mod tensor;
mod types;

pub use model::read;
pub use ops::{Operator, operators};

#[cfg(test)]
mod tests;
