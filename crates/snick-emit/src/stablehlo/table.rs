//! The table of ops that StableHLO has.

use std::sync::LazyLock;

use snick_ir::{Graph, NodeId};
use snick_pass::legalize::Target;

use super::emitter::{Emitter, Result};
use super::rule::EmitRule;
use super::{
    activation, control, decoding, detection, einsum, elementwise, fourier, indexing, movement, product,
    recurrent, reduction, resample, sampling, scatter, shape, slices, sort, special, types, window,
};
use crate::layer::Layer;
use crate::legalized::no_operator;
use crate::table::Table;

static TABLE: LazyLock<Table<EmitRule>> = LazyLock::new(|| {
    Table::new(
        &[
            activation::ROWS,
            control::ROWS,
            decoding::ROWS,
            detection::ROWS,
            einsum::ROWS,
            elementwise::ROWS,
            fourier::ROWS,
            indexing::ROWS,
            movement::ROWS,
            product::ROWS,
            recurrent::ROWS,
            reduction::ROWS,
            resample::ROWS,
            sampling::ROWS,
            scatter::ROWS,
            shape::ROWS,
            slices::ROWS,
            sort::ROWS,
            special::ROWS,
            window::ROWS,
        ],
        &[],
    )
});

/// What decompositions have to leave.
pub(super) fn target() -> Target {
    Target {
        can_write: |graph, id| TABLE.can_write(graph, id),
        computes_in: |graph, id| TABLE.computes_in(graph, id),
        has_type: types::has_type,
    }
}

/// Whether a layer is written as it is.
pub(super) fn has_rule(graph: &Graph, id: NodeId) -> bool {
    Layer::new(graph, id).is_ok_and(|layer| TABLE.rule(&layer).is_some())
}

/// Writes a layer that is neither a source nor a result.
pub(super) fn emit(e: &mut Emitter) -> Result {
    match TABLE.rule(&e.layer) {
        Some(EmitRule::Unary(op)) => {
            let x = e.input(0)?;
            let y = e.same(op, &[&x]);
            e.give(0, y)
        }
        Some(EmitRule::IdentityOnInt(op)) => {
            let x = e.input(0)?;
            let y = if x.ty.element.is_float() { e.same(op, &[&x]) } else { x };
            e.give(0, y)
        }
        Some(EmitRule::Binary(op)) => {
            let [a, b] = e.pair()?;
            let y = e.same(op, &[&a, &b]);
            e.give(0, y)
        }
        Some(EmitRule::Compare(direction)) => {
            let [a, b] = e.pair()?;
            let y = e.compare(direction, &a, &b);
            e.give(0, y)
        }
        Some(EmitRule::Custom(write)) => write(e),
        None => match e.evaluated() {
            Some(values) => (0..).zip(&values).try_for_each(|(port, value)| {
                let value = e.constant(value)?;
                e.give(port, value)
            }),
            None => Err(no_operator(e.node.op())),
        },
    }
}
