//! The table of ops: what StableHLO calls each, and the functions for those that are more than a name.

use std::collections::HashMap;
use std::sync::LazyLock;

use snick_ir::OpError;

use super::emitter::{Emitter, Written};
use super::{
    activation, blocks, control, decoding, detection, einsum, elementwise, fourier, indexing, movement,
    normalization, pooling, product, quantize, recurrent, reduction, resample, sampling, scatter, shape,
    slices, sort, window,
};
use crate::integers::expect_reals;

/// How an op is written.
#[derive(Copy, Clone)]
pub(super) enum Form {
    /// The operation of this name on one value.
    Unary(&'static str),
    /// The same of real numbers; integers are rounded.
    Real(&'static str),
    /// The operation of this name on two values, brought to one shape.
    Binary(&'static str),
    /// A comparison of two values, brought to one shape.
    Compare(&'static str),
    /// Whatever the function writes.
    By(fn(&mut Emitter) -> Written),
}

static TABLE: LazyLock<HashMap<&'static str, Form>> = LazyLock::new(|| {
    let families = [
        activation::ROWS,
        blocks::ROWS,
        control::ROWS,
        decoding::ROWS,
        detection::ROWS,
        einsum::ROWS,
        elementwise::ROWS,
        fourier::ROWS,
        indexing::ROWS,
        movement::ROWS,
        normalization::ROWS,
        pooling::ROWS,
        product::ROWS,
        quantize::ROWS,
        recurrent::ROWS,
        reduction::ROWS,
        resample::ROWS,
        sampling::ROWS,
        scatter::ROWS,
        shape::ROWS,
        slices::ROWS,
        sort::ROWS,
        window::ROWS,
    ];
    families.into_iter().flatten().copied().collect()
});

/// Writes a layer, or answers that StableHLO cannot say it.
pub(super) fn emit(e: &mut Emitter) -> Written {
    let name = e.node.op.type_name();
    if let Ok(first) = e.input(0) {
        expect_reals(name, first.ty.element, "StableHLO")?;
    }
    match TABLE.get(name).copied().filter(|_| !e.node.op.is_opaque()) {
        Some(Form::Unary(op)) => {
            let x = e.input(0)?;
            let y = e.same(op, &[&x]);
            e.give(0, y)
        }
        Some(Form::Real(op)) => elementwise::real_function(e, |e, x| Ok(e.same(op, &[x]))),
        Some(Form::Binary(op)) => {
            let [a, b] = elementwise::pair(e)?;
            let y = e.same(op, &[&a, &b]);
            e.give(0, y)
        }
        Some(Form::Compare(direction)) => {
            let [a, b] = elementwise::pair(e)?;
            let y = e.compare(direction, &a, &b);
            e.give(0, y)
        }
        Some(Form::By(write)) => write(e),
        // What depends on nothing but constants is one.
        None => match e.evaluated() {
            Some(values) => (0..).zip(&values).try_for_each(|(port, value)| {
                let value = e.constant(value)?;
                e.give(port, value)
            }),
            None => Err(OpError::unsupported(format!("`{name}` in StableHLO"))),
        },
    }
}
