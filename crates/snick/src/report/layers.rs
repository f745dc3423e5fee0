//! The layers of the model and of its bodies.

use std::collections::{HashMap, HashSet};

use serde::{Serialize, Serializer};
use snick_ir::ops::source::constant::Constant;
use snick_ir::{Category, Graph, NodeId, Op, Output};

use super::numbers::{NumberedGraph, Numbers};
use super::scopes::ScopeItems;
use super::values::Histogram;
use super::{Expr, Numbered, Text, dims, object, texts};
use crate::{LayerCost, ModelCost};

/// Maximum number of known elements of a value to show.
const MOST_ELEMENTS: usize = 16;

/// The cost of each layer, indexed by id.
fn costs<'c>(numbers: &Numbers<'c>, layers: &'c [LayerCost]) -> Vec<Option<&'c LayerCost>> {
    let mut by_layer: HashMap<_, Vec<&LayerCost>> = HashMap::new();
    for layer in layers.iter().rev() {
        by_layer.entry((layer.name.as_str(), layer.op.as_str(), layer.loc)).or_default().push(layer);
    }
    let nodes =
        numbers.graphs.iter().flat_map(|numbered| numbered.order.iter().map(|&id| numbered.graph.node(id)));
    let cost = |node: snick_ir::NodeRef<'c>| {
        let layers = by_layer.get_mut(&(node.name(), node.op().type_name(), node.loc()))?;
        // If several layers share a name and a location, each gets one of their costs.
        if layers.len() > 1 { layers.pop() } else { layers.first().copied() }
    };
    nodes.map(cost).collect()
}

/// The graphs and their layers, for serialisation.
pub(super) struct Graphs<'m> {
    pub of: &'m Numbered<'m>,
    /// The names of layers whose inference failed.
    pub failed: HashSet<&'m str>,
}

impl Serialize for Graphs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct GraphData<'m> {
            title: Text<&'m str>,
            owner: Option<usize>,
            #[serde(skip_serializing_if = "Option::is_none")]
            role: Option<&'m str>,
            scopes: ScopeItems<'m>,
            layers: Layers<'m>,
        }
        let numbers = &self.of.numbers;
        let cost = self.of.model.cost().ok();
        let costs = cost.as_ref().map(|cost| (cost, costs(numbers, &cost.layers)));
        serializer.collect_seq(numbers.graphs.iter().map(|numbered| GraphData {
            title: Text(&numbered.graph.name),
            owner: numbered.owner.map(|(owner, _)| owner),
            role: numbered.owner.map(|(_, role)| role),
            scopes: ScopeItems { of: numbered, items: snick_view::scopes(numbered.graph) },
            layers: Layers { numbered, failed: &self.failed, costs: costs.as_ref() },
        }))
    }
}

struct Layers<'m> {
    numbered: &'m NumberedGraph<'m>,
    failed: &'m HashSet<&'m str>,
    costs: Option<&'m (&'m ModelCost, Vec<Option<&'m LayerCost>>)>,
}

impl Serialize for Layers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.numbered.order.iter().map(|&id| self.layer(id)))
    }
}

#[derive(Serialize)]
struct Layer<'m> {
    name: Text<&'m str>,
    op: Text<&'m str>,
    version: Text<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loc: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    /// What kind of work the layer does; `None` for inputs, outputs and constants.
    #[serde(skip_serializing_if = "Option::is_none")]
    category: Option<&'static str>,
    /// For each input, the id of the layer that produces its value, and the output of that layer.
    inputs: Vec<Option<(usize, u32)>>,
    outputs: Vec<LayerOutput<'m>>,
    #[serde(serialize_with = "object", skip_serializing_if = "Vec::is_empty")]
    attributes: Vec<(Text<String>, Text<String>)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    histogram: Option<Histogram>,
    /// The number of multiply-accumulates, operations, and output bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<[Expr; 3]>,
}

#[derive(Serialize)]
struct LayerOutput<'m> {
    port: u32,
    r#type: &'static str,
    dims: Option<Vec<Expr>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    elements: Option<Vec<Expr>>,
    #[serde(serialize_with = "texts", skip_serializing_if = "<[_]>::is_empty")]
    names: &'m [String],
}

impl<'m> Layers<'m> {
    fn layer(&self, id: NodeId) -> Layer<'m> {
        let Self { numbered, failed, costs } = *self;
        let node = numbered.graph.node(id);
        let inputs = numbered.graph.inputs(id);
        let read = inputs.iter().map(|value| value.map(|value| (numbered.of(value.node), value.port)));
        let outs = node.outs().iter().enumerate();
        let outputs = outs.map(|(at, out)| output(numbered.graph, node.output_id(at, inputs.len()), out));
        let cost = costs.and_then(|(model, layers)| {
            let LayerCost { macs, flops, bytes, .. } = (*layers.get(numbered.of(id))?)?;
            Some([macs, flops, bytes].map(|amount| Expr::amount(amount, &model.symbols)))
        });
        Layer {
            name: Text(node.name()),
            op: Text(node.op().type_name()),
            version: Text(node.version().to_string()),
            loc: node.loc().text(),
            kind: kind(node.op(), failed.contains(node.name())),
            category: Some(node.op().category())
                .filter(|&category| category != Category::Source)
                .map(Category::name),
            inputs: read.collect(),
            outputs: outputs.collect(),
            attributes: attributes(node),
            histogram: match node.op() {
                Op::Const(Constant::Here(tensor)) => Histogram::of(tensor),
                _ => None,
            },
            cost,
        }
    }
}

/// How the viewer treats a layer; `None` for an ordinary layer.
fn kind(op: &Op, is_failed: bool) -> Option<&'static str> {
    Some(match op {
        _ if is_failed => "failed",
        Op::Parameter(_) => "input",
        Op::Result(_) => "output",
        Op::Const(_) => "constant",
        op if op.is_opaque() => "unknown",
        _ => return None,
    })
}

fn output<'m>(graph: &Graph, port: u32, out: &'m Output) -> LayerOutput<'m> {
    let elements = out.fact.elements().filter(|elements| elements.len() <= MOST_ELEMENTS);
    LayerOutput {
        port,
        r#type: out.fact.element_type().name(),
        dims: dims(graph, &out.fact),
        elements: elements.map(|elements| elements.iter().map(|element| Expr::new(graph, element)).collect()),
        names: out.names(),
    }
}

fn attributes(node: snick_ir::NodeRef) -> Vec<(Text<String>, Text<String>)> {
    let declared = node.op().attrs();
    let extra = node.details().map(|details| &details.extra);
    let all = declared.iter().chain(extra.into_iter().flat_map(|extra| extra.iter()));
    all.map(|(name, value)| (Text(name.to_string()), Text(value.abbreviated()))).collect()
}
