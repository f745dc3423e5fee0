//! What the page says of the model as a whole: its head, the verdict of check, cost, unknown sizes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use snick_ir::json::Json;
use snick_ir::{Format, Graph, NodeId, Op, Severity};
use snick_tensor::ElementType;

use super::layers::{Numbers, write_amount};
use crate::{Finding, Model, public_name};

pub(super) fn write(json: &mut Json, model: &Model, numbers: &Numbers, findings: &[Finding]) {
    let graph = model.graph();
    json.line().key("model").object(|json| {
        json.key("name").escaped(&graph.name);
        json.key("format").string(&format(model));
        json.key("files").array(|json| {
            let names = model.files().iter().filter_map(|path| path.file_name());
            names.for_each(|name| json.escaped(&name.to_string_lossy()));
        });
        json.key("notes").array(|json| model.notes().iter().for_each(|note| json.escaped(note)));
        json.key("constants").object(|json| constants(json, graph));
    });
    for (key, ends) in
        [("inputs", graph.parameters().collect::<Vec<_>>()), ("outputs", graph.results().collect())]
    {
        json.line().key(key).array(|json| ends.iter().for_each(|&id| end(json, numbers, id)));
    }
    json.line().key("check").object(|json| check(json, numbers, findings));
    json.line().key("cost");
    cost(json, model);
    json.line().key("unknown").object(|json| unknown(json, model, numbers));
}

/// The format of the file, with its version.
fn format(model: &Model) -> String {
    // A model from memory may have the name of a file, too.
    let path = model.files().first().map_or(Path::new(&model.graph().source), PathBuf::as_path);
    let format = Format::to_read(path);
    match (format, model.graph().ir_version) {
        (_, Some(version)) => format!("{} v{version}", Format::OpenVino.name()),
        (Some(format), None) => format.name().to_string(),
        (None, None) => Format::Text.name().to_string(),
    }
}

/// An input or output: its name and its layer.
fn end(json: &mut Json, numbers: &Numbers, id: NodeId) {
    let main = numbers.main();
    json.object(|json| {
        json.key("name").escaped(public_name(main.graph, id));
        json.key("layer").plain(main.of(id));
    });
}

/// Elements and bytes of constants by element type, bodies included.
fn constants(json: &mut Json, graph: &Graph) {
    let mut types: BTreeMap<ElementType, [u64; 2]> = BTreeMap::new();
    let mut waiting = vec![graph];
    while let Some(graph) = waiting.pop() {
        for op in graph.ids().map(|id| graph.node(id).op()) {
            waiting.extend(op.bodies().map(|(_, body)| body));
            if let Op::Const(constant) = op {
                let count = constant.dims().iter().fold(1usize, |n, &dim| n.saturating_mul(dim));
                let bytes = constant.element_type().byte_len(count).unwrap_or_default();
                let of_type = types.entry(constant.element_type()).or_default();
                of_type[0] = of_type[0].saturating_add(count as u64);
                of_type[1] = of_type[1].saturating_add(bytes as u64);
            }
        }
    }
    for (element_type, numbers) in types {
        json.key(element_type.name()).array(|json| numbers.iter().for_each(|number| json.plain(number)));
    }
}

fn check(json: &mut Json, numbers: &Numbers, findings: &[Finding]) {
    let status = match findings.iter().map(|finding| finding.severity).max() {
        Some(Severity::Error) => "error",
        Some(Severity::Warning) => "warning",
        _ => "ok",
    };
    json.key("status").string(status);
    json.key("findings").array(|json| {
        for finding in findings {
            json.line().object(|json| {
                json.key("code").string(finding.code);
                json.key("name").string(finding.name);
                json.key("severity").string(finding.severity_name());
                json.key("message").escaped(&finding.message);
                json.key("help").escaped(&finding.help);
                json.key("layer");
                numbers.write_named(json, &finding.layer);
                if finding.loc.line > 0 {
                    json.key("loc").string(&finding.loc.to_string());
                }
                json.key("origins").array(|json| finding.origins.iter().for_each(|from| json.escaped(from)));
            });
        }
    });
}

fn cost(json: &mut Json, model: &Model) {
    let Ok(cost) = model.cost() else { return json.plain("null") };
    json.object(|json| {
        json.key("parameters").plain(cost.parameters);
        json.key("weights_bytes").plain(cost.weights_bytes);
        for (key, amount) in cost.totals() {
            json.key(key);
            write_amount(json, amount, &cost.symbols);
        }
        json.key("notes").array(|json| cost.notes.iter().for_each(|note| json.escaped(note)));
    });
}

fn unknown(json: &mut Json, model: &Model, numbers: &Numbers) {
    let unknown = model.why_unknown();
    json.key("dims").plain(unknown.dims);
    json.key("origins").array(|json| {
        for origin in &unknown.origins {
            json.line().object(|json| {
                json.key("layer");
                numbers.write_named(json, &origin.layer);
                if let Some(symbol) = &origin.symbol {
                    json.key("symbol").escaped(symbol);
                }
                json.key("kind").string(origin.kind.name());
                if let Some(reason) = &origin.reason {
                    json.key("reason").escaped(reason);
                }
                json.key("dims").plain(origin.dims);
                json.key("layers").plain(origin.layers);
                json.key("outputs").plain(origin.outputs);
                json.key("suggest").array(|json| {
                    for suggestion in &origin.suggestions {
                        json.object(|json| {
                            json.key("shape").escaped(&suggestion.shape);
                            json.key("gives").escaped(&suggestion.gives);
                        });
                    }
                });
            });
        }
    });
}
