//! OpenVINO IR v10 and v11: `.xml` and `.bin`.
//!
//! - `xml.rs` iterates over elements; `plain.rs` is its fast path.
//! - `layer.rs` reads a layer, `document.rs` a network or body with its edges, and `body.rs` the port maps of
//!   TensorIterator, Loop and If.
//! - `weights.rs` creates constants as views of the `.bin`.
//! - `encoding.rs` and `references.rs` accept the same input as the runtime.
//! - `survey.rs` reads details that only checks of a file need.
//! - `execution_graph.rs` describes execution graphs, whose layers are not converted.

mod attributes;
mod body;
mod document;
mod encoding;
mod execution_graph;
mod layer;
mod layer_ids;
mod layout;
mod net;
mod ordinals;
mod plain;
mod port_set;
mod references;
mod survey;
mod truncated;
mod weights;
mod xml;

pub(crate) use encoding::decode;
pub use survey::Survey;
pub use weights::Weights;

use std::collections::BTreeMap;

use snick_ir::{Monitor, Registry};

use crate::{Read, ReadError};

/// Reads an IR. Constants become views of `weights`. `source` is the name of the file in messages.
pub fn read(text: &str, weights: &Weights, source: &str) -> Result<Read, ReadError> {
    read_with(text, weights, source, &Registry::builtin(), &mut Monitor::default())
}

/// Like [`read`], with a registry of ops. The monitor may stop the reader.
pub(crate) fn read_with(
    text: &str,
    weights: &Weights,
    source: &str,
    ops: &Registry,
    monitor: &mut Monitor,
) -> Result<Read, ReadError> {
    let mut cursor = xml::Cursor::new(text, source);
    let mut context = net::Context {
        weights,
        source,
        ops,
        errors: Vec::new(),
        truncated: truncated::Truncated::default(),
        undeclared: BTreeMap::new(),
        recorded: 0,
        layers: 0,
        monitor,
    };
    let mut graph = document::read_document(&mut cursor, &mut context)?;
    layout::name_sizes(&mut graph);
    let notes = context.notes().chain(execution_graph::note(context.recorded)).collect();
    let missing = weights.missing();
    Ok(Read {
        graph,
        errors: context.take_errors(),
        notes,
        missing,
        files: Vec::new(),
        optional_inputs: Vec::new(),
    })
}
