//! The table of ops: what ONNX calls each, and the functions for those that are more than a name.

use std::collections::HashMap;
use std::sync::LazyLock;

use snick_ir::OpError;

use super::emitter::{Emitter, Result};
use super::{
    attention, bodies, detection, elementwise, embedding, indexing, movement, nn, normalize, quantize,
    recurrent, shape, signal, slices, types,
};
use crate::type_limits::expect_float;

/// How an op is written.
#[derive(Copy, Clone)]
pub(super) enum EmitRule {
    /// The operator of this name, with the same inputs and no attributes.
    Rename(&'static str),
    /// The same, of real numbers only.
    RenameFloat(&'static str),
    /// The same, of real numbers; integers stay as they are.
    IdentityOnInt(&'static str),
    /// The same, where shapes are brought together as numpy does it.
    RenameBroadcast(&'static str),
    /// Whatever the function writes.
    Custom(fn(&mut Emitter) -> Result),
}

static TABLE: LazyLock<HashMap<&'static str, EmitRule>> = LazyLock::new(|| {
    let families = [
        attention::RULES,
        bodies::RULES,
        detection::RULES,
        elementwise::RULES,
        embedding::RULES,
        indexing::RULES,
        movement::RULES,
        nn::RULES,
        normalize::RULES,
        quantize::RULES,
        recurrent::RULES,
        shape::RULES,
        signal::RULES,
        slices::RULES,
    ];
    families.into_iter().flatten().copied().collect()
});

/// The types of ops that ONNX can say, at least in part, sorted. Sources and results of the graph are not among them.
pub fn written_ops() -> Vec<&'static str> {
    let mut names: Vec<&str> = TABLE.keys().copied().collect();
    names.sort_unstable();
    names
}

/// Writes a layer, or answers that ONNX cannot say it. Of a type that the operator does not have it is written in a
/// wider one.
pub(super) fn emit(e: &mut Emitter) -> Result {
    match e.node.outs.first().map(|out| out.fact.element_type) {
        Some(own) => match types::wider(e.node.op.type_name(), own)? {
            Some(wide) => e.instead(own, wide, row),
            None => row(e),
        },
        None => row(e),
    }
}

fn row(e: &mut Emitter) -> Result {
    let name = e.node.op.type_name();
    if e.len() > 0 {
        expect_float(name, e.element_type(0)?, "ONNX")?;
    }
    let form = TABLE.get(name).copied().filter(|_| !e.node.op.is_opaque());
    let inputs = e.inputs();
    match form {
        Some(EmitRule::Rename(op)) => e.last(op, &inputs, vec![]),
        Some(EmitRule::RenameFloat(op)) => {
            let element_type = e.element_type(0)?;
            if !element_type.is_float() {
                return Err(OpError::unsupported(format!("`{name}` of {element_type} in ONNX")));
            }
            e.last(op, &inputs, vec![])
        }
        Some(EmitRule::IdentityOnInt(_)) if !e.element_type(0)?.is_float() => {
            e.last("Identity", &inputs, vec![])
        }
        Some(EmitRule::IdentityOnInt(op)) => e.last(op, &inputs, vec![]),
        Some(EmitRule::RenameBroadcast(op)) => {
            elementwise::expect_numpy(e)?;
            e.last(op, &inputs, vec![])
        }
        Some(EmitRule::Custom(write)) => write(e),
        // What depends on nothing but constants is one.
        None => match e.evaluated() {
            Some(values) => {
                values.iter().enumerate().try_for_each(|(port, value)| e.last_constant(port, value))
            }
            None => Err(OpError::unsupported(format!("`{name}` in ONNX"))),
        },
    }
}
