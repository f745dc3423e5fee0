//! Chooses sizes for dynamic dims, and elements for small integer inputs, that satisfy the conditions that
//! layers impose on them. Prefers small values; an axis is empty only if no other size works.

use std::collections::{BTreeMap, HashSet};

use snick_ir::{Condition, Conditions, EmptyAxes, Graph, IntegerRole, NodeId, conditions};
use snick_shape::{Interval, SymExpr, SymbolId};
use snick_tensor::Tensor;

use crate::index_demands::index_demands;

/// The search for the value of a symbol ends this far above the smallest allowed value.
const MAX_EXCESS: i64 = 1 << 14;

/// Maximum number of changes to symbol values. Each change satisfies at least one more condition.
const MAX_MOVES: usize = 256;

/// Maximum number of conditions to evaluate. The search for a value evaluates a condition for every
/// candidate.
const MAX_EVALUATIONS: usize = 1 << 18;

/// Maximum number of fixes for one condition whose effects on other conditions are compared.
const MAX_COMPARED: usize = 64;

/// The conditions that a graph imposes on sizes and integers, in terms of the symbols of an inferred copy.
pub(crate) struct Demands {
    graph: Graph,
    found: Conditions,
    /// Symbols of the inputs, in order, with their possible values.
    symbols: Vec<(SymbolId, Interval)>,
    /// Symbols of the first axis of inputs with several axes. This axis is usually a batch, whose size is
    /// arbitrary, so other symbols are changed first.
    outermost: HashSet<SymbolId>,
}

/// Which sizes to make larger than necessary, if the conditions allow it.
#[derive(Copy, Clone)]
pub(crate) enum Larger {
    /// Make all sizes larger by this number.
    All(i64),
    /// Make one size larger by 1. The number is the position of its symbol, where symbols of outermost axes
    /// come last.
    One(usize),
}

/// How to choose among several changes that fix a condition.
#[derive(Copy, Clone)]
struct Strategy {
    /// If true, prefers the change that breaks the fewest other conditions; if false, the change with the
    /// smallest value.
    fewest_failures: bool,
    /// Changes outermost axes last.
    keeps_outermost: bool,
}

impl Strategy {
    const ALL: [Self; 4] = [
        Self { fewest_failures: true, keeps_outermost: true },
        Self { fewest_failures: false, keeps_outermost: true },
        Self { fewest_failures: true, keeps_outermost: false },
        Self { fewest_failures: false, keeps_outermost: false },
    ];
}

/// Symbol values that satisfy as many conditions as possible.
pub(crate) struct FittedSizes<'d> {
    demands: &'d Demands,
    /// A `BTreeMap`, because with hashing the many look-ups would take most of the search time.
    values: BTreeMap<SymbolId, i64>,
    /// Symbols whose values are determined by inputs that the caller provides.
    fixed: HashSet<SymbolId>,
    larger: Larger,
    strategy: Strategy,
    evaluations: usize,
}

impl Demands {
    /// Infers a copy of the graph and collects its conditions.
    pub(crate) fn of(graph: &Graph, empty_axes: EmptyAxes) -> Self {
        let mut graph = graph.clone();
        let mut found = conditions(&mut graph, empty_axes);
        found.conditions.extend(index_demands(&graph, &found.roles));
        let mut symbols: Vec<(SymbolId, Interval)> = Vec::new();
        for id in graph.parameters() {
            for expr in dims(&graph, id).into_iter().chain(elements(&graph, id)) {
                symbols.extend(
                    expr.symbols()
                        .into_iter()
                        .map(|symbol| (symbol, graph.symbols().interval(&symbol.into()))),
                );
            }
        }
        let mut seen = HashSet::new();
        symbols.retain(|(symbol, _)| seen.insert(*symbol));
        let firsts = graph.parameters().map(|id| dims(&graph, id)).filter(|dims| dims.len() > 1);
        let outermost = firsts.filter_map(|dims| dims[0].as_symbol()).collect();
        let mut unique = HashSet::new();
        found.conditions.retain(|condition| {
            condition.exprs().flat_map(SymExpr::symbols).all(|symbol| seen.contains(&symbol))
                && unique.insert(condition.clone())
        });
        Self { graph, found, symbols, outermost }
    }

    /// The symbol at this position, where symbols of outermost axes come last.
    fn symbol_at(&self, place: usize) -> Option<SymbolId> {
        let all = || self.symbols.iter().map(|(symbol, _)| *symbol);
        let inner = all().filter(|symbol| !self.outermost.contains(symbol));
        inner.chain(all().filter(|symbol| self.outermost.contains(symbol))).nth(place)
    }

    /// Finds values that satisfy the conditions. `larger` selects sizes to make larger than necessary, if the
    /// conditions allow it. The sizes of the `given` inputs are fixed.
    pub(crate) fn fit(&self, given: &[Option<Tensor>], larger: Larger) -> FittedSizes<'_> {
        self.fit_bound(&|fitted| fitted.bind(given), larger)
    }

    /// Like [`Demands::fit`], but fixes the values of symbols instead of the sizes of inputs.
    #[cfg(all(feature = "run", feature = "analyze"))]
    pub(crate) fn fit_values(&self, values: &[(SymbolId, i64)], larger: Larger) -> FittedSizes<'_> {
        let fix = |fitted: &mut FittedSizes| {
            fitted.values.extend(values.iter().copied());
            fitted.fixed.extend(values.iter().map(|(symbol, _)| *symbol));
            Vec::new()
        };
        self.fit_bound(&fix, larger)
    }

    /// The symbols in the dims of inputs, with their possible values.
    #[cfg(all(feature = "run", feature = "analyze"))]
    pub(crate) fn dim_symbols(&self) -> impl Iterator<Item = (SymbolId, Interval)> {
        let dims = self.graph.parameters().flat_map(|id| dims(&self.graph, id));
        let in_dims: HashSet<SymbolId> = dims.flat_map(|dim| dim.symbols()).collect();
        self.symbols.iter().copied().filter(move |(symbol, _)| in_dims.contains(symbol))
    }

    fn fit_bound(&self, bind: &Bind<'_>, larger: Larger) -> FittedSizes<'_> {
        let strategies = Strategy::ALL.into_iter();
        let fitted = strategies.map(|strategy| self.fit_by(strategy, bind, larger));
        let best = fitted.min_by_key(|fitted| (fitted.unmet(), fitted.stretched(), fitted.input_elements()));
        best.unwrap_or_else(|| FittedSizes::new(self, larger, Strategy::ALL[0]))
    }

    fn fit_by(&self, strategy: Strategy, bind: &Bind<'_>, larger: Larger) -> FittedSizes<'_> {
        let mut fitted = FittedSizes::new(self, larger, strategy);
        let equations = bind(&mut fitted);
        for &(symbol, interval) in &self.symbols {
            let floor = fitted.floor(&[symbol], interval);
            fitted.values.entry(symbol).or_insert(floor);
        }
        let mut conditions: Vec<&Condition> = equations.iter().chain(&self.found.conditions).collect();
        fitted.mend(&conditions);
        let equal: Vec<Condition> = self.found.conditions.iter().filter_map(unstretched).collect();
        conditions.retain(|condition| fitted.holds(condition) != Some(false));
        fitted.even_out(&equal, &conditions);
        fitted
    }
}

/// Fixes the values of some symbols, and returns further conditions.
type Bind<'a> = dyn Fn(&mut FittedSizes) -> Vec<Condition> + 'a;

/// New values for some symbols.
type Move = Vec<(SymbolId, i64)>;

/// The dims of a Parameter.
fn dims(graph: &Graph, id: NodeId) -> Vec<SymExpr> {
    let fact = graph.node(id).outs().first().map(|out| &out.fact);
    fact.and_then(|fact| fact.shape.dims()).unwrap_or_default().to_vec()
}

/// The elements of a Parameter that are expressions.
fn elements(graph: &Graph, id: NodeId) -> Vec<SymExpr> {
    let fact = graph.node(id).outs().first().map(|out| &out.fact);
    fact.and_then(|fact| fact.elements()).unwrap_or_default()
}

/// The condition that two broadcast dims are equal. It is tried in addition, because a mask usually has the
/// same size as the data. `None` for a constant dim, which is either 1 or already forces equality.
fn unstretched(condition: &Condition) -> Option<Condition> {
    match condition {
        Condition::Broadcast(a, b) if a.as_const().is_none() && b.as_const().is_none() => {
            Some(Condition::Equal(a.clone(), b.clone()))
        }
        _ => None,
    }
}

impl<'d> FittedSizes<'d> {
    fn new(demands: &'d Demands, larger: Larger, strategy: Strategy) -> Self {
        let (values, fixed) = (BTreeMap::new(), HashSet::new());
        Self { demands, values, fixed, larger, strategy, evaluations: 0 }
    }

    /// The inferred copy of the graph.
    pub(crate) fn graph(&self) -> &'d Graph {
        &self.demands.graph
    }

    /// The roles of integers at input ports.
    pub(crate) fn roles(&self) -> impl Iterator<Item = &'d (NodeId, u32, IntegerRole)> + use<'d> {
        self.demands.found.roles.iter()
    }

    /// The value of an expression.
    pub(crate) fn value(&self, expr: &SymExpr) -> Option<i64> {
        self.demands.graph.symbols().eval(expr, &|symbol| self.values.get(&symbol).copied())
    }

    /// The number of conditions that fail.
    pub(crate) fn unmet(&self) -> usize {
        self.failing(&self.demands.found.conditions.iter().collect::<Vec<_>>())
    }

    /// The number of broadcasts between dims of different sizes.
    fn stretched(&self) -> usize {
        let equal = self.demands.found.conditions.iter().filter_map(unstretched);
        equal.filter(|condition| self.holds(condition) == Some(false)).count()
    }

    /// The number of elements of all inputs.
    fn input_elements(&self) -> usize {
        let sizes = self.demands.graph.parameters().filter_map(|id| self.dims(id));
        let counts = sizes.map(|dims| dims.iter().fold(1usize, |n, &size| n.saturating_mul(size)));
        counts.fold(0, usize::saturating_add)
    }

    /// The dims of a Parameter; `None` if its rank is unknown.
    pub(crate) fn dims(&self, id: NodeId) -> Option<Vec<usize>> {
        let graph = &self.demands.graph;
        graph.node(id).outs().first()?.fact.shape.dims()?;
        let size = |dim: &SymExpr| {
            let size = self.value(dim).unwrap_or_else(|| graph.symbols().interval(dim).lo());
            usize::try_from(size).unwrap_or(0)
        };
        Some(dims(graph, id).iter().map(size).collect())
    }

    /// The elements of a Parameter, if a condition depends on them.
    pub(crate) fn elements(&self, id: NodeId) -> Option<Vec<i64>> {
        let elements = elements(&self.demands.graph, id);
        let is_demanded = |symbol: SymbolId| {
            let mut exprs = self.demands.found.conditions.iter().flat_map(Condition::exprs);
            exprs.any(|expr| expr.symbols().into_iter().any(|other| other == symbol))
        };
        elements.iter().flat_map(SymExpr::symbols).any(is_demanded).then_some(())?;
        elements.iter().map(|element| self.value(element)).collect()
    }

    /// Binds the symbols in the dims and elements of given inputs. A dim or element that is an expression
    /// becomes a condition.
    fn bind(&mut self, given: &[Option<Tensor>]) -> Vec<Condition> {
        let graph = &self.demands.graph;
        let mut equations = Vec::new();
        for (id, tensor) in graph.parameters().zip(given) {
            let Some(tensor) = tensor else { continue };
            let sizes = tensor.dims().iter().map(|&size| i64::try_from(size).unwrap_or(i64::MAX));
            let elements_of = elements(graph, id);
            let numbers = if elements_of.is_empty() { None } else { tensor.to_i64_vec().ok() };
            let known = dims(graph, id).into_iter().zip(sizes);
            for (expr, number) in known.chain(elements_of.into_iter().zip(numbers.into_iter().flatten())) {
                match expr {
                    SymExpr::Const(_) => {}
                    SymExpr::Symbol(symbol) => {
                        self.values.insert(symbol, number);
                        self.fixed.insert(symbol);
                    }
                    SymExpr::Linear(_) => equations.push(Condition::Equal(expr, number.into())),
                }
            }
        }
        equations
    }

    /// The first value to try for a group of symbols.
    fn floor(&self, group: &[SymbolId], interval: Interval) -> i64 {
        let above = match self.larger {
            Larger::All(above) => above,
            Larger::One(place) => {
                i64::from(self.demands.symbol_at(place).is_some_and(|one| group.contains(&one)))
            }
        };
        interval.lo().max(1).saturating_add(above).min(interval.hi())
    }

    fn holds(&self, condition: &Condition) -> Option<bool> {
        condition.holds(|expr| self.value(expr))
    }

    /// Changes values until every condition holds, or until no change satisfies a failing condition.
    fn mend(&mut self, conditions: &[&Condition]) {
        let mut hopeless = HashSet::new();
        let mut seen = HashSet::new();
        for _ in 0..MAX_MOVES {
            seen.insert(self.state());
            let failing = |at: &usize| !hopeless.contains(at) && self.holds(conditions[*at]) == Some(false);
            let Some(first) = (0..conditions.len()).find(failing) else { return };
            let best = self.best_move(conditions[first], conditions, &seen);
            match best {
                Some(values) => self.values.extend(values),
                None => drop(hopeless.insert(first)),
            }
        }
    }

    /// Makes broadcast dims equal if that breaks no condition.
    fn even_out(&mut self, wanted: &[Condition], conditions: &[&Condition]) {
        let largest = self.values.values().copied().max().unwrap_or(1).max(1);
        let all: Vec<&Condition> = conditions.iter().copied().chain(wanted).collect();
        for _ in 0..MAX_MOVES {
            let failing = self.failing(&all);
            let uneven: Vec<&Condition> =
                wanted.iter().filter(|condition| self.holds(condition) == Some(false)).collect();
            let mut evens_out = |condition: &&Condition| {
                let Some(values) = self.best_move(condition, &all, &HashSet::new()) else { return false };
                let before = self.values.clone();
                let is_small = values.iter().all(|&(_, value)| (1..=2 * largest).contains(&value));
                self.values.extend(values);
                let is_better = is_small && self.failing(conditions) == 0 && self.failing(&all) < failing;
                if !is_better {
                    self.values = before;
                }
                is_better
            };
            if !uneven.iter().any(&mut evens_out) {
                return;
            }
        }
    }

    /// The current values of all symbols of the inputs, in order.
    fn state(&self) -> Vec<i64> {
        self.demands.symbols.iter().map(|(symbol, _)| self.values[symbol]).collect()
    }

    fn failing(&self, conditions: &[&Condition]) -> usize {
        self.failing_up_to(conditions, usize::MAX)
    }

    /// The number of conditions that fail; stops counting at `limit`.
    fn failing_up_to(&self, conditions: &[&Condition], limit: usize) -> usize {
        conditions.iter().filter(|condition| self.holds(condition) == Some(false)).take(limit).count()
    }

    /// The new values that satisfy a condition and break the fewest other conditions. Either one symbol
    /// changes, or several symbols change to the same value, such as the height and width of an image. `None`
    /// if all such values lead to states in `seen`.
    fn best_move(
        &mut self,
        condition: &Condition,
        conditions: &[&Condition],
        seen: &HashSet<Vec<i64>>,
    ) -> Option<Move> {
        let mut symbols: Vec<SymbolId> = condition.exprs().flat_map(SymExpr::symbols).collect();
        symbols.sort_unstable();
        symbols.dedup();
        symbols.retain(|symbol| !self.fixed.contains(symbol));
        let mut groups: Vec<Vec<SymbolId>> = symbols.iter().map(|&symbol| vec![symbol]).collect();
        let inner =
            symbols.iter().copied().filter(|symbol| !self.demands.outermost.contains(symbol)).collect();
        groups.extend([inner, symbols].into_iter().filter(|group| group.len() > 1));
        groups.dedup();
        let mut best: Option<((usize, bool, bool, i64), Move)> = None;
        for group in groups {
            let is_about = |other: &&&Condition| {
                other.exprs().flat_map(SymExpr::symbols).any(|symbol| group.contains(&symbol))
            };
            let related: Vec<&Condition> = conditions.iter().filter(is_about).copied().collect();
            let before = self.failing(&related);
            let Some((failing, value)) = self.best_value(&group, condition, &related, seen) else { continue };
            // Compares the increase in failing conditions rather than their number, because the groups of
            // symbols occur in different numbers of conditions.
            let is_outermost = self.strategy.keeps_outermost
                && group.iter().any(|symbol| self.demands.outermost.contains(symbol));
            let failing = if self.strategy.fewest_failures { failing } else { before };
            let cost = (failing + conditions.len() - before, value == 0, is_outermost, value);
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, group.iter().map(|&symbol| (symbol, value)).collect()));
            }
        }
        best.map(|(_, values)| values)
    }

    /// The first value for a group of symbols that satisfies a condition and breaks the fewest other
    /// conditions. Also returns the number of conditions that then fail.
    fn best_value(
        &mut self,
        group: &[SymbolId],
        condition: &Condition,
        related: &[&Condition],
        seen: &HashSet<Vec<i64>>,
    ) -> Option<(usize, i64)> {
        let intervals = self.demands.symbols.iter().filter(|(symbol, _)| group.contains(symbol));
        let within = intervals.map(|(_, interval)| *interval).reduce(|a, b| a.meet(b).unwrap_or(a))?;
        let floor = self.floor(group, within);
        let end = within.hi().min(floor.saturating_add(MAX_EXCESS));
        let before: Vec<(SymbolId, i64)> =
            group.iter().map(|&symbol| (symbol, self.values[&symbol])).collect();
        let mut best: Option<(usize, i64)> = None;
        let mut compared = 0;
        // Tries 0 last: an axis should be empty only if no other size works.
        let least = within.lo().max(1).min(floor);
        for value in
            (floor..=end).chain((least..floor).rev()).chain((within.lo() <= 0 && floor > 0).then_some(0))
        {
            self.evaluations += 1;
            if self.evaluations > MAX_EVALUATIONS || compared >= MAX_COMPARED {
                break;
            }
            self.values.extend(group.iter().map(|&symbol| (symbol, value)));
            if self.holds(condition) != Some(true) || seen.contains(&self.state()) {
                continue;
            }
            compared += 1;
            let least = best.map_or(usize::MAX, |(least, _)| least);
            let failing = self.failing_up_to(related, least);
            self.evaluations += related.len();
            if failing < least {
                best = Some((failing, value));
            }
            if failing == 0 || !self.strategy.fewest_failures {
                break;
            }
        }
        self.values.extend(before);
        best
    }
}

#[cfg(test)]
mod tests;
