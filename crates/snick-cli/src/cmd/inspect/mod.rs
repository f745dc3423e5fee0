//! `snick inspect`: inputs, outputs, operations, slices, weights and states of a model.

mod sections;
mod slices;
mod states;
mod timings;
mod weights;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use clap::Args;
use serde::Serialize;
use snick::{BirthKind, LayerTime, Model, StateSize, SymExpr, Symbol, WeightKind, WeightsOf, public_name};
use snick_ir::text::Escaped;
use snick_ir::{Graph, NodeId, Op};

use self::sections::{Item, Section};
use self::slices::SliceRow;

use super::cost::{self, Totals};
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::example::Example;
use crate::cli::help;
use crate::cli::layout::{Layout, column};
use crate::cli::many::{Answer, ManyOptions, counted};
use crate::cli::options::{Common, ModelOptions, OutputFormat};
use crate::cli::symbols::{self, Declarations};
use crate::cli::{json, model, quantity};

/// Options of the verb.
#[derive(Args)]
#[command(after_help = help::ending(
    [
        ("snick inspect model.xml", "What the model takes, computes and costs"),
        (r#"snick inspect models/ --shape "[1,3,N,N]""#, "One line for each model of a folder, with other input shapes"),
    ],
    "inference finds an error"
))]
pub struct Options {
    #[command(flatten)]
    models: ManyOptions,
    /// Show all inputs, slices, operations and so on, not only the first ones
    #[arg(long)]
    all: bool,
}

/// The summary of a model.
#[derive(Default, Serialize)]
struct Summary {
    /// The name of the model.
    name: String,
    /// The version of the OpenVINO IR, if it is one.
    #[serde(skip)]
    ir_version: Option<u32>,
    /// The number of layers, including bodies.
    layers: usize,
    /// The number of connections, including bodies.
    wires: usize,
    /// The number of layers of unknown type.
    opaque: usize,
    /// The bytes of all constants.
    weights_bytes: usize,
    /// In file order.
    inputs: Vec<Port>,
    /// In file order.
    outputs: Vec<Port>,
    /// The number of sizes without an upper bound in the outputs of the model.
    #[serde(skip)]
    unbounded_outputs: usize,
    /// The number of sizes without an upper bound in the outputs of all layers.
    unbounded_dims: usize,
    /// The number of layers of each operation type.
    ops: BTreeMap<String, usize>,
    /// The slice-like layers, including bodies.
    slices: Vec<SliceRow>,
    /// The weights, grouped by storage type and scale.
    #[serde(serialize_with = "weights::serialize")]
    weights: BTreeMap<WeightKind, WeightsOf>,
    /// The variables.
    states: Vec<StateSize>,
    /// The layers of an execution graph, in execution order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    times: Vec<LayerTime>,
    /// The cost of a run; `None` if the layers form a cycle.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<Totals>,
}

/// An input or output.
#[derive(Serialize)]
struct Port {
    /// The name of the layer.
    #[serde(rename = "name")]
    layer: String,
    /// The name of the tensor, if it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    public_name: Option<String>,
    /// The element type, and the shape with the declarations of symbols.
    #[serde(rename = "type")]
    kind: String,
}

impl Port {
    fn name(&self) -> &str {
        self.public_name.as_ref().unwrap_or(&self.layer)
    }
}

/// Reads, infers, prints.
pub fn run(options: &Options, common: &Common, console: &Console) -> Result<Outcome, Failure> {
    options.models.answer(common, console, |model, console| answer(model, options.all, common, console))
}

fn answer(
    model: &ModelOptions,
    is_whole: bool,
    common: &Common,
    console: &Console,
) -> Result<Answer, Failure> {
    let mut model = model::load(model, console)?;
    let errors = model::infer(&mut model, console)?;
    errors.iter().for_each(|error| console.located(error));
    let graph = model.graph();
    let mut summary =
        Summary { name: graph.name.clone(), ir_version: graph.ir_version, ..Summary::default() };
    let symbols = model.symbols();
    let mut declarations = Declarations::new(&symbols);
    summary.inputs = graph.parameters().map(|id| port(graph, id, &mut declarations)).collect();
    summary.outputs = graph.results().map(|id| port(graph, id, &mut declarations)).collect();
    summary.unbounded_outputs = unbounded(graph, graph.results());
    summary.unbounded_dims = unbounded(graph, graph.ids());
    summary.count(graph);
    let mut canonical = graph.clone();
    drop(snick_pass::lower_slices(&mut canonical));
    slices::add(graph, &canonical, &mut summary.slices);
    summary.weights = snick::weights(graph);
    summary.states = snick::state_sizes(graph);
    summary.times = snick::layer_times(graph);
    summary.cost = model.cost().ok().map(Totals);
    let whole = match common.format {
        OutputFormat::Text => summary.as_text(&model, is_whole, console.layout()),
        OutputFormat::Json => {
            let answer = json::Answer::new("snick.inspect/1", &summary);
            answer.with_symbols_in(|text| summary.symbols_in(&model, text)).text()
        }
    };
    let line = [
        counted(summary.layers, "layer"),
        counted(summary.slices.len(), "slice"),
        counted(summary.unbounded_outputs, "unbounded size"),
        counted(errors.len(), "error"),
    ];
    Ok(Answer { whole, line: line.join(", "), outcome: Outcome::finding(!errors.is_empty()), model })
}

fn port(graph: &Graph, id: NodeId, declarations: &mut Declarations) -> Port {
    let node = graph.node(id);
    let kind = node.outs().first().map(|out| declarations.kind(graph, &out.fact));
    let public_name = Some(public_name(graph, id)).filter(|&public| public != node.name());
    let (layer, public_name) = (node.name().to_string(), public_name.map(str::to_string));
    Port { layer, public_name, kind: kind.unwrap_or_default() }
}

/// The number of sizes without an upper bound in the outputs of these layers. An output of unknown rank
/// counts as one size.
fn unbounded(graph: &Graph, layers: impl Iterator<Item = NodeId>) -> usize {
    let of = |id: NodeId| {
        let unranked = graph.node(id).outs().iter().filter(|out| out.fact.shape.rank().is_none()).count();
        let open = dims_of(graph, id).filter(|dim| !graph.symbols().interval(dim).has_upper()).count();
        unranked + open
    };
    layers.map(of).sum()
}

fn dims_of(graph: &Graph, id: NodeId) -> impl Iterator<Item = &SymExpr> {
    graph.node(id).outs().iter().filter_map(|out| out.fact.shape.dims()).flatten()
}

impl Summary {
    /// Counts layers, connections and weights, including bodies.
    fn count(&mut self, graph: &Graph) {
        for id in graph.ids() {
            let node = graph.node(id);
            self.layers += 1;
            self.wires += graph.inputs(id).iter().flatten().count();
            self.opaque += usize::from(matches!(node.op(), Op::Opaque(_)));
            *self.ops.entry(node.op().type_name().to_string()).or_default() += 1;
            if let Op::Const(constant) = node.op() {
                let count = constant.dims().iter().fold(1usize, |n, &d| n.saturating_mul(d));
                let bytes = constant.element_type().byte_len(count).unwrap_or_default();
                self.weights_bytes = self.weights_bytes.saturating_add(bytes);
            }
            node.op().bodies().for_each(|(_, body)| self.count(body));
        }
    }

    fn symbols_in(&self, model: &Model, text: &str) -> Vec<Symbol> {
        match &self.cost {
            Some(Totals(cost)) => cost.symbols_in(model, text),
            None => model.symbols_in(text),
        }
    }

    fn as_text(&self, model: &Model, is_whole: bool, layout: Layout) -> String {
        let mut sections =
            vec![ports("inputs", &self.inputs, layout), ports("outputs", &self.outputs, layout)];
        if let Some(Totals(cost)) = self.cost.as_ref().filter(|_| self.times.is_empty()) {
            sections
                .push(Section::new("cost of a run", cost::totals(&Example::of(model, cost), layout)).uncut());
        }
        sections.push(slices::section(&self.slices, is_whole, layout));
        sections.push(self.operations(layout));
        sections.extend(weights::section(&self.weights, layout));
        sections.extend(states::section(&self.states, layout));
        sections.extend(timings::section(&self.times, layout));
        // The legend of the symbols that the text mentions.
        let legend = |text: &str| {
            let symbols = self.symbols_in(model, text);
            let born = symbols.iter().filter(|symbol| symbol.kind != BirthKind::Input);
            Section::new("symbols", born.map(|symbol| symbols::entry(symbol, layout)))
        };
        let texts: Vec<&str> =
            sections.iter().flat_map(|section| &section.items).map(|item| item.text.as_str()).collect();
        let reserved = legend(&texts.join("\n"));
        sections::render(self.head(layout), sections, reserved, legend, is_whole, layout)
    }

    fn head(&self, layout: Layout) -> String {
        let mut text = format!("model    {}\n", Escaped(&self.name));
        if let Some(version) = self.ir_version {
            let _ = writeln!(text, "format   OpenVINO IR v{version}");
        }
        let _ = write!(text, "layers   {}, {}", self.layers, counted(self.wires, "connection"));
        if self.opaque > 0 {
            let _ = write!(text, ", {} of unknown type", self.opaque);
        }
        let _ = writeln!(text, "\nweights  {}", quantity::bytes(self.weights_bytes as u64));
        let (of_outputs, all) = (self.unbounded_outputs, self.unbounded_dims);
        if all > 0 {
            let _ = writeln!(
                text,
                "sizes    unbounded: {of_outputs} in outputs, {all} in total (snick why MODEL --unknown)"
            );
        }
        layout.fold(&text).into_owned()
    }

    /// The operation types in columns, the most frequent first.
    fn operations(&self, layout: Layout) -> Section {
        let mut ops: Vec<_> = self.ops.iter().collect();
        ops.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let digits = ops.first().map_or(0, |(_, count)| count.to_string().len());
        let cells: Vec<String> =
            ops.into_iter().map(|(op, count)| format!("  {count:digits$}  {}", Escaped(op))).collect();
        let in_row = layout.in_row(&cells);
        let widths: Vec<usize> = (0..in_row)
            .map(|at| column(cells.iter().skip(at).step_by(in_row).map(String::as_str), usize::MAX))
            .collect();
        let row = |row: &[String]| {
            let cells = row.iter().zip(&widths).map(|(text, width)| format!("{text:width$}"));
            Item { text: cells.collect::<String>().trim_end().to_string(), count: row.len() }
        };
        Section::new("operations", []).with(cells.chunks(in_row).map(row))
    }
}

fn ports(title: &str, ports: &[Port], layout: Layout) -> Section {
    let names: Vec<String> = ports.iter().map(|port| Escaped(port.name()).to_string()).collect();
    let width = column(names.iter().map(String::as_str), 48);
    let line = |(port, name): (&Port, &String)| {
        layout.shorten(format!("  {name:width$}  {}", Escaped(&port.kind)), name)
    };
    Section::new(title, ports.iter().zip(&names).map(line))
}
