//! Finds the input shapes that bound as many sizes of a model as possible.

use snick_ir::Graph;
use snick_shape::{Interval, SymbolId};

use super::super::BirthKind;
use super::super::symbols::Births;
use super::relabel::{labelled_type, relabelled};
use super::suggest::{Change, Roots, Suggester, UPPER_BOUNDS};
use crate::Model;
use crate::outputs::public_name;

/// Input shapes that bound sizes throughout the model, confirmed by inference.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
#[non_exhaustive]
pub struct Bounds {
    /// The shapes, in the syntax of [`Model::reshape`] and `--shape`.
    pub shape: String,
    /// The number of sizes that have no upper bound even with these shapes.
    pub dims: usize,
    /// The outputs of the model whose shapes change.
    pub outputs: Vec<BoundedOutput>,
}

/// An output of the model before and after the inputs are bounded. Both shapes use the same symbols.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
#[non_exhaustive]
pub struct BoundedOutput {
    /// The tensor name, or the name of the Result layer.
    pub name: String,
    /// The element type and shape without bounds.
    pub before: String,
    /// The element type and shape with the bounds.
    pub after: String,
}

/// Measures the uncertainty in a model; smaller is better. The first number counts the sizes without an upper
/// bound, the second the sizes with symbols that no input declares.
type Score = (usize, usize);

impl Suggester<'_> {
    /// Bounds all input sizes that these symbols depend on. If some of the input sizes should be equal, also
    /// tries shapes that make them equal, and keeps the better result. `None` if no attempt improves the
    /// score.
    pub(super) fn bounds(&mut self, symbols: impl IntoIterator<Item = SymbolId>) -> Option<Bounds> {
        let mut roots = Roots::default();
        for symbol in symbols {
            let of_symbol = self.roots(&symbol.into());
            roots.inputs.extend(of_symbol.inputs);
            roots.equal.extend(of_symbol.equal);
        }
        let graph = self.model.graph();
        let before = score(graph);
        let mut bases = vec![Change::default()];
        let equal = self.equated(&roots);
        bases.extend((equal != Change::default()).then_some(equal));
        let bounded = bases.into_iter().filter_map(|base| self.bounded_from(&base, &roots));
        let best: Vec<(Score, String, Model)> = bounded.collect();
        let (score, shape, model) = best.into_iter().min_by_key(|(score, ..)| *score)?;
        (score < before).then(|| Bounds {
            shape,
            dims: score.0,
            outputs: changed_outputs(graph, model.graph()),
        })
    }

    /// Infers the model with upper bounds on the input sizes. Starts with the largest bound and returns the
    /// first result without errors.
    fn bounded_from(&mut self, base: &Change, roots: &Roots) -> Option<(Score, String, Model)> {
        UPPER_BOUNDS.into_iter().find_map(|most| {
            self.trials = self.trials.checked_sub(1)?;
            let at_most = |known: Interval| match known.has_upper() {
                true => known.hi(),
                false => most.max(known.lo()),
            };
            let mut change = self.with_intervals(base, roots, |known| known.lo(), at_most);
            change.is_named = true;
            let shape = self.spec(&change)?;
            let mut model = self.model.clone();
            model.reshape(&shape).ok()?;
            model.infer().is_ok().then(|| (score(model.graph()), shape, model))
        })
    }
}

fn score(graph: &Graph) -> Score {
    let (symbols, births) = (graph.symbols(), Births::new(graph));
    let is_inner = |symbol: &SymbolId| births.kind(*symbol) != BirthKind::Input;
    let (mut unbounded, mut inner) = (0, 0);
    for out in graph.ids().flat_map(|id| graph.node(id).outs()) {
        let Some(dims) = out.fact.shape().dims() else {
            unbounded += 1;
            continue;
        };
        unbounded += dims.iter().filter(|dim| !symbols.interval(dim).has_upper()).count();
        inner += dims.iter().filter(|dim| dim.symbols().iter().any(is_inner)).count();
    }
    (unbounded, inner)
}

/// The outputs of the model whose shapes differ, displayed with the symbols of `before`.
fn changed_outputs(before: &Graph, after: &Graph) -> Vec<BoundedOutput> {
    let symbols = relabelled(before, after);
    let changed = before.results().filter_map(|id| {
        let value = before.node(id).output(0)?;
        let old = labelled_type(before, before.symbols(), value)?;
        let new = labelled_type(after, &symbols, value)?;
        let name = public_name(before, id).to_string();
        (old != new).then_some(BoundedOutput { name, before: old, after: new })
    });
    changed.collect()
}
