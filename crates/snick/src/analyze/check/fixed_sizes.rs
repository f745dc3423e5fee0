//! Sizes of inputs that are declared open, but that layers fix.
//!
//! Inference of a copy records what each layer demands of the sizes. Where that is an equation of one size, only its
//! solution can run.

use std::collections::{BTreeSet, HashMap};

use snick_ir::{Condition, EmptyAxes, Graph, NodeId, NodeRef, Op, conditions};
use snick_shape::{Interval, SymExpr, SymbolId};

use super::layers::used_layers;

/// A size of an input, or a product of sizes, that a layer fixes.
pub(super) struct FixedSize {
    pub(super) layer: NodeId,
    /// Whether that is the constant target of a Reshape.
    pub(super) is_reshape: bool,
    /// The inputs and axes that have the size.
    pub(super) places: Vec<(NodeId, usize)>,
    /// What the input declares.
    pub(super) declared: Interval,
    /// The only value; `None` for a product of several sizes.
    pub(super) value: Option<i64>,
}

/// All sizes that are fixed.
#[derive(Default)]
pub(super) struct FixedSizes {
    pub(super) list: Vec<FixedSize>,
}

impl FixedSizes {
    /// Of a graph without broken edges.
    pub(super) fn of(graph: &Graph) -> Self {
        if open_sizes(graph).is_empty() {
            return Self::default();
        }
        let mut graph = graph.clone();
        let found = conditions(&mut graph, EmptyAxes::Allowed);
        let (places, used) = (open_sizes(&graph), used_layers(&graph));
        let demanded = found.conditions.iter().zip(&found.layers);
        let demanded = demanded.filter(|(_, layer)| used.contains(layer));
        let list = demanded.filter_map(|(condition, &layer)| fixed_size(&graph, &places, condition, layer));
        Self { list: list.collect() }
    }

    /// The inputs and axes whose sizes are fixed.
    pub(super) fn parameters(&self) -> BTreeSet<(NodeId, usize)> {
        self.list.iter().flat_map(|fixed| fixed.places.iter().copied()).collect()
    }
}

/// The symbols of inputs, and where they are sizes.
fn open_sizes(graph: &Graph) -> HashMap<SymbolId, Vec<(NodeId, usize)>> {
    let mut places: HashMap<SymbolId, Vec<(NodeId, usize)>> = HashMap::new();
    for id in graph.parameters() {
        let dims = graph.node(id).outs().first().and_then(|out| out.fact.shape().dims());
        for (axis, dim) in dims.into_iter().flatten().enumerate() {
            if let Some(symbol) = dim.as_symbol() {
                places.entry(symbol).or_default().push((id, axis));
            }
        }
    }
    places
}

/// What a condition fixes, if it is an equation of sizes of inputs.
fn fixed_size(
    graph: &Graph,
    places: &HashMap<SymbolId, Vec<(NodeId, usize)>>,
    condition: &Condition,
    layer: NodeId,
) -> Option<FixedSize> {
    let symbols = graph.symbols();
    let (a, b) = match condition {
        Condition::Equal(a, b) => (a, b),
        // Where none is 1 both are equal.
        Condition::Broadcast(a, b) if [a, b].iter().all(|dim| symbols.interval(dim).lo() > 1) => (a, b),
        _ => return None,
    };
    let difference = symbols.sub(a, b)?;
    let open = difference.symbols();
    let all: Vec<_> = open.iter().map(|symbol| places.get(symbol)).collect::<Option<Vec<_>>>()?;
    let node = graph.node(layer);
    let is_reshape = matches!(node.op(), Op::Reshape(_)) && has_constant_target(graph, node);
    let value = match open.as_slice() {
        [symbol] => Some(solution(graph, difference, *symbol)?),
        [] => return None,
        _ if is_reshape && (a.as_const().is_some() || b.as_const().is_some()) => None,
        _ => return None,
    };
    let declared = symbols.interval(&SymExpr::from(*open.first()?));
    Some(FixedSize {
        layer,
        is_reshape,
        places: all.into_iter().flatten().copied().collect(),
        declared,
        value,
    })
}

/// The one value of a symbol for which an expression is 0.
fn solution(graph: &Graph, expr: SymExpr, symbol: SymbolId) -> Option<i64> {
    let mut values = HashMap::new();
    let mut equations = vec![(expr, 0)];
    graph.symbols().solve(&mut equations, &mut values).ok()?;
    values.get(&symbol).copied().filter(|_| equations.is_empty())
}

fn has_constant_target(graph: &Graph, node: NodeRef) -> bool {
    let target = node.input(1).and_then(|value| graph.fact(value));
    target.is_some_and(|fact| fact.as_tensor().is_some())
}
