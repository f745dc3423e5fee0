//! Writes the inferred shapes of values as declarations of inputs.

use std::collections::{HashMap, HashSet};

use snick_ir::{Graph, Op, Value};
use snick_shape::{DimSpec, Interval, Origin, ShapeSpec, SymExpr, SymbolId, Symbols};

/// The shapes of some values of an inferred graph, in the notation of input shapes.
///
/// Named symbols keep their names and intervals. A symbol without a name gets one if several of these dims
/// contain it. An expression is kept if inference can derive its interval from the symbols that the inputs
/// declare. Otherwise the expression becomes a symbol, the same one wherever the expression occurs.
pub(super) fn shape_specs(graph: &Graph, inputs: &[Value]) -> Vec<ShapeSpec> {
    let specs = Specs::new(graph, inputs);
    inputs.iter().map(|&input| specs.of_value(input)).collect()
}

struct Specs<'g> {
    graph: &'g Graph,
    symbols: &'g Symbols,
    /// In how many dims each symbol occurs.
    occurrences: HashMap<SymbolId, usize>,
    /// The symbols that are dims on their own, as inference of the part will know them.
    declared: Symbols,
    /// Names for expressions that are not kept.
    names: HashMap<SymExpr, String>,
}

impl<'g> Specs<'g> {
    fn new(graph: &'g Graph, inputs: &[Value]) -> Self {
        let symbols = graph.symbols();
        let dims: Vec<&SymExpr> =
            inputs.iter().filter_map(|&input| graph.fact(input)?.shape().dims()).flatten().collect();
        let mut occurrences = HashMap::new();
        for symbol in dims.iter().flat_map(|dim| dim.symbols()) {
            *occurrences.entry(symbol).or_default() += 1;
        }
        let mut declared = Symbols::default();
        for symbol in dims.iter().filter_map(|dim| dim.as_symbol()) {
            // Cannot fail: equal names belong to the same symbol and have the same interval.
            let _ =
                declared.named(&symbols.label(symbol), symbol_interval(symbols, symbol), Origin::default());
        }
        let mut specs = Self { graph, symbols, occurrences, declared, names: HashMap::new() };
        let mut taken: HashSet<String> = symbols.ids().map(|id| symbols.label(id).into_owned()).collect();
        let mut number = 0;
        for dim in dims.into_iter().filter(|dim| dim.as_const().is_none() && dim.as_symbol().is_none()) {
            if specs.kept(dim).is_none() && !specs.names.contains_key(dim) {
                let name = loop {
                    let name = format!("d{number}");
                    number += 1;
                    if taken.insert(name.clone()) {
                        break name;
                    }
                };
                specs.names.insert(dim.clone(), name);
            }
        }
        specs
    }

    fn of_value(&self, value: Value) -> ShapeSpec {
        let declared = match self.graph.node(value.node).op() {
            Op::Parameter(parameter) => match &parameter.shape {
                ShapeSpec::Dims(dims) => dims.as_slice(),
                ShapeSpec::Unranked => return ShapeSpec::Unranked,
            },
            _ => &[],
        };
        let Some(dims) = self.graph.fact(value).and_then(|fact| fact.shape().dims()) else {
            return ShapeSpec::Unranked;
        };
        let dim = |(axis, dim)| match declared.get(axis) {
            // The declaration of an input of the model stays, but a relation to other dims is added.
            Some(own @ (DimSpec::Symbol { .. } | DimSpec::Expr(_))) => own.clone(),
            _ => self.of_dim(dim),
        };
        ShapeSpec::Dims(dims.iter().enumerate().map(dim).collect())
    }

    fn of_dim(&self, dim: &SymExpr) -> DimSpec {
        let interval = self.symbols.interval(dim);
        if dim.as_const().is_some() {
            return DimSpec::Interval(interval);
        }
        if let Some(symbol) = dim.as_symbol() {
            let is_single = self.occurrences.get(&symbol).is_none_or(|&count| count < 2);
            return match self.symbols.name(symbol) {
                None if is_single => DimSpec::Interval(interval),
                _ => DimSpec::Symbol { name: self.symbols.label(symbol).into_owned(), interval },
            };
        }
        match self.names.get(dim) {
            Some(name) => DimSpec::Symbol { name: name.clone(), interval },
            None => self.kept(dim).unwrap_or(DimSpec::Interval(interval)),
        }
    }

    /// The expression, if the symbols that the inputs declare imply its interval.
    fn kept(&self, dim: &SymExpr) -> Option<DimSpec> {
        let spec: DimSpec = self.symbols.display(dim).to_string().parse().ok()?;
        if !matches!(spec, DimSpec::Expr(_)) {
            return None;
        }
        let mut declared = self.declared.clone();
        let parsed = spec.instantiate(&mut declared, Origin::default()).ok()?;
        (declared.interval(&parsed) == self.symbols.interval(dim)).then_some(spec)
    }
}

fn symbol_interval(symbols: &Symbols, symbol: SymbolId) -> Interval {
    symbols.interval(&SymExpr::from(symbol))
}
