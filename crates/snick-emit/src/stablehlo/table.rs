//! The table of operations that StableHLO expresses. Each family of operations has a function that returns
//! its rows.

use snick_ir::{Graph, NodeId, Op};
use snick_pass::legalize::Target;

use super::emitter::{Emitter, Result};
use super::row::OpRow;
use super::{
    activation, control, data_sizes, decoding, detection, einsum, elementwise, fourier, indexing, movement,
    product, recurrent, reduction, resample, sampling, scatter, shape, slices, sort, special, types, window,
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
fn written<'g>(layer: &Layer<'g>, sizes_from_data: bool) -> Option<OpRow<'g>> {
    let op = layer.node.op();
    let dynamic = if sizes_from_data { data_sizes::row(op) } else { None };
    row(op).or(dynamic).filter(|row| row.writes(layer, &[]))
}

/// The layers that StableHLO can express, so that they are not decomposed.
pub(super) fn target(sizes_from_data: bool) -> Target<'static> {
    Target {
        can_write: match sizes_from_data {
            true => &|graph, id| can_write(graph, id, true),
            false => &|graph, id| can_write(graph, id, false),
        },
        computes_in: &|_, _| None,
        reads_definitions: false,
        has_type: &types::has_type,
    }
}

fn can_write(graph: &Graph, id: NodeId, sizes_from_data: bool) -> bool {
    let layer = Layer::new(graph, id);
    layer.is_ok_and(|layer| written(&layer, sizes_from_data).is_some() || layer.is_constant())
}

/// Whether a layer can be written without decomposing it.
pub(super) fn has_rule(graph: &Graph, id: NodeId) -> bool {
    Layer::new(graph, id).is_ok_and(|layer| written(&layer, false).is_some())
}

/// Whether at least some layers with this operation need no decomposition.
pub fn has_operator(op: &Op) -> bool {
    row(op).is_some()
}

/// Writes a layer that is not a Parameter, constant or Result.
pub(super) fn emit(e: &mut Emitter) -> Result {
    match written(&e.layer, e.function.sizes_from_data) {
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
