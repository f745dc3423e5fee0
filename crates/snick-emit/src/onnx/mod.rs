//! ONNX models of operator set 22.
//!
//! `prepare.rs` says the slice family in ops that ONNX has, `names.rs` gives values names, `writer.rs` holds the
//! messages, and a row of the table in `table.rs` writes one op with an `Emitter` (`emitter.rs`). Files by family
//! have the functions of rows that are more than a new name.

mod bodies;
mod elementwise;
mod emitter;
mod movement;
mod names;
mod nn;
mod prepare;
mod shape;
mod slices;
mod table;
mod writer;

use snick_ir::{Graph, Located, NodeId, Op, OpError};

use self::emitter::Emitter;
use self::names::Names;
use self::writer::Writer;

/// Writes an inferred graph as the bytes of an ONNX model.
///
/// # Errors
/// The layer that ONNX cannot say.
pub fn onnx(graph: &Graph) -> Result<Vec<u8>, Box<Located>> {
    let graph = prepare::prepare(graph)?;
    let order = graph.order().map_err(|id| {
        let cycle = OpError::mismatch("the order of layers", "a cycle through this layer", "no cycle");
        graph.located(id, cycle)
    })?;
    let names = Names::new(&graph, &order);
    let mut writer = Writer::new(&graph.name, names);
    for id in order {
        let error = |error: OpError| Box::new(graph.located(id, error));
        match &graph.node(id).op {
            Op::Parameter(parameter) => writer.parameter(&graph, id, parameter),
            Op::Result(_) => writer.result(&graph, id),
            _ => layer(&graph, id, &mut writer),
        }
        .map_err(error)?;
    }
    Ok(snick_onnx::encode(&writer.finish()))
}

/// Writes a layer of the model or of a body that is neither input nor output.
fn layer(graph: &Graph, id: NodeId, writer: &mut Writer) -> Result<(), OpError> {
    match &graph.node(id).op {
        Op::Const(constant) => writer.constant(id, constant),
        _ => table::emit(&mut Emitter::new(graph, id, writer)?),
    }
}
