//! The table of operations that StableHLO expresses. Each family of operations has a function that returns
//! its rows.

use snick_ir::{Graph, NodeId, Op};
use snick_pass::legalize::Target;

use super::emitter::{Emitter, Result};
use super::row::OpRow;
use super::{
    activation, control, decoding, detection, einsum, elementwise, fourier, indexing, movement, product,
    recurrent, reduction, resample, sampling, scatter, shape, slices, sort, special, types, window,
};
use crate::layer::Layer;
use crate::legalized::no_operator;

fn row(op: &Op) -> Option<OpRow<'_>> {
    let families = [
        activation::row,
        control::row,
        decoding::row,
        detection::row,
        einsum::row,
        elementwise::row,
        fourier::row,
        indexing::row,
        movement::row,
        product::row,
        recurrent::row,
        reduction::row,
        resample::row,
        sampling::row,
        scatter::row,
        shape::row,
        slices::row,
        sort::row,
        special::row,
        window::row,
    ];
    families.iter().find_map(|row| row(op))
}

/// The row for a layer; `None` if no row covers it.
fn written<'g>(layer: &Layer<'g>) -> Option<OpRow<'g>> {
    row(layer.node.op()).filter(|row| row.writes(layer, &[]))
}

/// The layers that StableHLO can express, so that they are not decomposed.
pub(super) fn target() -> Target<'static> {
    Target {
        can_write: &|graph, id| {
            Layer::new(graph, id).is_ok_and(|layer| written(&layer).is_some() || layer.is_constant())
        },
        computes_in: &|_, _| None,
        reads_definitions: false,
        has_type: &types::has_type,
    }
}

/// Whether a layer can be written without decomposing it.
pub(super) fn has_rule(graph: &Graph, id: NodeId) -> bool {
    Layer::new(graph, id).is_ok_and(|layer| written(&layer).is_some())
}

/// Whether at least some layers with this operation need no decomposition.
pub fn has_operator(op: &Op) -> bool {
    row(op).is_some()
}

/// Writes a layer that is not a Parameter, constant or Result.
pub(super) fn emit(e: &mut Emitter) -> Result {
    match written(&e.layer) {
        Some(row) => (row.write)(e),
        None => match e.evaluated() {
            Some(values) => (0..).zip(&values).try_for_each(|(port, value)| {
                let value = e.constant(value)?;
                e.give(port, value)
            }),
            None => Err(no_operator(e.node.op())),
        },
    }
}
