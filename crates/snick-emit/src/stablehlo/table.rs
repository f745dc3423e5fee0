//! The table of ops: what StableHLO calls each, and the functions for those that are more than a name.

use std::collections::HashMap;
use std::sync::LazyLock;

use snick_ir::OpError;

use super::emitter::{Emitter, Result};
use super::{
    activation, blocks, control, decoding, detection, einsum, elementwise, fourier, indexing, movement,
    normalization, pooling, product, quantize, recurrent, reduction, resample, sampling, scatter, shape,
    slices, sort, window,
};
use crate::type_limits::expect_float;

/// How an op is written.
#[derive(Copy, Clone)]
pub(super) enum EmitRule {
    /// The operation of this name on one value.
    Unary(&'static str),
    /// The same of real numbers; integers are rounded.
    FloatUnary(&'static str),
    /// The operation of this name on two values, brought to one shape.
    Binary(&'static str),
    /// A comparison of two values, brought to one shape.
    Compare(&'static str),
    /// Whatever the function writes.
    Custom(fn(&mut Emitter) -> Result),
}

static TABLE: LazyLock<HashMap<&'static str, EmitRule>> = LazyLock::new(|| {
    let families = [
        activation::RULES,
        blocks::RULES,
        control::RULES,
        decoding::RULES,
        detection::RULES,
        einsum::RULES,
        elementwise::RULES,
        fourier::RULES,
        indexing::RULES,
        movement::RULES,
        normalization::RULES,
        pooling::RULES,
        product::RULES,
        quantize::RULES,
        recurrent::RULES,
        reduction::RULES,
        resample::RULES,
        sampling::RULES,
        scatter::RULES,
        shape::RULES,
        slices::RULES,
        sort::RULES,
        window::RULES,
    ];
    families.into_iter().flatten().copied().collect()
});

/// Writes a layer, or answers that StableHLO cannot say it.
pub(super) fn emit(e: &mut Emitter) -> Result {
    let name = e.node.op.type_name();
    if let Ok(first) = e.input(0) {
        expect_float(name, first.ty.element, "StableHLO")?;
    }
    match TABLE.get(name).copied().filter(|_| !e.node.op.is_opaque()) {
        Some(EmitRule::Unary(op)) => {
            let x = e.input(0)?;
            let y = e.same(op, &[&x]);
            e.give(0, y)
        }
        Some(EmitRule::FloatUnary(op)) => elementwise::real_function(e, |e, x| Ok(e.same(op, &[x]))),
        Some(EmitRule::Binary(op)) => {
            let [a, b] = elementwise::pair(e)?;
            let y = e.same(op, &[&a, &b]);
            e.give(0, y)
        }
        Some(EmitRule::Compare(direction)) => {
            let [a, b] = elementwise::pair(e)?;
            let y = e.compare(direction, &a, &b);
            e.give(0, y)
        }
        Some(EmitRule::Custom(write)) => write(e),
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
