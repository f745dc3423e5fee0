//! The layers of the model and of its bodies.

use std::collections::HashMap;

use snick_ir::json::Json;
use snick_ir::ops::source::constant::Constant;
use snick_ir::{Graph, NodeId, Op, OpTraits, Output};

use super::{expr, values};
use crate::{Amount, LayerCost, Model};

/// The most known elements of a value that are shown.
const MOST_ELEMENTS: usize = 16;

/// A graph with the numbers of its layers. Layers of all graphs are counted together.
pub(super) struct Numbered<'g> {
    pub graph: &'g Graph,
    /// The layer that it is a body of, and its role there.
    pub owner: Option<(usize, &'g str)>,
    pub order: Vec<NodeId>,
    /// By index of the node.
    numbers: Vec<usize>,
}

impl Numbered<'_> {
    /// The number of a layer.
    pub fn of(&self, id: NodeId) -> usize {
        self.numbers.get(id.index()).copied().unwrap_or_default()
    }
}

/// The numbers of all layers: those of the model in the order of a run, then those of its bodies.
pub(super) struct Numbers<'g> {
    pub graphs: Vec<Numbered<'g>>,
    names: HashMap<&'g str, usize>,
}

impl<'g> Numbers<'g> {
    pub fn new(graph: &'g Graph) -> Self {
        let mut all = Self { graphs: Vec::new(), names: HashMap::new() };
        let (mut next, mut waiting) = (0, vec![(graph, None)]);
        let mut at = 0;
        while let Some(&(graph, owner)) = waiting.get(at) {
            at += 1;
            let order = graph.order().unwrap_or_else(|_| graph.ids().collect());
            let mut numbers = vec![0; graph.bound()];
            for &id in &order {
                let node = graph.node(id);
                numbers[id.index()] = next;
                all.names.entry(node.name()).or_insert(next);
                waiting.extend(node.op().bodies().map(|(role, body)| (body, Some((next, role)))));
                next += 1;
            }
            all.graphs.push(Numbered { graph, owner, order, numbers });
        }
        all
    }

    /// The graph of the model itself.
    pub fn main(&self) -> &Numbered<'g> {
        &self.graphs[0]
    }

    /// The first layer of this name.
    pub fn named(&self, name: &str) -> Option<usize> {
        self.names.get(name).copied()
    }

    /// Writes the number of the layer of this name, or null.
    pub fn write_named(&self, json: &mut Json, name: &str) {
        match self.named(name) {
            Some(number) => json.plain(number),
            None => json.plain("null"),
        }
    }
}

/// What layers cost, in the order of layers of one name.
struct Costs<'c> {
    by_layer: HashMap<(&'c str, &'c str, snick_ir::Loc), Vec<&'c LayerCost>>,
}

impl<'c> Costs<'c> {
    fn new(layers: &'c [LayerCost]) -> Self {
        let mut by_layer: HashMap<_, Vec<&LayerCost>> = HashMap::new();
        for layer in layers.iter().rev() {
            by_layer.entry((layer.name.as_str(), layer.op.as_str(), layer.loc)).or_default().push(layer);
        }
        Self { by_layer }
    }

    fn take(&mut self, graph: &'c Graph, id: NodeId) -> Option<&'c LayerCost> {
        let node = graph.node(id);
        let layers = self.by_layer.get_mut(&(node.name(), node.op().type_name(), node.loc()))?;
        // Several of one name and place: each is taken once.
        if layers.len() > 1 { layers.pop() } else { layers.first().copied() }
    }
}

/// The graphs with their layers.
pub(super) fn write(json: &mut Json, model: &Model, numbers: &Numbers, failed: &[&str]) {
    let cost = model.cost().ok();
    let mut costs = Costs::new(cost.as_ref().map_or(&[], |cost| cost.layers.as_slice()));
    let failed: std::collections::HashSet<&str> = failed.iter().copied().collect();
    for numbered in &numbers.graphs {
        json.line().object(|json| {
            json.key("title").escaped(&numbered.graph.name);
            json.key("owner");
            match numbered.owner {
                Some((owner, role)) => {
                    json.plain(owner);
                    json.key("role").string(role);
                }
                None => json.plain("null"),
            }
            json.key("repeats").array(|json| repeats(json, numbered.graph));
            json.key("layers").array(|json| {
                for &id in &numbered.order {
                    let is_failed = failed.contains(numbered.graph.node(id).name());
                    json.line().object(|json| {
                        layer(json, numbered, id, is_failed);
                        if let (Some(cost), Some(found)) = (&cost, costs.take(numbered.graph, id)) {
                            json.key("cost").array(|json| {
                                for amount in [&found.macs, &found.flops, &found.bytes] {
                                    write_amount(json, amount, &cost.symbols);
                                }
                            });
                        }
                    });
                }
            });
        });
    }
}

/// An amount as a number or an expression.
pub(super) fn write_amount(json: &mut Json, amount: &Amount, symbols: &snick_shape::Symbols) {
    match amount.number() {
        Some(number) => json.plain(number),
        None => json.escaped(&amount.display(symbols).to_string()),
    }
}

/// Scopes of equal structure, each list in the order of a run.
fn repeats(json: &mut Json, graph: &Graph) {
    for repeat in snick_view::repeats(graph) {
        json.array(|json| repeat.scopes.iter().for_each(|scope| json.escaped(scope)));
    }
}

fn layer(json: &mut Json, numbered: &Numbered, id: NodeId, is_failed: bool) {
    let graph = numbered.graph;
    let node = graph.node(id);
    json.key("name").escaped(node.name());
    json.key("op").escaped(node.op().type_name());
    json.key("version").escaped(&node.version().to_string());
    if node.loc().line > 0 {
        json.key("loc").string(&node.loc().to_string());
    }
    if let Some(kind) = kind(node.op(), is_failed) {
        json.key("kind").string(kind);
    }
    let inputs = graph.inputs(id);
    json.key("inputs").array(|json| {
        for value in &inputs {
            match value {
                Some(value) => json.array(|json| {
                    json.plain(numbered.of(value.node));
                    json.plain(value.port);
                }),
                None => json.plain("null"),
            }
        }
    });
    json.key("outputs").array(|json| {
        for (at, out) in node.outs().iter().enumerate() {
            json.object(|json| {
                json.key("port").plain(node.output_id(at, inputs.len()));
                output(json, graph, out);
            });
        }
    });
    attributes(json, node);
    if let Op::Const(Constant::Here(tensor)) = node.op() {
        values::write(json, tensor);
    }
}

/// What a layer is, unless it is like most.
fn kind(op: &Op, is_failed: bool) -> Option<&'static str> {
    Some(match op {
        _ if is_failed => "failed",
        Op::Parameter(_) => "input",
        Op::Result(_) => "output",
        Op::Const(_) => "constant",
        op if op.is_opaque() => "unknown",
        op if op.has(OpTraits::SLICE_LIKE) => "slice",
        _ => return None,
    })
}

fn output(json: &mut Json, graph: &Graph, out: &Output) {
    json.key("type").string(out.fact.element_type().name());
    json.key("dims");
    match out.fact.shape().dims() {
        Some(dims) => json.array(|json| dims.iter().for_each(|dim| expr(json, graph, dim))),
        None => json.plain("null"),
    }
    if let Some(elements) = out.fact.elements().filter(|elements| elements.len() <= MOST_ELEMENTS) {
        json.key("elements").array(|json| elements.iter().for_each(|element| expr(json, graph, element)));
    }
    if !out.names().is_empty() {
        json.key("names").array(|json| out.names().iter().for_each(|name| json.escaped(name)));
    }
}

fn attributes(json: &mut Json, node: snick_ir::NodeRef) {
    let declared = node.op().attrs();
    let extra = node.details().map(|details| &details.extra);
    let all: Vec<_> = declared.iter().chain(extra.into_iter().flat_map(|extra| extra.iter())).collect();
    if !all.is_empty() {
        json.key("attributes").object(|json| {
            for (name, value) in all {
                json.key(&snick_ir::text::Escaped(name).to_string()).escaped(&value.abbreviated());
            }
        });
    }
}
