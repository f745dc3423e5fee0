//! Input sizes that are declared dynamic but fixed by layers.
//!
//! Infers a copy of the graph and records the conditions on sizes that each layer imposes. If a condition is
//! an equation in a single unknown size, the model runs only if the size is the solution of the equation.

use std::collections::{BTreeSet, HashMap};

use snick_ir::{Condition, EmptyAxes, Graph, NodeId, NodeRef, Op, conditions};
use snick_shape::{Interval, SymExpr, SymbolId, Symbols};

use super::layers::used_layers;

/// An input size, or a product of input sizes, that a layer fixes.
pub(super) struct FixedSize {
    pub(super) layer: NodeId,
    /// Where the target shape comes from, if the layer is a Reshape.
    pub(super) target: Option<ReshapeTarget>,
    /// Whether the size is only fixed if no axis is empty.
    pub(super) unless_empty: bool,
    /// The inputs and axes that have this size.
    pub(super) places: Vec<(NodeId, usize)>,
    /// The range of sizes that the input declares.
    pub(super) declared: Interval,
    /// The range of sizes to which the condition of the layer applies. Excludes 0 if `unless_empty`.
    pub(super) within: Interval,
    /// The only size with which the model runs; `None` if a product of several sizes is fixed.
    pub(super) value: Option<i64>,
}

/// The origin of the target shape of a Reshape.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum ReshapeTarget {
    /// The target shape is a constant.
    Constant,
    /// The target shape is computed from constants and other values.
    Computed,
}

/// All fixed sizes.
#[derive(Default)]
pub(super) struct FixedSizes {
    pub(super) list: Vec<FixedSize>,
}

impl FixedSizes {
    /// Finds the fixed sizes of a graph that has all of its edges.
    pub(super) fn of(graph: &Graph) -> Self {
        if open_sizes(graph).is_empty() {
            return Self::default();
        }
        let list = [EmptyAxes::Allowed, EmptyAxes::Ignored].map(|axes| fixed_sizes(graph, axes));
        Self { list: list.into_iter().flatten().collect() }
    }

    /// The inputs and axes whose sizes are fixed.
    pub(super) fn parameters(&self) -> BTreeSet<(NodeId, usize)> {
        self.list.iter().flat_map(|fixed| fixed.places.iter().copied()).collect()
    }
}

/// The sizes that layers fix, either in all runs or, with [`EmptyAxes::Ignored`], in runs without empty axes.
fn fixed_sizes(declared: &Graph, empty_axes: EmptyAxes) -> Vec<FixedSize> {
    let mut graph = declared.clone();
    let found = conditions(&mut graph, empty_axes);
    let (places, used) = (open_sizes(&graph), used_layers(&graph));
    let demanded = found.conditions.iter().zip(&found.layers);
    let demanded = demanded.filter(|(_, layer)| used.contains(layer));
    let unless_empty = empty_axes == EmptyAxes::Ignored;
    let fixed = demanded
        .filter_map(|(condition, &layer)| fixed_size(&graph, &places, condition, layer, unless_empty));
    // `graph` may have been inferred on the assumption that no axis is empty, so the interval of a size comes
    // from the declared graph.
    let declared = |&(id, axis): &(NodeId, usize)| {
        let dim = declared.node(id).outs().first()?.fact.shape().dims()?.get(axis)?;
        Some(declared.symbols().interval(dim))
    };
    fixed
        .map(|size| {
            let as_declared = size.places.first().and_then(declared);
            FixedSize { declared: as_declared.unwrap_or(size.declared), ..size }
        })
        .collect()
}

/// The symbols that are sizes of inputs, with the inputs and axes where they occur.
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

/// The size that a condition fixes, if the condition is an equation in one input size, or requires a constant
/// product of input sizes.
fn fixed_size(
    graph: &Graph,
    places: &HashMap<SymbolId, Vec<(NodeId, usize)>>,
    condition: &Condition,
    layer: NodeId,
    unless_empty: bool,
) -> Option<FixedSize> {
    let symbols = graph.symbols();
    let (a, b) = match condition {
        Condition::Equal(a, b) => (a, b),
        // Two dims that are greater than 1 broadcast only if they are equal.
        Condition::Broadcast(a, b) if [a, b].iter().all(|dim| symbols.interval(dim).lo() > 1) => (a, b),
        _ => return None,
    };
    let size_of = |symbol: SymbolId| {
        let least = Interval::new(i64::from(unless_empty), i64::MAX)?;
        symbols.interval(&symbol.into()).meet(least)
    };
    let is_above_0 = |symbol| size_of(symbol).is_some_and(|size| size.lo() > 0);
    let difference = without_factors(symbols, symbols.sub(a, b)?, is_above_0);
    let open = difference.symbols();
    let all: Vec<_> = open.iter().map(|symbol| places.get(symbol)).collect::<Option<Vec<_>>>()?;
    let node = graph.node(layer);
    let target = matches!(node.op(), Op::Reshape(_)).then(|| target_of(graph, node));
    let is_constant = target == Some(ReshapeTarget::Constant);
    let value = match open.as_slice() {
        [symbol] => Some(solution(graph, difference, *symbol)?),
        [] => return None,
        _ if is_constant && (a.as_const().is_some() || b.as_const().is_some()) => None,
        _ => return None,
    };
    let within = size_of(*open.first()?)?;
    let places = all.into_iter().flatten().copied().collect();
    Some(FixedSize { layer, target, unless_empty, places, declared: within, within, value })
}

/// The value of a symbol for which an expression is 0, if there is exactly one.
fn solution(graph: &Graph, expr: SymExpr, symbol: SymbolId) -> Option<i64> {
    let mut values = HashMap::new();
    let mut equations = vec![(expr, 0)];
    graph.symbols().solve(&mut equations, &mut values).ok()?;
    values.get(&symbol).copied().filter(|_| equations.is_empty())
}

fn target_of(graph: &Graph, node: NodeRef) -> ReshapeTarget {
    let target = node.input(1).and_then(|value| graph.fact(value));
    match target.is_some_and(|fact| fact.as_tensor().is_some()) {
        true => ReshapeTarget::Constant,
        false => ReshapeTarget::Computed,
    }
}

/// Divides an expression that must equal 0 by all symbols that are factors of it and cannot be 0 themselves.
fn without_factors(symbols: &Symbols, expr: SymExpr, is_above_0: impl Fn(SymbolId) -> bool) -> SymExpr {
    let without = |expr: &SymExpr, symbol: SymbolId| {
        let rest = symbols.substitute(expr, &|other| (other == symbol).then(|| 1.into()))?;
        let factor = SymExpr::from(symbol);
        let is_multiple = is_above_0(symbol) && symbols.mul(&rest, &factor)? == *expr;
        is_multiple.then_some(rest)
    };
    expr.symbols().into_iter().fold(expr, |expr, symbol| without(&expr, symbol).unwrap_or(expr))
}
