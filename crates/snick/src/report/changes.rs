//! The changes from one model to another, with the report data of the other model.

use serde::Serialize;
use snick_ir::text::shortened;

use super::layers::Numbers;
use super::{Numbered, Text};
use crate::{DiffOptions, Error, LayerRef, ModelEnd, diff};

/// The differences. Layers are given by their ids in the two models.
#[derive(Serialize)]
pub(super) struct Changes<'m> {
    equal: bool,
    same: usize,
    renamed: usize,
    drift: usize,
    removed: Vec<Option<usize>>,
    added: Vec<Option<usize>>,
    changed: Vec<Changed>,
    ends: Vec<Text<String>>,
    other: &'m Numbered<'m>,
}

#[derive(Serialize)]
struct Changed {
    a: Option<usize>,
    b: Option<usize>,
    what: Vec<Text<String>>,
}

impl<'m> Changes<'m> {
    pub fn new(model: &Numbered, other: &'m Numbered) -> Result<Self, Error> {
        let diff = diff(model.model, other.model, &DiffOptions::new())?;
        let (numbers, others) = (&model.numbers, &other.numbers);
        let layers = |numbers: &Numbers, layers: &[LayerRef]| {
            layers.iter().map(|layer| numbers.named(&layer.name)).collect()
        };
        let changed = diff.changed.iter().map(|change| Changed {
            a: numbers.named(&change.a.name),
            b: others.named(&change.b.name),
            what: what(change).into_iter().map(Text).collect(),
        });
        let text = |end: &Option<ModelEnd>| match end {
            Some(end) => format!("{} {}{}", end.name, end.element_type, end.shape),
            None => "absent".to_string(),
        };
        let inputs = diff.inputs.iter().map(|end| ("input", end));
        let ends = inputs.chain(diff.outputs.iter().map(|end| ("output", end)));
        let ends = ends.map(|(kind, end)| Text(format!("{kind} {} → {}", text(&end.a), text(&end.b))));
        Ok(Self {
            equal: diff.is_equal(),
            same: diff.same,
            renamed: diff.renamed,
            drift: diff.shape_drift.as_ref().map_or(0, |drift| drift.layers),
            removed: layers(numbers, &diff.removed),
            added: layers(others, &diff.added),
            changed: changed.collect(),
            ends: ends.collect(),
            other,
        })
    }
}

/// Describes the differences of a layer, one per line.
fn what(change: &crate::LayerChange) -> Vec<String> {
    let text = |value: &Option<String>| match value {
        Some(value) => shortened(value).into_owned(),
        None => "absent".to_string(),
    };
    let mut lines: Vec<String> = Vec::new();
    lines.extend(
        change
            .attrs
            .iter()
            .map(|attr| format!("{}: {} → {}", attr.name, text(&attr.values[0]), text(&attr.values[1]))),
    );
    lines.extend(
        change
            .inputs
            .iter()
            .map(|input| format!("input {}: reads {} → {}", input.port, text(&input.a), text(&input.b))),
    );
    if let Some(weights) = &change.weights {
        lines.push(format!(
            "weights: {:.1} % differ, by at most {}",
            weights.differ * 100.0,
            weights.max_abs
        ));
    }
    if let Some([a, b]) = &change.types {
        lines.push(format!("type: {} → {}", a.name(), b.name()));
    }
    if let Some([a, b]) = &change.shapes {
        lines.push(format!("shape: {a} → {b}"));
    }
    if change.lacks_elements {
        lines.push("the elements of one of the constants are not there".to_string());
    }
    lines
}
