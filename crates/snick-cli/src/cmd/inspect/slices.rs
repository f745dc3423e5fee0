//! The table of slice-like layers.

use std::collections::HashMap;

use serde::Serialize;
use snick_ir::ops::slice::notation;
use snick_ir::text::Escaped;
use snick_ir::{Graph, NodeId};
use snick_pass::{absent_primitive, is_slice_like, primitives_by_layer};

use super::sections::{Item, Section};
use crate::cli::layout::{Layout, column, width};

/// A slice-like layer.
#[derive(Serialize)]
pub(super) struct SliceRow {
    /// The name of the layer.
    #[serde(rename = "name")]
    layer: String,
    /// Its operation type.
    op: String,
    /// The slice of each output in numpy notation; empty if the bounds are known only in a run.
    numpy: Vec<String>,
    /// The primitives that the layer is lowered to.
    #[serde(rename = "slice")]
    primitives: Vec<String>,
    /// Why there are no primitives.
    #[serde(skip)]
    absent: Option<&'static str>,
}

/// Adds a row for each slice-like layer of `graph`, with the `slice` primitives that replace it in
/// `canonical`.
pub(super) fn add(graph: &Graph, canonical: &Graph, rows: &mut Vec<SliceRow>) {
    let primitives = primitives_by_layer(canonical);
    let text = |id: &NodeId| notation(canonical, *id).unwrap_or_default().join(" ");
    let mut bodies: Vec<(&Graph, &Graph)> = Vec::new();
    for id in graph.ids() {
        let node = graph.node(id);
        if is_slice_like(node.op()) {
            let primitives: Vec<String> =
                primitives.get(node.name()).into_iter().flatten().map(text).collect();
            rows.push(SliceRow {
                layer: node.name().to_string(),
                op: node.op().type_name().to_string(),
                numpy: notation(graph, id).unwrap_or_default(),
                absent: primitives.is_empty().then(|| absent_primitive(graph, id, canonical)),
                primitives,
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

/// The table. Unless `is_whole`, layers that slice in the same way share a line.
pub(super) fn section(rows: &[SliceRow], is_whole: bool, layout: Layout) -> Section {
    let mut groups: Vec<(&SliceRow, String, usize)> = Vec::new();
    let mut places: HashMap<(&str, String), usize> = HashMap::new();
    for row in rows {
        let key = (row.op.as_str(), row.text());
        match places.get(&key).filter(|_| !is_whole) {
            Some(&place) => groups[place].2 += 1,
            None => {
                groups.push((row, key.1.clone(), 1));
                places.insert(key, groups.len() - 1);
            }
        }
    }
    let ops = column(groups.iter().map(|(row, ..)| row.op.as_str()), 16);
    let slices = column(groups.iter().map(|(_, slice, _)| slice.as_str()), layout.columns / 2);
    let item = |(row, slice, count): (&SliceRow, String, usize)| {
        let (op, name) = (Escaped(&row.op).to_string(), Escaped(&row.layer).to_string());
        let others = if count > 1 { format!(" and {} more", count - 1) } else { String::new() };
        let line = layout.shorten(format!("  {op:ops$}  {slice:slices$}  {name}{others}"), &name);
        let text = match width(&line) <= layout.columns {
            true => line,
            false => {
                let line = layout.shorten(format!("  {op:ops$}  {name}{others}"), &name);
                format!("{line}\n      {}", layout.fill(slice.split(' '), 6))
            }
        };
        Item { text, count }
    };
    Section::new("slices", []).with(groups.into_iter().map(item))
}

impl SliceRow {
    /// The slice in numpy notation as its layer declares it, and its primitives if their notation differs.
    fn text(&self) -> String {
        let numpy = match self.numpy.as_slice() {
            [] => "bounds only known at run time".to_string(),
            outputs => outputs.join(" "),
        };
        let text = match &self.absent {
            Some(reason) => format!("{numpy}  ->  {reason}"),
            None if self.primitives == self.numpy => numpy,
            None => format!("{numpy}  ->  slice{}", self.primitives.join(" slice")),
        };
        Escaped(&text).to_string()
    }
}
