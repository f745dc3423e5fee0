//! Converts ONNX models from protobuf messages to a graph of IR ops.
//!
//! - `model.rs` decodes the file, `network.rs` contains the graph under construction, and `nodes.rs` reads
//!   the nodes.
//! - A row of the table in `ops/` builds the layers of an ONNX node with a `NodeBuilder` (`builder.rs`).
//! - `function.rs` inlines functions, `bodies.rs` reads subgraphs, and `sequence.rs` resolves sequences.
//! - `tensor.rs` reads constants, including external data (`external.rs`).
//!
//! A node without a row, or one that its row rejects, becomes an opaque layer with the declared types of its
//! outputs.

mod attribute;
mod bodies;
mod builder;
mod devices;
mod external;
mod free_names;
mod function;
mod model;
mod network;
mod nodes;
mod ops;
mod opsets;
mod sequence;
mod stepped;
mod tensor;
mod types;

pub(crate) use external::ExternalFiles;
pub use model::read;
pub(crate) use model::read_with;
pub use ops::{Operator, operators};

#[cfg(test)]
mod tests;
