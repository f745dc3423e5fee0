//! Typical sizes for the symbols of a model, to show numbers in addition to formulas.

use std::collections::{BTreeSet, HashMap};

use snick::text::Escaped;
use snick::{Amount, LeadingTerm, Model, ModelCost, public_name};
use snick_shape::{Birth, SymExpr, SymbolId, Symbols};

/// The typical height and width of an image.
const IMAGE: i64 = 640;

/// The typical length of a sequence.
const LENGTH: i64 = 128;

/// Maximum length of the text for input shapes. If it would be longer, the sizes of symbols are shown
/// instead.
const MAX_SHAPES: usize = 40;

/// Where a typical size comes from.
#[derive(Clone, PartialEq)]
enum Source {
    /// A size of an input.
    Input,
    /// Derived from other sizes and then clamped to the bounds of the symbol.
    Others,
    /// The value of this expression, computed from other sizes of the example.
    Same(SymExpr),
    /// An assumption: no other size determines it.
    Assumed,
}

/// A typical size for each symbol of a model, to evaluate the model's cost.
pub struct Example<'m> {
    model: &'m Symbols,
    pub cost: &'m ModelCost,
    sizes: HashMap<SymbolId, (i64, Source)>,
    /// The shapes of the inputs that contain symbols, as text.
    shapes: String,
}

impl<'m> Example<'m> {
    /// Chooses typical sizes within the bounds of the symbols.
    pub fn of(model: &'m Model, cost: &'m ModelCost) -> Self {
        let graph = model.graph();
        let symbols = graph.symbols();
        let mut example = Self { model: symbols, cost, sizes: HashMap::new(), shapes: String::new() };
        let is_only = graph.parameters().count() == 1;
        let dims = |id| graph.node(id).outs().first().and_then(|out| out.fact.shape().dims());
        for dims in graph.parameters().filter_map(dims) {
            for (axis, dim) in dims.iter().enumerate() {
                if let Some(symbol) = dim.as_symbol() {
                    let size = within(symbols, symbol, ordinary(dims, axis, is_only));
                    example.sizes.entry(symbol).or_insert((size, Source::Input));
                }
            }
        }
        for symbol in symbols.ids() {
            if !example.sizes.contains_key(&symbol) {
                let size = example.derived_size(symbol);
                example.sizes.insert(symbol, size);
            }
        }
        let shape = |id| {
            let dims = dims(id).filter(|dims| dims.iter().any(|dim| dim.as_const().is_none()))?;
            let dims = dims.iter().map(|dim| example.eval(dim).map_or("?".into(), |size| size.to_string()));
            Some(format!("{}[{}]", Escaped(public_name(graph, id)), dims.collect::<Vec<_>>().join(",")))
        };
        let shapes: Vec<String> = graph.parameters().filter_map(shape).collect();
        Self { shapes: shapes.join(","), ..example }
    }

    fn eval(&self, expr: &SymExpr) -> Option<i64> {
        self.model.eval(expr, &|symbol| self.sizes.get(&symbol).map(|(size, _)| *size))
    }

    /// Chooses the size of a symbol that is not a dim of an input. If the symbol depends on earlier symbols,
    /// its size is derived from their sizes.
    fn derived_size(&self, symbol: SymbolId) -> (i64, Source) {
        let size = |size| within(self.model, symbol, size);
        let same = match self.model.birth(symbol) {
            Birth::Declared => return (size(LENGTH), Source::Assumed),
            Birth::Equal(both) | Birth::Broadcast(both) | Birth::Either(both) => {
                let [a, b] = &**both;
                Some(if self.eval(a) >= self.eval(b) { a } else { b })
            }
            _ => None,
        };
        match same.and_then(|same| Some((self.eval(same)?, same.clone()))) {
            Some((number, same)) if size(number) == number => (number, Source::Same(same)),
            Some((number, _)) => (size(number), Source::Others),
            None => (size(1), Source::Assumed),
        }
    }

    /// Maps a symbol of the cost to the model's symbol of the same name.
    fn of_model(&self, symbol: SymbolId) -> Option<SymbolId> {
        match self.model.owns(&symbol.into()) {
            true => Some(symbol),
            false => self.model.labelled(&self.cost.symbols.label(symbol)),
        }
    }

    /// The size of a symbol of the model or of its cost.
    pub fn size(&self, symbol: SymbolId) -> i64 {
        let known = self.of_model(symbol).and_then(|symbol| self.sizes.get(&symbol));
        known.map_or_else(|| within(&self.cost.symbols, symbol, 1), |(size, _)| *size)
    }

    /// The name of a symbol of the model or of its cost.
    pub fn label(&self, symbol: SymbolId) -> String {
        let table = if self.model.owns(&symbol.into()) { self.model } else { &self.cost.symbols };
        Escaped(&table.label(symbol)).to_string()
    }

    /// Evaluates an amount.
    pub fn number(&self, amount: &Amount) -> Option<u64> {
        amount.at(&self.cost.symbols, &|symbol| Some(self.size(symbol)))
    }

    /// The leading terms of an amount, expressed in symbols of inputs if possible.
    pub fn leading_terms(&self, amount: &Amount) -> Option<Vec<LeadingTerm>> {
        let meaning = |symbol: SymbolId| {
            let own = self.of_model(symbol)?;
            match self.sizes.get(&own) {
                Some((_, Source::Same(expr))) => Some(expr.clone()),
                _ => (own != symbol).then_some(own.into()),
            }
        };
        amount.leading_terms(&|symbol| Some(self.size(symbol)), &meaning)
    }

    /// The shapes of the inputs, such as `x[1,3,640,640]`, and the sizes of those `symbols` that the shapes
    /// do not show.
    pub fn describe(&self, symbols: &BTreeSet<SymbolId>) -> String {
        let has_shapes = !self.shapes.is_empty() && self.shapes.chars().count() <= MAX_SHAPES;
        let is_shown = |symbol: &&SymbolId| {
            let known = self.of_model(**symbol).and_then(|own| self.sizes.get(&own));
            !has_shapes || !matches!(known, Some((_, Source::Input)))
        };
        let sizes = symbols.iter().filter(is_shown);
        let sizes = sizes.map(|&symbol| format!("{}={}", self.label(symbol), self.size(symbol)));
        has_shapes.then(|| self.shapes.clone()).into_iter().chain(sizes).collect::<Vec<_>>().join(", ")
    }
}

/// The allowed size of a symbol that is closest to `size`.
fn within(symbols: &Symbols, symbol: SymbolId, size: i64) -> i64 {
    let interval = symbols.interval(&symbol.into());
    size.min(interval.hi()).max(interval.lo())
}

/// The typical size of an input axis: 1 for the batch axis, and otherwise the size of an image or the length
/// of a sequence. The axis of a vector is a batch axis, unless the model has no other input.
fn ordinary(dims: &[SymExpr], axis: usize, is_only: bool) -> i64 {
    let is_colour = |axis: usize| dims.get(axis).and_then(SymExpr::as_const) == Some(3);
    match (dims.len(), axis) {
        (3, 1..) if is_colour(0) => IMAGE,
        (4, 2..) if is_colour(1) => IMAGE,
        (4, 1 | 2) if is_colour(3) => IMAGE,
        (1, 0) if is_only => LENGTH,
        (_, 0) => 1,
        _ => LENGTH,
    }
}
