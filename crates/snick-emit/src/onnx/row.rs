//! Rows of the ONNX table.

use super::emitter::Emitter;

/// How ONNX expresses an operation.
pub(super) type OpRow<'g> = crate::table::OpRow<'g, Emitter<'g>>;

/// Writes the operator with this name, with the inputs of the layer and no attributes.
pub(super) fn renamed<'g>(op: &'static str) -> OpRow<'g> {
    OpRow::new(move |e| e.last(op, &e.inputs(), vec![]))
}

/// Writes the operator for floats and Identity for integers.
pub(super) fn identity_on_integers<'g>(op: &'static str) -> OpRow<'g> {
    OpRow::new(move |e| {
        let op = if e.element_type(0)?.is_float() { op } else { "Identity" };
        e.last(op, &e.inputs(), vec![])
    })
}
