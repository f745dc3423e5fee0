//! Explains the sizes of a model that have no upper bound, grouped by origin.

use std::collections::{BTreeSet, HashMap};

use serde::Serialize;
use snick_ir::{Graph, Loc, NO_EXPRESSION, NO_RULE_FOR_RANK, NodeId, Op, Value, ValuePart};
use snick_shape::{SymExpr, SymbolId};

use super::super::BirthKind;
use super::super::symbols::{Births, missing_data};
use super::bounds::Bounds;
use super::serial;
use super::suggest::{Suggester, Suggestion};
use crate::Model;

/// The origin of one or more unknown sizes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct UnknownOrigin {
    /// The layer.
    pub layer: String,
    /// Its operation type.
    pub op: String,
    /// The location of the layer in the file.
    #[serde(serialize_with = "serial::loc", skip_serializing_if = "serial::is_nowhere")]
    pub loc: Loc,
    /// The symbol; `None` if even the rank is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// The axis of the layer's output whose size is the symbol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub axis: Option<usize>,
    /// The kind of reason why the size is unknown.
    pub kind: BirthKind,
    /// The reason in words; `None` if an input declares the symbol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The number of sizes in all layers that have no upper bound because of this origin. A value of unknown
    /// rank counts as one size.
    pub dims: usize,
    /// The number of layers with such sizes.
    pub layers: usize,
    /// The number of outputs of the model with such sizes.
    pub outputs: usize,
    /// Input shapes that make the size known, or known more precisely, at this layer. Each was confirmed by
    /// inference.
    #[serde(rename = "suggest")]
    pub suggestions: Vec<Suggestion>,
    /// The output size of the layer that is this symbol.
    #[serde(skip)]
    size: Option<ValuePart>,
}

/// All sizes without an upper bound, except those in bodies.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,3\"}\n  \
/// #             %at = NonZero-3(%x) {output_type: i64}\n  %y = Result-1(%at)\n}\n";
/// let mut model = snick::parse(text)?;
/// model.infer().into_result()?;
/// let unknown = model.why_unknown();
/// assert_eq!(unknown.dims, 3);
/// assert_eq!((unknown.origins[0].layer.as_str(), unknown.origins[0].dims), ("at", 2));
/// # Ok::<(), snick::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Unknowns {
    /// The number of such sizes.
    pub dims: usize,
    /// The origins, sorted by the number of sizes, largest first. Each size counts for exactly one origin.
    pub origins: Vec<UnknownOrigin>,
    /// Input shapes that bound as many of the sizes as possible; `None` if no tested input shape bounds any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
}

/// The cause of an unknown size, by which sizes are grouped.
#[derive(PartialEq, Eq, Hash, Clone, Copy)]
enum Cause {
    Symbol(SymbolId),
    /// The first layer with an unknown rank, or a layer with an unbounded size whose symbols are all bounded.
    Layer(NodeId),
}

#[derive(Default)]
struct Count {
    dims: usize,
    layers: BTreeSet<NodeId>,
    outputs: usize,
}

/// Maximum number of origins for which input shapes are suggested.
const MAX_ADVISED: usize = 8;

impl Model {
    /// Finds the sizes without an upper bound, and their origins. Call [`Model::infer`] first.
    pub fn why_unknown(&self) -> Unknowns {
        let graph = self.graph();
        let births = Births::new(graph);
        let mut counts: HashMap<Cause, Count> = HashMap::new();
        let mut order: Vec<Cause> = Vec::new();
        let mut unranked = Unranked::default();
        for id in graph.ids() {
            let node = graph.node(id);
            let is_output = matches!(node.op(), Op::Result(_));
            for out in node.outs() {
                let causes: Vec<Cause> = match out.fact.shape().dims() {
                    Some(dims) => dims.iter().filter_map(|dim| cause(graph, &births, id, dim)).collect(),
                    None => vec![Cause::Layer(unranked.first(graph, id))],
                };
                for cause in &causes {
                    let count = counts.entry(*cause).or_insert_with(|| {
                        order.push(*cause);
                        Count::default()
                    });
                    count.dims += 1;
                    count.layers.insert(id);
                }
                let distinct: std::collections::HashSet<_> = causes.into_iter().collect();
                for cause in distinct.iter().filter(|_| is_output) {
                    counts.entry(*cause).or_default().outputs += 1;
                }
            }
        }
        let origins =
            order.iter().filter_map(|cause| Some(origin(graph, &births, *cause, counts.get(cause)?)));
        let mut origins: Vec<UnknownOrigin> = origins.collect();
        // The sort is stable: origins with equal numbers of sizes stay in the order of the file.
        origins.sort_by_key(|origin| std::cmp::Reverse(origin.dims));
        let mut suggester = Suggester::new(self);
        for origin in origins.iter_mut().take(MAX_ADVISED) {
            origin.suggestions = origin.size.map(|size| suggester.suggestions(size)).unwrap_or_default();
        }
        let symbols = order.iter().filter_map(|cause| match cause {
            Cause::Symbol(symbol) => Some(*symbol),
            Cause::Layer(_) => None,
        });
        let bounds = Suggester::new(self).bounds(symbols);
        Unknowns { dims: origins.iter().map(|origin| origin.dims).sum(), origins, bounds }
    }
}

/// The cause if a size has no upper bound: its first unbounded symbol that originates inside the model,
/// otherwise its first unbounded input symbol.
fn cause(graph: &Graph, births: &Births, id: NodeId, dim: &SymExpr) -> Option<Cause> {
    let symbols = graph.symbols();
    if symbols.interval(dim).has_upper() {
        return None;
    }
    let open = dim.symbols().into_iter().filter(|&symbol| !symbols.interval(&symbol.into()).has_upper());
    let first = open.min_by_key(|&symbol| (births.kind(symbol) == BirthKind::Input, symbol));
    Some(first.map_or(Cause::Layer(id), Cause::Symbol))
}

/// Caches, for layers of unknown rank, the most upstream layer that the unknown rank comes from.
#[derive(Default)]
struct Unranked(HashMap<NodeId, NodeId>);

impl Unranked {
    /// Follows inputs of unknown rank upstream to the first layer of unknown rank.
    fn first(&mut self, graph: &Graph, id: NodeId) -> NodeId {
        let is_unranked =
            |value: &Value| graph.fact(*value).is_some_and(|fact| fact.shape().rank().is_none());
        let (mut at, mut way) = (id, Vec::new());
        let first = loop {
            if let Some(&known) = self.0.get(&at) {
                break known;
            }
            way.push(at);
            match graph.inputs(at).into_iter().flatten().find(is_unranked) {
                // The length limit stops the search in a graph with a cycle, where all ranks are unknown.
                Some(value) if way.len() <= graph.len() => at = value.node,
                _ => break at,
            }
        };
        self.0.extend(way.into_iter().map(|below| (below, first)));
        first
    }
}

fn origin(graph: &Graph, births: &Births, cause: Cause, count: &Count) -> UnknownOrigin {
    let (dims, layers, outputs) = (count.dims, count.layers.len(), count.outputs);
    let id = match cause {
        Cause::Symbol(symbol) => {
            let born = births.describe(symbol);
            return UnknownOrigin {
                layer: born.layer,
                op: born.op,
                loc: born.loc,
                symbol: Some(born.name),
                axis: born.axis,
                kind: born.kind,
                reason: born.reason,
                dims,
                layers,
                outputs,
                suggestions: Vec::new(),
                size: births.size(symbol),
            };
        }
        Cause::Layer(id) => id,
    };
    let node = graph.node(id);
    let (kind, reason) = match node.op() {
        Op::Parameter(_) | Op::ReadValue(_) => (BirthKind::Input, None),
        op if op.is_opaque() => (BirthKind::GivenUp, Some(NO_RULE_FOR_RANK.to_string())),
        _ => match missing_data(graph, id) {
            Some(reason) => (BirthKind::Data, Some(reason)),
            None => (BirthKind::GivenUp, Some(NO_EXPRESSION.to_string())),
        },
    };
    UnknownOrigin {
        layer: node.name().to_string(),
        op: node.op().type_name().to_string(),
        loc: node.loc(),
        symbol: None,
        axis: None,
        kind,
        reason,
        dims,
        layers,
        outputs,
        suggestions: Vec::new(),
        size: None,
    }
}
