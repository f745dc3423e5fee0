//! `snick infer`: shapes and element types of all outputs of all layers.

use std::fmt::Write as _;

use clap::Args;
use serde::{Serialize, Serializer};
use snick::{Model, Symbol, public_name};
use snick_ir::text::Escaped;
use snick_ir::{Graph, Located, NodeId, Op, Output};

use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::help;
use crate::cli::json::{self, LayerError};
use crate::cli::layout::{Layout, column};
use crate::cli::many::{Answer, ManyOptions, counted};
use crate::cli::model;
use crate::cli::options::{Common, ModelOptions, OutputFormat};
use crate::cli::symbols::{self, Declarations};

/// Options of the verb.
#[derive(Args)]
#[command(after_help = help::ending(
    [
        (r#"snick infer model.xml --shape "image[N,3,H=32..512,W]""#, "The shape of every layer as a formula of N, H and W"),
        ("snick infer model.xml --format json", "The same for programs, with the places in the file"),
    ],
    "inference finds an error"
))]
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
    let whole = facts(&model, &errors, common.format, console.layout());
    let line = format!("{}, {}", counted(model.graph().layers(), "layer"), counted(errors.len(), "error"));
    Ok(Answer { whole, line, outcome: Outcome::finding(!errors.is_empty()), model })
}

/// All inferred facts and errors.
pub fn facts(model: &Model, errors: &[Located], format: OutputFormat, layout: Layout) -> String {
    match format {
        OutputFormat::Text => as_text(model, layout),
        OutputFormat::Json => as_json(model, errors),
    }
}

fn as_json(model: &Model, errors: &[Located]) -> String {
    let graph = model.graph();
    let facts = Facts {
        inputs: graph.parameters().map(|id| signature(graph, id)).collect(),
        outputs: graph.results().map(|id| signature(graph, id)).collect(),
        nodes: Nodes(graph),
        symbols: model.symbols(),
        errors: errors.iter().map(LayerError::of).collect(),
    };
    json::Answer::new("snick.infer/1", facts).text()
}

/// The answer.
#[derive(Serialize)]
struct Facts<'m> {
    /// In file order.
    inputs: Vec<Signature<'m>>,
    /// In file order.
    outputs: Vec<Signature<'m>>,
    /// All layers of the model.
    nodes: Nodes<'m>,
    /// All symbols of the model.
    symbols: Vec<Symbol>,
    /// Errors of layers, but not their consequences.
    errors: Vec<LayerError>,
}

/// An input or output of the model.
#[derive(Serialize)]
struct Signature<'m> {
    /// The name of the layer.
    name: &'m str,
    /// The name of the tensor, if it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    public_name: Option<&'m str>,
    /// `None` for a layer without an output.
    #[serde(flatten)]
    fact: Option<PortFact>,
}

fn signature(graph: &Graph, id: NodeId) -> Signature<'_> {
    let node = graph.node(id);
    let public_name = Some(public_name(graph, id)).filter(|&public| public != node.name());
    let fact = node.outs().first().map(|out| port_fact(graph, out));
    Signature { name: node.name(), public_name, fact }
}

/// The inferred type and shape of a value.
#[derive(Serialize)]
struct PortFact {
    /// The element type.
    element_type: &'static str,
    /// The shape with intervals.
    shape: String,
    /// The shape with symbols, if these express more than the intervals.
    #[serde(skip_serializing_if = "Option::is_none")]
    symbolic: Option<String>,
}

fn port_fact(graph: &Graph, out: &Output) -> PortFact {
    let (fact, symbols) = (&out.fact, graph.symbols());
    let shape = fact.shape.display_intervals(symbols).to_string();
    let symbolic = (!fact.shape.is_static()).then(|| fact.shape.display_labels(symbols).to_string());
    let symbolic = symbolic.filter(|symbolic| *symbolic != shape);
    PortFact { element_type: fact.element_type.name(), shape, symbolic }
}

/// The layers of a graph, serialised one by one, because a large model has too many to collect.
struct Nodes<'m>(&'m Graph);

impl Serialize for Nodes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.ids().map(|id| layer(self.0, id)))
    }
}

/// A layer.
#[derive(Serialize)]
struct Layer<'m> {
    /// Its name.
    name: &'m str,
    /// Its operation type.
    op: &'m str,
    /// Its operation set, such as `opset8`.
    version: String,
    /// Its place in the file, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    loc: Option<String>,
    /// Its outputs. A Result has one: the value that it returns.
    outputs: Vec<Port<'m>>,
    /// Whether its type is unknown, so that it keeps the declared shapes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    opaque: bool,
    /// Its bodies, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    bodies: Vec<Body<'m>>,
}

/// An output of a layer.
#[derive(Serialize)]
struct Port<'m> {
    /// The port, as numbered in the file.
    port: u32,
    /// Its type and shape.
    #[serde(flatten)]
    fact: PortFact,
    /// The names of the tensor.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    tensor_names: &'m [String],
}

/// A body of a layer.
#[derive(Serialize)]
struct Body<'m> {
    /// The role of the body: `body`, `then_body` or `else_body`.
    name: &'static str,
    /// Its layers.
    nodes: Nodes<'m>,
}

fn layer(graph: &Graph, id: NodeId) -> Layer<'_> {
    let (node, inputs) = (graph.node(id), graph.inputs(id).len());
    let port = |(i, out)| Port {
        port: node.output_id(i, inputs),
        fact: port_fact(graph, out),
        tensor_names: out.names(),
    };
    Layer {
        name: node.name(),
        op: node.op().type_name(),
        version: node.version().to_string(),
        loc: node.loc().text(),
        outputs: node.outs().iter().enumerate().map(port).collect(),
        opaque: node.op().is_opaque(),
        bodies: node.op().bodies().map(|(name, body)| Body { name, nodes: Nodes(body) }).collect(),
    }
}

/// A line of the table: a layer, or the role of a body.
struct Row {
    /// The operation type, indented by the depth of the body.
    op: String,
    kinds: String,
    name: String,
}

/// Maximum widths of columns; wider entries shift the rest of their line.
const MAX_OP: usize = 32;
const MAX_KINDS: usize = 40;

fn as_text(model: &Model, layout: Layout) -> String {
    let found = model.symbols();
    let mut rows = Vec::new();
    add_rows(&mut rows, model.graph(), &mut Declarations::new(&found), "");
    let ops = column(rows.iter().map(|row| row.op.as_str()), MAX_OP);
    let kinds = column(rows.iter().map(|row| row.kinds.as_str()), MAX_KINDS);
    let mut text = String::new();
    for Row { op, kinds: types, name } in &rows {
        let line = format!("{op:ops$}  {types:kinds$}  {name}");
        let _ = writeln!(text, "{}", layout.shorten(line, name).trim_end());
    }
    symbols::write_legend(found.iter(), layout, &mut text);
    layout.fold(&text).into_owned()
}

/// Adds a row per layer: operation, types and name. Bodies are indented below their layer.
fn add_rows(rows: &mut Vec<Row>, graph: &Graph, declarations: &mut Declarations, indent: &str) {
    for id in graph.ids() {
        let node = graph.node(id);
        let outs: Vec<String> = node.outs().iter().map(|out| declarations.kind(graph, &out.fact)).collect();
        let name = match node.op() {
            Op::Parameter(_) | Op::Result(_) => public_name(graph, id),
            _ => node.name(),
        };
        let [kinds, name] = [&outs.join(" "), name].map(|text| Escaped(text).to_string());
        rows.push(Row { op: format!("{indent}{}", Escaped(node.op().type_name())), kinds, name });
        for (role, body) in node.op().bodies() {
            rows.push(Row { op: format!("{indent}  {role}"), kinds: String::new(), name: String::new() });
            add_rows(rows, body, declarations, &format!("{indent}    "));
        }
    }
}
