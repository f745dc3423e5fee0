//! `snick infer`: shapes and element types of every output of every layer.

use std::fmt::Write as _;

use clap::Args;
use snick::{Model, public_name};
use snick_ir::text::Escaped;
use snick_ir::{Graph, Located, NodeId, Op, Output};

use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::json::Json;
use crate::cli::many::{Answer, ManyOptions, counted};
use crate::cli::model;
use crate::cli::options::{Common, ModelOptions, OutputFormat};
use crate::cli::symbols::{self, Declarations};

/// Options of the verb.
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    models: ManyOptions,
}

/// Infers and prints.
pub fn run(options: &Options, common: &Common, console: &Console) -> Result<Outcome, Failure> {
    options.models.answer(common, console, |model, console| answer(model, common, console))
}

fn answer(model: &ModelOptions, common: &Common, console: &Console) -> Result<Answer, Failure> {
    let mut model = model::load(model, console)?;
    let errors = model::infer(&mut model, console)?;
    errors.iter().for_each(|error| console.located(error));
    let whole = facts(&model, &errors, common.format);
    let line = format!("{}, {}", counted(model.graph().layers(), "layer"), counted(errors.len(), "error"));
    Ok(Answer { whole, line, outcome: Outcome::finding(!errors.is_empty()), model })
}

/// All that was inferred, errors included.
pub fn facts(model: &Model, errors: &[Located], format: OutputFormat) -> String {
    match format {
        OutputFormat::Text => as_text(model),
        OutputFormat::Json => as_json(model, errors),
    }
}

fn as_json(model: &Model, errors: &[Located]) -> String {
    let graph = model.graph();
    let mut json = Json::default();
    json.object(|json| {
        json.key("schema").string("snick.infer/1");
        json.line().key("inputs").array(|json| graph.parameters().for_each(|id| signature(json, graph, id)));
        json.line().key("outputs").array(|json| graph.results().for_each(|id| signature(json, graph, id)));
        json.line().key("nodes").array(|json| nodes(json, graph));
        json.line().key("symbols").array(|json| symbols::write_json(&model.symbols(), json));
        json.line().key("errors").array(|json| errors.iter().for_each(|error| json.located(error)));
    });
    json.finish()
}

/// An input or output of the model.
fn signature(json: &mut Json, graph: &Graph, id: NodeId) {
    let node = graph.node(id);
    json.object(|json| {
        json.key("name").string(node.name());
        if public_name(graph, id) != node.name() {
            json.key("public_name").string(public_name(graph, id));
        }
        if let Some(out) = node.outs().first() {
            fact(json, graph, out);
        }
    });
}

fn fact(json: &mut Json, graph: &Graph, out: &Output) {
    let (shape, symbols) = (&out.fact.shape, graph.symbols());
    let intervals = shape.display_intervals(symbols).to_string();
    json.key("element_type").string(out.fact.element_type.name());
    json.key("shape").string(&intervals);
    if !shape.is_static() {
        let symbolic = shape.display_labels(symbols).to_string();
        if symbolic != intervals {
            json.key("symbolic").string(&symbolic);
        }
    }
}

fn nodes(json: &mut Json, graph: &Graph) {
    for id in graph.ids() {
        let node = graph.node(id);
        let inputs = graph.inputs(id).len();
        json.line().object(|json| {
            json.key("name").string(node.name());
            json.key("op").string(node.op().type_name());
            json.key("version").string(&node.version().to_string());
            if node.loc().line > 0 {
                json.key("loc").string(&node.loc().to_string());
            }
            json.key("outputs").array(|json| {
                for (i, out) in node.outs().iter().enumerate() {
                    json.object(|json| {
                        json.key("port").plain(node.output_id(i, inputs));
                        fact(json, graph, out);
                        if !out.names().is_empty() {
                            json.key("tensor_names").array(|json| {
                                out.names().iter().for_each(|name| json.string(name));
                            });
                        }
                    });
                }
            });
            if node.op().is_opaque() {
                json.key("opaque").plain(true);
            }
            if node.op().bodies().next().is_some() {
                json.key("bodies").array(|json| {
                    for (role, body) in node.op().bodies() {
                        json.object(|json| {
                            json.key("name").string(role);
                            json.key("nodes").array(|json| nodes(json, body));
                        });
                    }
                });
            }
        });
    }
}

fn as_text(model: &Model) -> String {
    let found = model.symbols();
    let mut declarations = Declarations::new(&found);
    let mut text = String::new();
    table(&mut text, model.graph(), &mut declarations, "");
    symbols::write_legend(found.iter(), &mut text);
    text
}

/// One line for each layer: operation, types and name; bodies are indented below.
fn table(text: &mut String, graph: &Graph, declarations: &mut Declarations, indent: &str) {
    for id in graph.ids() {
        let node = graph.node(id);
        let outs: Vec<String> = node.outs().iter().map(|out| declarations.kind(graph, &out.fact)).collect();
        let name = match node.op() {
            Op::Parameter(_) | Op::Result(_) => public_name(graph, id),
            _ => node.name(),
        };
        let line = format!("{:24} {:32} {name}", node.op().type_name(), outs.join(" "));
        let _ = writeln!(text, "{indent}{}", Escaped(&line));
        for (role, body) in node.op().bodies() {
            let _ = writeln!(text, "{indent}  {role}");
            table(text, body, declarations, &format!("{indent}    "));
        }
    }
}
