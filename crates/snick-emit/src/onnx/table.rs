//! The table of ops: what ONNX calls each, and the functions for those that are more than a name.

use std::collections::HashMap;
use std::sync::LazyLock;

use snick_ir::OpError;

use super::emitter::{Emitter, Written};
use super::{
    attention, bodies, detection, elementwise, embedding, indexing, movement, nn, normalize, quantize,
    recurrent, shape, signal, slices, types,
};
use crate::integers::expect_reals;

/// How an op is written.
#[derive(Copy, Clone)]
pub(super) enum Form {
    /// The operator of this name, with the same inputs and no attributes.
    Same(&'static str),
    /// The same, of real numbers only.
    Real(&'static str),
    /// The same, of real numbers; integers stay as they are.
    Whole(&'static str),
    /// The same, where shapes are brought together as numpy does it.
    Numpy(&'static str),
    /// Whatever the function writes.
    By(fn(&mut Emitter) -> Written),
}

static TABLE: LazyLock<HashMap<&'static str, Form>> = LazyLock::new(|| {
    let families = [
        attention::ROWS,
        bodies::ROWS,
        detection::ROWS,
        elementwise::ROWS,
        embedding::ROWS,
        indexing::ROWS,
        movement::ROWS,
        nn::ROWS,
        normalize::ROWS,
        quantize::ROWS,
        recurrent::ROWS,
        shape::ROWS,
        signal::ROWS,
        slices::ROWS,
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
pub(super) fn emit(e: &mut Emitter) -> Written {
    match e.node.outs.first().map(|out| out.fact.element_type) {
        Some(own) => match types::wider(e.node.op.type_name(), own)? {
            Some(wide) => e.instead(own, wide, row),
            None => row(e),
        },
        None => row(e),
    }
}

fn row(e: &mut Emitter) -> Written {
    let name = e.node.op.type_name();
    if e.len() > 0 {
        expect_reals(name, e.element_type(0)?, "ONNX")?;
    }
    let form = TABLE.get(name).copied().filter(|_| !e.node.op.is_opaque());
    let inputs = e.inputs();
    match form {
        Some(Form::Same(op)) => e.last(op, &inputs, vec![]),
        Some(Form::Real(op)) => {
            let element_type = e.element_type(0)?;
            if !element_type.is_float() {
                return Err(OpError::unsupported(format!("`{name}` of {element_type} in ONNX")));
            }
            e.last(op, &inputs, vec![])
        }
        Some(Form::Whole(_)) if !e.element_type(0)?.is_float() => e.last("Identity", &inputs, vec![]),
        Some(Form::Whole(op)) => e.last(op, &inputs, vec![]),
        Some(Form::Numpy(op)) => {
            elementwise::expect_numpy(e)?;
            e.last(op, &inputs, vec![])
        }
        Some(Form::By(write)) => write(e),
        // What depends on nothing but constants is one.
        None => match e.evaluated() {
            Some(values) => {
                values.iter().enumerate().try_for_each(|(port, value)| e.last_constant(port, value))
            }
            None => Err(OpError::unsupported(format!("`{name}` in ONNX"))),
        },
    }
}
