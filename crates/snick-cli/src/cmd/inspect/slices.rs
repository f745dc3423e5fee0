//! The table of slice-like layers.

use std::fmt::Write as _;

use serde::Serialize;
use snick_ir::ops::slice::notation;
use snick_ir::text::Escaped;
use snick_ir::{Graph, NodeId};
use snick_pass::{is_slice_like, primitives_by_layer};

use crate::cli::symbols::COLUMNS;

/// A slice-like layer.
#[derive(Serialize)]
pub(super) struct SliceRow {
    #[serde(rename = "name")]
    layer: String,
    op: String,
    numpy: Vec<String>,
    #[serde(rename = "slice")]
    primitives: Vec<String>,
}

/// Adds the slice-like layers with their primitives.
pub(super) fn add(graph: &Graph, canonical: &Graph, rows: &mut Vec<SliceRow>) {
    let primitives = primitives_by_layer(canonical);
    let text = |id: &NodeId| notation(canonical, *id).unwrap_or_default().join(" ");
    let mut bodies: Vec<(&Graph, &Graph)> = Vec::new();
    for id in graph.ids() {
        let node = graph.node(id);
        if is_slice_like(node.op()) {
            rows.push(SliceRow {
                layer: node.name().to_string(),
                op: node.op().type_name().to_string(),
                numpy: notation(graph, id).unwrap_or_default(),
                primitives: primitives.get(node.name()).into_iter().flatten().map(text).collect(),
            });
        }
        if node.op().bodies().next().is_some()
            && let Some(same) = canonical.ids().find(|&other| canonical.node(other).name() == node.name())
        {
            let theirs = canonical.node(same).op().bodies().map(|(_, body)| body);
            bodies.extend(node.op().bodies().map(|(_, body)| body).zip(theirs));
        }
    }
    bodies.into_iter().for_each(|(body, canonical)| add(body, canonical, rows));
}

/// Writes the table, if there are any slices.
pub(super) fn write(rows: &[SliceRow], text: &mut String) {
    if !rows.is_empty() {
        let _ = writeln!(text, "\nslices");
        for row in rows {
            let becomes = match row.primitives.as_slice() {
                [] => "no primitive".to_string(),
                primitives => format!("slice{}", primitives.join(" slice")),
            };
            let numpy = if row.numpy.is_empty() { "?".into() } else { row.numpy.join(" ") };
            let (layer, slice) = (format!("{:14} {}", row.op, row.layer), format!("{numpy}  ->  {becomes}"));
            let fits = layer.chars().count() + slice.chars().count() + 4 <= COLUMNS;
            let separator = if fits { "  " } else { "\n      " };
            let _ = writeln!(text, "  {}{separator}{}", Escaped(&layer), Escaped(&slice));
        }
    }
}
