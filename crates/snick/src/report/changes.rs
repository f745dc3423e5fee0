//! What changed from one model to another, with all that is shown of the other.

use snick_ir::json::Json;
use snick_ir::text::shortened;

use super::layers::Numbers;
use super::write_model;
use crate::{DiffOptions, Error, LayerRef, Model, ModelEnd, diff};

/// The difference as JSON. Layers are given by their numbers in the two models.
pub(super) fn json(model: &Model, numbers: &Numbers, other: &Model) -> Result<String, Error> {
    let diff = diff(model, other, &DiffOptions::new())?;
    let others = Numbers::new(other.graph());
    let mut json = Json::default();
    json.object(|json| {
        json.key("equal").plain(diff.is_equal());
        json.key("same").plain(diff.same);
        json.key("renamed").plain(diff.renamed);
        json.key("drift").plain(diff.shape_drift.as_ref().map_or(0, |drift| drift.layers));
        json.line().key("removed").array(|json| layers(json, numbers, &diff.removed));
        json.line().key("added").array(|json| layers(json, &others, &diff.added));
        json.line().key("changed").array(|json| {
            for change in &diff.changed {
                json.line().object(|json| {
                    json.key("a");
                    numbers.write_named(json, &change.a.name);
                    json.key("b");
                    others.write_named(json, &change.b.name);
                    json.key("what").array(|json| what(change).iter().for_each(|text| json.escaped(text)));
                });
            }
        });
        json.line().key("ends").array(|json| {
            for (kind, ends) in [("input", &diff.inputs), ("output", &diff.outputs)] {
                for end in ends {
                    let text = |end: &Option<ModelEnd>| match end {
                        Some(end) => format!("{} {}{}", end.name, end.element_type, end.shape),
                        None => "absent".to_string(),
                    };
                    json.escaped(&format!("{kind} {} → {}", text(&end.a), text(&end.b)));
                }
            }
        });
        json.line().key("other").object(|json| write_model(json, other, &others));
    });
    Ok(json.finish())
}

fn layers(json: &mut Json, numbers: &Numbers, layers: &[LayerRef]) {
    layers.iter().for_each(|layer| numbers.write_named(json, &layer.name));
}

/// What differs of a layer, a line each.
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
