//! The table of ops that ONNX has.

use std::sync::LazyLock;

use snick_pass::legalize::Target;

use super::emitter::{Emitter, Result};
use super::rule::EmitRule;
use super::types::COMMON;
use super::{
    bodies, detection, elementwise, indexing, movement, nn, normalize, quantize, recurrent, resize, shape,
    signal, slices, writer,
};
use crate::legalized::no_operator;
use crate::table::Table;

static TABLE: LazyLock<Table<EmitRule>> = LazyLock::new(|| {
    Table::new(
        &[
            bodies::ROWS,
            detection::ROWS,
            elementwise::ROWS,
            indexing::ROWS,
            movement::ROWS,
            nn::ROWS,
            normalize::ROWS,
            quantize::ROWS,
            recurrent::ROWS,
            resize::ROWS,
            shape::ROWS,
            signal::ROWS,
            slices::ROWS,
        ],
        COMMON,
    )
});

/// What decompositions have to leave.
pub(super) fn target() -> Target {
    Target {
        can_write: |graph, id| TABLE.can_write(graph, id),
        computes_in: |graph, id| TABLE.computes_in(graph, id),
        has_type: writer::has_type,
    }
}

/// The ops that ONNX has an operator for, sorted, without sources and results of the graph. Many of the others are
/// decomposed.
pub fn written_ops() -> Vec<&'static str> {
    TABLE.ops()
}

/// Writes a layer that is neither a source nor a result.
pub(super) fn emit(e: &mut Emitter) -> Result {
    let inputs = e.inputs();
    match TABLE.rule(&e.layer) {
        Some(EmitRule::Rename(op)) => e.last(op, &inputs, vec![]),
        Some(EmitRule::IdentityOnInt(_)) if !e.element_type(0)?.is_float() => {
            e.last("Identity", &inputs, vec![])
        }
        Some(EmitRule::IdentityOnInt(op)) => e.last(op, &inputs, vec![]),
        Some(EmitRule::Custom(write)) => write(e),
        None => match e.evaluated() {
            Some(values) => {
                values.iter().enumerate().try_for_each(|(port, value)| e.last_constant(port, value))
            }
            None => Err(no_operator(e.node.op())),
        },
    }
}
