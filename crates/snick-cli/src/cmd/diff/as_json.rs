//! The differences as JSON.

use snick::{EndChange, LayerChange, LayerRef, ShapeDrift};

use super::Answer;
use super::run::OutputDiff;
use crate::cli::json::Json;

/// The whole answer.
pub(super) fn write(answer: &Answer) -> String {
    let diff = &answer.diff;
    let mut json = Json::default();
    json.object(|json| {
        json.key("schema").string("snick.diff/1");
        json.key("equal").plain(answer.is_equal());
        for (key, ends) in [("inputs", &diff.inputs), ("outputs", &diff.outputs)] {
            json.line().key(key).array(|json| ends.iter().for_each(|end| write_end(json.line(), end)));
        }
        json.line().key("layers").object(|json| {
            json.key("same").plain(diff.same);
            json.key("renamed").plain(diff.renamed);
            for (key, layers) in [("added", &diff.added), ("removed", &diff.removed)] {
                json.line().key(key).array(|json| {
                    layers.iter().for_each(|layer| json.line().object(|json| write_layer(json, layer)));
                });
            }
            json.line().key("changed").array(|json| {
                diff.changed.iter().for_each(|change| write_change(json.line(), change));
            });
        });
        json.line().key("shape_drift");
        match &diff.shape_drift {
            Some(drift) => write_drift(json, drift),
            None => json.plain("null"),
        }
        json.line().key("uncompared").plain(diff.uncompared);
        write_run(json, answer);
    });
    json.finish()
}

pub(super) fn write_layer(json: &mut Json, layer: &LayerRef) {
    json.key("name").string(&layer.name);
    json.key("op").string(&layer.op);
    json.key("loc").string(&layer.loc.to_string());
    if let Some(body) = &layer.body {
        json.key("body").string(body);
    }
}

/// The names, places and bodies of a layer that both models have.
fn write_layers(json: &mut Json, a: &LayerRef, b: &LayerRef) {
    json.key("a").string(&a.name);
    json.key("b").string(&b.name);
    json.key("op").string(&a.op);
    json.key("loc").string(&a.loc.to_string());
    json.key("loc_b").string(&b.loc.to_string());
    for (key, layer) in [("body", a), ("body_b", b)] {
        if let Some(body) = &layer.body {
            json.key(key).string(body);
        }
    }
}

/// Two values, if they differ.
fn pair(json: &mut Json, key: &str, values: Option<[&str; 2]>) {
    json.key(key);
    match values {
        Some(values) => json.array(|json| values.into_iter().for_each(|value| json.string(value))),
        None => json.plain("null"),
    }
}

/// Two texts of which each may be absent.
fn texts(json: &mut Json, values: [Option<&str>; 2]) {
    json.array(|json| {
        for value in values {
            match value {
                Some(value) => json.string(value),
                None => json.plain("null"),
            }
        }
    });
}

fn write_change(json: &mut Json, change: &LayerChange) {
    json.object(|json| {
        write_layers(json, &change.a, &change.b);
        json.key("attrs").object(|json| {
            for attr in &change.attrs {
                json.key(&attr.name);
                let [a, b] = &attr.values;
                texts(json, [a.as_deref(), b.as_deref()]);
            }
        });
        json.key("inputs").array(|json| {
            for input in &change.inputs {
                json.object(|json| {
                    json.key("port").plain(input.port);
                    json.key("reads");
                    texts(json, [input.a.as_deref(), input.b.as_deref()]);
                });
            }
        });
        json.key("weights");
        match change.weights {
            Some(weights) => json.object(|json| {
                json.key("differ").float(weights.differ);
                json.key("max_abs").float(weights.max_abs);
            }),
            None => json.plain("null"),
        }
        pair(json, "types", change.types.as_ref().map(|types| types.map(|et| et.name())));
        let shapes = change.shapes.as_ref();
        pair(json, "shapes", shapes.map(|shapes| [shapes[0].as_str(), shapes[1].as_str()]));
    });
}

fn write_end(json: &mut Json, end: &EndChange) {
    json.object(|json| {
        for (key, side) in [("a", &end.a), ("b", &end.b)] {
            match side {
                Some(side) => json.key(key).string(&side.name),
                None => json.key(key).plain("null"),
            }
        }
        for (key, side) in [("index", &end.a), ("index_b", &end.b)] {
            if let Some(side) = side {
                json.key(key).plain(side.index);
            }
        }
        let both = end.a.as_ref().zip(end.b.as_ref());
        let types = both.map(|(a, b)| [a.element_type.name(), b.element_type.name()]);
        pair(json, "types", types.filter(|[a, b]| a != b));
        let shapes = both.map(|(a, b)| [a.shape.as_str(), b.shape.as_str()]);
        pair(json, "shapes", shapes.filter(|[a, b]| a != b));
        json.key("moved").plain(end.is_moved);
        json.key("exchanged").plain(end.is_exchanged);
    });
}

fn write_drift(json: &mut Json, drift: &ShapeDrift) {
    json.object(|json| {
        let [a, b] = &drift.first;
        json.key("first").object(|json| write_layers(json, a, b));
        pair(json, "facts", Some([&drift.facts[0], &drift.facts[1]]));
        json.key("layers").plain(drift.layers);
    });
}

fn write_run(json: &mut Json, answer: &Answer) {
    json.line().key("run");
    let Some(run) = &answer.run else { return json.plain("null") };
    json.array(|json| run.outputs.iter().for_each(|output| write_output(json.line(), output)));
    json.line().key("first_difference");
    let Some((a, b, comparison)) = &run.first else { return json.plain("null") };
    json.object(|json| {
        let [a, b] = [answer.graphs[0].node(*a), answer.graphs[1].node(*b)].map(LayerRef::from);
        write_layers(json, &a, &b);
        json.key("max_abs").float(comparison.max_abs);
        json.key("max_rel").float(comparison.max_rel);
    });
}

fn write_output(json: &mut Json, output: &OutputDiff) {
    let comparison = &output.comparison;
    json.object(|json| {
        json.key("name").string(&output.name);
        json.key("max_abs").float(comparison.max_abs);
        json.key("max_rel").float(comparison.max_rel);
        json.key("worst_index");
        match comparison.worst {
            Some(at) => json.array(|json| index(at, &output.dims).into_iter().for_each(|at| json.plain(at))),
            None => json.plain("null"),
        }
        json.key("ok").plain(comparison.is_within());
        if let Some(why) = &comparison.incomparable {
            json.key("message").string(why);
        }
    });
}

/// The index along each axis of an element in row-major order.
fn index(mut at: usize, dims: &[usize]) -> Vec<usize> {
    let mut index = vec![0; dims.len()];
    for (own, &dim) in index.iter_mut().zip(dims).rev() {
        let dim = dim.max(1);
        (*own, at) = (at % dim, at / dim);
    }
    index
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_element_in_row_major_order_has_an_index_along_each_axis() {
        assert_eq!(super::index(17, &[2, 3, 4]), [1, 1, 1]);
        assert!(super::index(0, &[]).is_empty());
    }
}
