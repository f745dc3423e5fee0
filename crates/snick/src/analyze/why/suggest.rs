//! Finds input shapes that make an unknown size known. Each shape is tested by inference before it is
//! suggested.
//!
//! There are three kinds of suggestions:
//!
//! - give the same name to input dims that must be equal
//! - give a lower bound of 1 to dims that may be 0
//! - give an upper bound to unbounded dims

use std::collections::{BTreeMap, BTreeSet};

use snick_ir::{Graph, NodeId, Op, ValuePart};
use snick_shape::{Birth, Interval, SymExpr, SymbolId};

use super::super::BirthKind;
use super::super::symbols::Births;
use super::relabel::{labelled_type, relabelled};
use crate::Model;

/// An input shape that was tested, and its effect.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
#[non_exhaustive]
pub struct Suggestion {
    /// The shape, in the syntax of [`Model::reshape`] and `--shape`.
    pub shape: String,
    /// The resulting element type and shape of the output in question: `f32[B,4,T+P,8]`.
    pub gives: String,
    /// The effect, expressed in the symbols that the model has without the suggestion:
    /// `y becomes f32[B,4,T+P,8]`, or if the shape has the same formulas, `T+P is at most 2048`.
    #[serde(skip)]
    pub effect: String,
}

/// Upper bounds to try, most useful first.
pub(super) const UPPER_BOUNDS: [i64; 4] = [1024, 128, 32, 8];

/// Maximum number of suggestions for a part.
const MAX_SUGGESTIONS: usize = 3;

/// Maximum number of layers to infer in all trials of a search.
const MAX_LAYERS: usize = 200_000;

/// Maximum number of symbols to visit when tracing symbols back to inputs.
const MAX_FOLLOWED: usize = 256;

/// Finds suggestions for one model.
pub(in crate::analyze) struct Suggester<'m> {
    pub(super) model: &'m Model,
    graph: &'m Graph,
    births: Births<'m>,
    /// The number of shapes that may still be tried.
    pub(super) trials: usize,
}

/// The origins of an unknown size: the input symbols that it depends on, and pairs of symbols that must be
/// equal.
#[derive(Default)]
pub(super) struct Roots {
    pub(super) inputs: BTreeSet<SymbolId>,
    pub(super) equal: Vec<[SymbolId; 2]>,
}

/// A change of input shapes: new symbols or intervals for dims.
#[derive(Clone, Default, PartialEq)]
pub(super) struct Change {
    /// For each symbol, the symbol that replaces it.
    renamed: BTreeMap<SymbolId, SymbolId>,
    intervals: BTreeMap<SymbolId, Interval>,
    /// Whether all changed dims are written by name, so that they keep their symbols.
    pub(super) is_named: bool,
}

impl<'m> Suggester<'m> {
    pub(in crate::analyze) fn new(model: &'m Model) -> Self {
        let graph = model.graph();
        let trials = (MAX_LAYERS / graph.layers().max(1)).min(64);
        Self { model, graph, births: Births::new(graph), trials }
    }

    /// Finds input shapes that make a part of a value known.
    pub(super) fn suggestions(&mut self, of: ValuePart) -> Vec<Suggestion> {
        let expr = self.graph.fact(of.value).and_then(|fact| of.part.of(fact));
        let Some(expr) = expr else { return Vec::new() };
        let roots = self.roots(&expr);
        let mut found = Vec::new();
        let equal = self.equated(&roots);
        let bases: Vec<Change> = match equal.renamed.is_empty() {
            true => vec![Change::default()],
            false => vec![equal.clone(), Change::default()],
        };
        let positive =
            |base: &Change| self.with_intervals(base, &roots, |known| known.lo().max(1), |_| i64::MAX);
        let mut changes = vec![equal];
        changes.extend(bases.iter().map(positive));
        for base in &bases {
            let bounded = |most: i64| {
                self.with_intervals(
                    base,
                    &roots,
                    |known| known.lo(),
                    |known| known.hi().min(most.max(known.lo())),
                )
            };
            changes.extend(UPPER_BOUNDS.map(bounded));
        }
        let before = self.score(self.graph, &expr);
        let mut best = before;
        for change in changes {
            if change == Change::default() || found.len() == MAX_SUGGESTIONS || self.trials == 0 {
                continue;
            }
            self.trials -= 1;
            if let Some((suggestion, score)) = self.tried(&change, of)
                && score < best
            {
                best = score;
                found.push(suggestion);
            }
        }
        found
    }

    /// The input sizes that an expression depends on.
    pub(in crate::analyze) fn input_sizes(&self, expr: &SymExpr) -> BTreeSet<SymbolId> {
        self.roots(expr).inputs
    }

    /// Infers the model with upper bounds on input sizes, starting with the first of [`UPPER_BOUNDS`].
    /// Returns the shapes and the model; `None` if every bound causes more than `known` errors, or if no
    /// trials are left.
    pub(in crate::analyze) fn bounded(
        &mut self,
        sizes: &BTreeSet<SymbolId>,
        known: usize,
    ) -> Option<(String, Model)> {
        let roots = Roots { inputs: sizes.clone(), equal: Vec::new() };
        UPPER_BOUNDS.into_iter().find_map(|most| {
            self.trials = self.trials.checked_sub(1)?;
            let at_most = |known: Interval| known.hi().min(most.max(known.lo()));
            let shape =
                self.spec(&self.with_intervals(&Change::default(), &roots, |known| known.lo(), at_most))?;
            let mut model = self.model.clone();
            model.reshape(&shape).ok()?;
            (model.infer().errors().len() <= known).then_some((shape, model))
        })
    }

    /// Rates the uncertainty of an expression; smaller is better. Returns the number of symbols that
    /// originate inside the model, and whether the expression has no upper bound.
    fn score(&self, graph: &Graph, expr: &SymExpr) -> (usize, bool) {
        let births = Births::new(graph);
        let born = |symbol: &SymbolId| births.kind(*symbol) != BirthKind::Input;
        (
            expr.symbols().iter().filter(|symbol| born(symbol)).count(),
            !graph.symbols().interval(expr).has_upper(),
        )
    }

    /// The input symbols that an expression depends on, and the symbols that must be equal.
    pub(super) fn roots(&self, expr: &SymExpr) -> Roots {
        let mut roots = Roots::default();
        let mut seen: BTreeSet<SymbolId> = BTreeSet::new();
        let mut todo: Vec<SymbolId> = expr.symbols();
        while let Some(symbol) = todo.pop() {
            if seen.len() > MAX_FOLLOWED || !seen.insert(symbol) {
                continue;
            }
            if self.births.kind(symbol) == BirthKind::Input {
                roots.inputs.extend(self.is_parameter(symbol).then_some(symbol));
                continue;
            }
            match self.graph.symbols().birth(symbol) {
                Birth::Equal(pair) | Birth::Broadcast(pair) => {
                    let [a, b] = pair.as_ref();
                    roots.equal.extend(a.as_symbol().zip(b.as_symbol()).map(|(a, b)| [a, b]));
                    // The merged symbol equals `a` if `a` and `b` are equal.
                    roots.equal.extend(a.as_symbol().map(|a| [symbol, a]));
                    todo.extend(pair.iter().flat_map(SymExpr::symbols));
                }
                Birth::Either(pair) => todo.extend(pair.iter().flat_map(SymExpr::symbols)),
                _ => {
                    todo.extend(self.births.node(symbol).into_iter().flat_map(|id| self.sizes_of_inputs(id)))
                }
            }
        }
        roots
    }

    fn is_parameter(&self, symbol: SymbolId) -> bool {
        let node = self.births.node(symbol);
        node.is_some_and(|id| matches!(self.graph.node(id).op(), Op::Parameter(_)))
    }

    /// The symbols in the shapes and elements of the inputs of a layer.
    fn sizes_of_inputs(&self, id: NodeId) -> Vec<SymbolId> {
        let facts = self.graph.inputs(id).into_iter().filter_map(|value| self.graph.fact(value?));
        let exprs = facts.flat_map(|fact| {
            let dims = fact.shape().dims().unwrap_or_default().to_vec();
            dims.into_iter().chain(fact.elements().unwrap_or_default())
        });
        exprs.flat_map(|expr| expr.symbols()).collect()
    }

    /// Merges input symbols that must be equal into one symbol.
    pub(super) fn equated(&self, roots: &Roots) -> Change {
        let mut class: BTreeMap<SymbolId, SymbolId> = BTreeMap::new();
        let find = |class: &BTreeMap<SymbolId, SymbolId>, mut symbol: SymbolId| {
            while let Some(&next) = class.get(&symbol) {
                symbol = next;
            }
            symbol
        };
        for [a, b] in &roots.equal {
            let [a, b] = [*a, *b].map(|symbol| find(&class, symbol));
            if a != b {
                // Keeps the earlier symbol, because input symbols precede all other symbols.
                class.insert(a.max(b), a.min(b));
            }
        }
        let renamed = roots.inputs.iter().filter_map(|&symbol| {
            let first = find(&class, symbol);
            (first != symbol && roots.inputs.contains(&first)).then_some((symbol, first))
        });
        Change { renamed: renamed.collect(), ..Change::default() }
    }

    /// Extends a change by new bounds for all input symbols that it does not replace.
    pub(super) fn with_intervals(
        &self,
        base: &Change,
        roots: &Roots,
        lo: impl Fn(Interval) -> i64,
        hi: impl Fn(Interval) -> i64,
    ) -> Change {
        let mut change = base.clone();
        for &symbol in roots.inputs.iter().filter(|symbol| !base.renamed.contains_key(symbol)) {
            let known = self.graph.symbols().interval(&symbol.into());
            let wanted = Interval::new(lo(known), hi(known)).and_then(|wanted| wanted.meet(known));
            change.intervals.extend(wanted.filter(|wanted| *wanted != known).map(|wanted| (symbol, wanted)));
        }
        change
    }

    /// Infers the model with changed input shapes. Returns the suggestion and its score; `None` if the shapes
    /// do not fit the model or inference fails.
    fn tried(&self, change: &Change, of: ValuePart) -> Option<(Suggestion, (usize, bool))> {
        let shape = self.spec(change)?;
        let mut model = self.model.clone();
        model.reshape(&shape).ok()?;
        if !model.infer().is_ok() {
            return None;
        }
        let graph = model.graph();
        let fact = graph.fact(of.value)?;
        let score = self.score(graph, &of.part.of(fact)?);
        let gives = format!("{}{}", fact.element_type(), fact.shape().display_labels(graph.symbols()));
        let effect = self.effect(graph, of).unwrap_or_else(|| gives.clone());
        Some((Suggestion { shape, gives, effect }, score))
    }

    /// Describes what changed for a part of a value in the graph `after` other input shapes were set.
    fn effect(&self, after: &Graph, of: ValuePart) -> Option<String> {
        let symbols = relabelled(self.graph, after);
        let old = labelled_type(self.graph, self.graph.symbols(), of.value)?;
        let new = labelled_type(after, &symbols, of.value)?;
        if new != old {
            return Some(format!("{} becomes {new}", self.graph.node(of.value.node).name()));
        }
        let expr = of.part.of(after.fact(of.value)?)?;
        let (text, interval) = (symbols.display(&expr).to_string(), symbols.interval(&expr));
        Some(match interval.has_upper() {
            true => format!("{text} is at most {}", interval.hi()),
            false => format!("{text} is at least {}", interval.lo()),
        })
    }

    /// The change in the syntax of [`Model::reshape`]; `None` if it changes no input.
    pub(super) fn spec(&self, change: &Change) -> Option<String> {
        let changed: BTreeSet<SymbolId> = change
            .renamed
            .iter()
            .flat_map(|(symbol, to)| [*symbol, *to])
            .chain(change.intervals.keys().copied())
            .collect();
        let mut items = Vec::new();
        let mut declared = BTreeSet::new();
        for (number, id) in self.graph.parameters().enumerate() {
            let fact = &self.graph.node(id).outs().first()?.fact;
            let Some(dims) = fact.shape().dims() else { continue };
            let is_changed = |dim: &SymExpr| dim.as_symbol().is_some_and(|symbol| changed.contains(&symbol));
            if !dims.iter().any(is_changed) {
                continue;
            }
            let dims: Vec<String> = dims.iter().map(|dim| self.dim(dim, change, &mut declared)).collect();
            let name = self.graph.node(id).name();
            let is_plain = !name.is_empty() && !name.contains(['[', ']', ',']) && name.trim() == name;
            let name = if is_plain { name.to_string() } else { number.to_string() };
            items.push(format!("{name}[{}]", dims.join(",")));
        }
        (!items.is_empty()).then(|| items.join(","))
    }

    /// The text of an input dim in the syntax of [`Model::reshape`]. The first use of a named symbol declares
    /// its interval.
    fn dim(&self, dim: &SymExpr, change: &Change, declared: &mut BTreeSet<SymbolId>) -> String {
        let symbols = self.graph.symbols();
        let Some(symbol) = dim.as_symbol() else { return symbols.display(dim).to_string() };
        let symbol = change.renamed.get(&symbol).copied().unwrap_or(symbol);
        let interval = change.intervals.get(&symbol).copied();
        let interval = interval.unwrap_or_else(|| symbols.interval(&symbol.into()));
        let is_shared = change.renamed.values().any(|to| *to == symbol) || change.is_named;
        match symbols.name(symbol).is_some() || is_shared {
            true if interval == Interval::DIM || !declared.insert(symbol) => {
                symbols.label(symbol).into_owned()
            }
            true => format!("{}={interval}", symbols.label(symbol)),
            false => interval.to_string(),
        }
    }
}
