//! The changes from one model to another, with the report data of the other model.

use std::path::Path;

use serde::Serialize;
use snick_ir::text::shortened;

use super::numbers::Numbers;
use super::{Numbered, Text};
use crate::{ChangeDetail, ChangeGroup, DiffOptions, Error, LayerRef, Model, ModelDiff, ModelEnd, diff};

/// The differences. Layers are given by their ids in the two models.
#[derive(Serialize)]
pub(super) struct Changes<'m> {
    names: [Text<String>; 2],
    equal: bool,
    verdict: String,
    same: usize,
    renamed: usize,
    drift: Option<Drift>,
    groups: Vec<Group>,
    ends: Vec<Text<String>>,
    /// For each layer of the first model, the id of the corresponding layer of the second model.
    pairs: Vec<Option<usize>>,
    other: &'m Numbered<'m>,
}

/// Layers whose shapes or types differ as a consequence, and the first of them.
#[derive(Serialize)]
struct Drift {
    layers: usize,
    a: Option<usize>,
    b: Option<usize>,
    facts: [Text<String>; 2],
}

/// Layers with the same operation and the same kind of change.
#[derive(Serialize)]
struct Group {
    kind: &'static str,
    title: Text<String>,
    layers: Vec<Changed>,
}

#[derive(Serialize)]
struct Changed {
    #[serde(skip_serializing_if = "Option::is_none")]
    a: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    b: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    details: Vec<Detail>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Detail {
    Value { name: Text<String>, values: [Option<Text<String>>; 2] },
    Elements { text: Text<String> },
}

impl<'m> Changes<'m> {
    pub fn new(model: &Numbered, other: &'m Numbered) -> Result<Self, Error> {
        let diff = diff(model.model, other.model, &DiffOptions::new())?;
        let (numbers, others) = (&model.numbers, &other.numbers);
        let drift = diff.shape_drift.as_ref().map(|drift| Drift {
            layers: drift.layers,
            a: numbers.of_layer(&drift.first[0]),
            b: others.of_layer(&drift.first[1]),
            facts: drift.facts.clone().map(Text),
        });
        let inputs = diff.inputs.iter().map(|end| ("input", end));
        let ends = inputs.chain(diff.outputs.iter().map(|end| ("output", end)));
        let ends = ends.map(|(kind, end)| {
            let moved = if end.is_moved { ", at another position" } else { "" };
            let exchanged = if end.is_exchanged { ", with swapped names" } else { "" };
            Text(format!("{kind} {} → {}{moved}{exchanged}", text(&end.a), text(&end.b)))
        });
        Ok(Self {
            names: names([model.model, other.model]).map(Text),
            equal: diff.is_equal(),
            verdict: diff.verdict(),
            same: diff.same,
            renamed: diff.renamed,
            drift,
            groups: groups(&diff, numbers, others),
            ends: ends.collect(),
            pairs: pairs(&diff, numbers, others),
            other,
        })
    }
}

/// The groups of layers in the order of the text of `diff`.
fn groups(diff: &ModelDiff, numbers: &Numbers, others: &Numbers) -> Vec<Group> {
    let one_sided = |kind, group: ChangeGroup<LayerRef>| {
        let changed = |layer: &LayerRef| match kind {
            "removed" => Changed { a: numbers.of_layer(layer), b: None, details: Vec::new() },
            _ => Changed { a: None, b: others.of_layer(layer), details: Vec::new() },
        };
        let layers = group.items.into_iter().map(changed).collect();
        Group { kind, title: Text(group.title), layers }
    };
    let removed = diff.removed_groups().into_iter().map(|group| one_sided("removed", group));
    let added = diff.added_groups().into_iter().map(|group| one_sided("added", group));
    let changed = diff.changed_groups().into_iter().map(|group| {
        let changed = |change: &crate::LayerChange| Changed {
            a: numbers.of_layer(&change.a),
            b: others.of_layer(&change.b),
            details: change.details().into_iter().map(detail).collect(),
        };
        let layers = group.items.into_iter().map(changed).collect();
        Group { kind: "changed", title: Text(group.title), layers }
    });
    removed.chain(added).chain(changed).collect()
}

fn detail(detail: ChangeDetail) -> Detail {
    match detail {
        ChangeDetail::Value { name, values } => {
            let text = |value: String| Text(shortened(&value).into_owned());
            Detail::Value { name: Text(name), values: values.map(|value| value.map(text)) }
        }
        ChangeDetail::Elements(text) => Detail::Elements { text: Text(text) },
    }
}

fn pairs(diff: &ModelDiff, numbers: &Numbers, others: &Numbers) -> Vec<Option<usize>> {
    let mut pairs = vec![None; numbers.main().order.len()];
    for &(a, b) in &diff.pairs {
        pairs[numbers.main().of(a)] = Some(others.main().of(b));
    }
    pairs
}

fn text(end: &Option<ModelEnd>) -> String {
    match end {
        Some(end) => format!("{} {}{}", end.name, end.element_type, end.shape),
        None => "absent".to_string(),
    }
}

/// The names of the files of both models. If they are equal, the shortest ends of the paths that differ.
fn names(models: [&Model; 2]) -> [String; 2] {
    let paths = models.map(|model| {
        let source = Path::new(&model.graph().source);
        let path = model.files().first().map_or(source, |path| path);
        let parts: Vec<String> =
            path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
        if parts.is_empty() { vec![model.graph().name.clone()] } else { parts }
    });
    let suffix = |of: &[String], length: usize| of[of.len().saturating_sub(length)..].join("/");
    let longest = paths[0].len().max(paths[1].len());
    let differs = |&length: &usize| suffix(&paths[0], length) != suffix(&paths[1], length);
    let length = (1..=longest).find(differs).unwrap_or(1);
    [suffix(&paths[0], length), suffix(&paths[1], length)]
}
