//! ONNX models of operator set 21.
//!
//! Operations without an ONNX operator are decomposed first (`snick_pass::legalize`, and for slices
//! `prepare.rs`). `names.rs` names the values, and `writer.rs` collects the messages. Each of the other files
//! covers one family of [`Op`]: a row (`row.rs`) writes one operation with an `Emitter` (`emitter.rs`).
//! `table.rs` combines the families.

mod axes;
mod bodies;
mod detection;
mod devices;
mod elementwise;
mod emitter;
mod indexing;
mod movement;
mod names;
mod nn;
mod normalize;
mod prepare;
mod quantize;
mod recurrent;
mod resize;
mod row;
mod shape;
mod signal;
mod slices;
mod table;
mod types;
mod windows;
mod writer;

use snick_ir::{Graph, Located, NodeId, Op, OpError, WeightsFile};

use self::emitter::Emitter;
use self::names::Names;
use self::writer::{MAX_EMBEDDED, OPSET, Writer};
use crate::legalized::Refusals;

pub use self::table::has_operator;
pub use self::writer::ModelFile;

/// A model and its external data file.
#[derive(Debug)]
pub struct OnnxFiles {
    /// The model.
    pub model: ModelFile,
    /// The constants in the external file, if the model would be too large for one file.
    pub data: WeightsFile,
    /// The version of the default operator set.
    pub opset: i64,
}

/// Writes an inferred graph as an ONNX model. Constants that do not fit in the model go to an external file
/// `data_name`.
///
/// # Errors
/// Names the layer that ONNX cannot express.
pub fn onnx(graph: &Graph, data_name: &str) -> Result<OnnxFiles, Box<Located>> {
    files(graph, data_name, MAX_EMBEDDED)
}

fn files(graph: &Graph, data_name: &str, max_embedded: usize) -> Result<OnnxFiles, Box<Located>> {
    let mut graph = graph.clone();
    let refusals = Refusals::legalize(&mut graph, &table::target(), "ONNX")?;
    let graph = prepare::prepare(graph)?;
    let order = graph.order()?;
    let names = Names::new(&graph, &order);
    let mut writer = Writer::new(&graph.name, names, refusals);
    for id in order {
        let written = match graph.node(id).op() {
            Op::Parameter(parameter) => writer.parameter(&graph, id, parameter),
            Op::Result(_) => writer.result(&graph, id),
            _ => layer(&graph, id, &mut writer),
        };
        written.map_err(|error| writer.refusals.located(&graph, id, error))?;
    }
    let (mut model, data) = writer.finish(data_name, max_embedded);
    devices::add(&graph, &mut model.message);
    Ok(OnnxFiles { model: model.finish(), data, opset: OPSET })
}

/// Writes a layer of the model or of a body, except inputs and outputs.
fn layer(graph: &Graph, id: NodeId, writer: &mut Writer) -> Result<(), OpError> {
    match graph.node(id).op() {
        Op::Const(constant) => writer.constant(id, constant),
        _ => table::emit(&mut Emitter::new(graph, id, writer)?),
    }
}

#[cfg(test)]
mod tests;
