//! ONNX models, by default of operator set 21.
//!
//! Operations without an ONNX operator are decomposed first (`snick_pass::legalize`, and for slices
//! `prepare.rs`). If the user asks for an operator set, `opset.rs` also decomposes what this set lacks,
//! `forms.rs` writes older forms of nodes, and `node_types.rs` compares nodes with the table of operators.
//! `names.rs` names the values, and `writer.rs` collects the messages. Each of the other files covers one
//! family of [`Op`]: a row (`row.rs`) writes one operation with an `Emitter` (`emitter.rs`). `table.rs`
//! combines the families.

mod axes;
mod bitwise;
mod bodies;
mod detection;
mod devices;
mod elementwise;
mod emitter;
mod forms;
mod indexing;
mod movement;
mod names;
mod nn;
mod node_types;
mod normalize;
mod opset;
mod prepare;
mod quantize;
mod recurrent;
mod resize;
mod row;
mod scatter;
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
use self::writer::{MAX_EMBEDDED, Writer};
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
    files(graph, data_name, None, MAX_EMBEDDED)
}

/// Like [`onnx`], but for this operator set, with the IR version that was released with it.
///
/// # Errors
/// [`OpError::NeedsRelease`] for a layer that the operator set cannot express.
pub fn for_opset(graph: &Graph, data_name: &str, opset: i64) -> Result<OnnxFiles, Box<Located>> {
    files(graph, data_name, Some(opset), MAX_EMBEDDED)
}

fn files(
    original: &Graph,
    data_name: &str,
    opset: Option<i64>,
    max_embedded: usize,
) -> Result<OnnxFiles, Box<Located>> {
    let (graph, refusals) = match opset {
        Some(opset) => opset::legalize(original, opset)?,
        None => {
            let mut graph = original.clone();
            let refusals = Refusals::legalize(&mut graph, &table::target(), "ONNX")?;
            (prepare::prepare(graph)?, refusals)
        }
    };
    let order = graph.order()?;
    let names = Names::new(&graph, &order);
    let mut writer = Writer::new(&graph.name, names, refusals, opset);
    for id in order {
        let written = write(&graph, id, &mut writer);
        written.map_err(|error| writer.refusals.located(&graph, id, error))?;
    }
    let (opset, is_version_fixed) = (writer.opset(), writer.checked.target.is_some());
    let (mut model, data) = writer.finish(data_name, max_embedded);
    devices::add(&graph, &mut model.message, is_version_fixed);
    Ok(OnnxFiles { model: model.finish(), data, opset })
}

/// Writes a layer of the model.
fn write(graph: &Graph, id: NodeId, writer: &mut Writer) -> Result<(), OpError> {
    match graph.node(id).op() {
        Op::Parameter(parameter) => writer.parameter(graph, id, parameter),
        Op::Result(_) => writer.result(graph, id),
        _ => layer(graph, id, writer),
    }
}

/// Writes a layer of the model or of a body, except inputs and outputs.
fn layer(graph: &Graph, id: NodeId, writer: &mut Writer) -> Result<(), OpError> {
    match graph.node(id).op() {
        Op::Const(constant) => writer.constant(id, constant),
        _ => table::emit(&mut Emitter::new(graph, id, writer)?),
    }?;
    match &writer.checked.lack {
        Some(lack) => Err(OpError::unsupported(&lack.what)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
