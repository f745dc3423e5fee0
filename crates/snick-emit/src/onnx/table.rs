//! The table of operations that ONNX expresses. Each family of operations has a function that returns its
//! rows.

use snick_ir::Op;
use snick_pass::legalize::Target;

use super::emitter::{Emitter, Result};
use super::row::OpRow;
use super::types::COMMON;
use super::{
    bodies, detection, elementwise, indexing, movement, nn, node_types, normalize, quantize, recurrent,
    resize, shape, signal, slices, writer,
};
use crate::layer::Layer;
use crate::legalized::no_operator;

/// The row of an operation.
pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    let families = [
        bodies::row,
        detection::row,
        elementwise::row,
        indexing::row,
        movement::row,
        nn::row,
        normalize::row,
        quantize::row,
        recurrent::row,
        resize::row,
        shape::row,
        signal::row,
        slices::row,
    ];
    families.iter().find_map(|row| row(op))
}

/// The row for a layer; `None` if no row covers it.
fn written<'g>(layer: &Layer<'g>) -> Option<OpRow<'g>> {
    row(layer.node.op()).filter(|row| row.writes(layer, COMMON))
}

/// The layers that ONNX can express, so that they are not decomposed.
pub(super) fn target() -> Target<'static> {
    Target {
        can_write: &|graph, id| {
            Layer::new(graph, id).is_ok_and(|layer| written(&layer).is_some() || layer.is_constant())
        },
        computes_in: &|graph, id| {
            let layer = Layer::new(graph, id).ok()?;
            row(layer.node.op())?.gap(&layer, COMMON)?
        },
        reads_definitions: false,
        has_type: &|element_type| node_types::has_type(writer::OPSET, element_type),
    }
}

/// Whether a layer becomes constants, because no row covers it.
pub(super) fn is_evaluated(layer: &Layer) -> bool {
    written(layer).is_none() && layer.is_constant()
}

/// Whether ONNX has an operator for at least some layers of an operation. Many operations without one are
/// decomposed.
pub fn has_operator(op: &Op) -> bool {
    row(op).is_some()
}

/// Writes a layer that is not a Parameter, constant or Result.
pub(super) fn emit(e: &mut Emitter) -> Result {
    match written(&e.layer) {
        Some(row) => (row.write)(e),
        None => match e.evaluated() {
            Some(values) => {
                values.iter().enumerate().try_for_each(|(port, value)| e.last_constant(port, value))
            }
            None => Err(no_operator(e.node.op())),
        },
    }
}
