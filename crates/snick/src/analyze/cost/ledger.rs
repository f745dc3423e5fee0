//! Amounts of a model and its bodies, expressed in a shared table of symbols.

use std::collections::HashSet;

use snick_ir::{Fact, Graph, Loc, NodeId, NodeRef, Op};
use snick_shape::{ExprFolder, ExprOp, Interval, Origin, SymExpr, SymbolId, Symbols};
use snick_tensor::ElementType;

use super::Amount;
use crate::analyze::symbols::{BirthKind, Symbol};

/// The shared table of symbols, named as in shapes, and notes on the accuracy of the amounts.
#[derive(Default)]
pub(super) struct Ledger {
    pub symbols: Symbols,
    pub notes: Vec<String>,
    /// Symbols for unknown amounts. They occur in no shape.
    pub unknowns: Vec<Symbol>,
    /// Names that new symbols must not use.
    taken: HashSet<String>,
}

impl Ledger {
    /// An empty ledger for a model.
    pub fn new(graph: &Graph) -> Self {
        let mut ledger = Self::default();
        ledger.take_names(graph);
        ledger
    }

    /// Reserves the names of a graph's symbols. In the ledger, symbols with the same name are the same
    /// symbol.
    fn take_names(&mut self, graph: &Graph) {
        let symbols = graph.symbols();
        self.taken.extend(symbols.ids().map(|symbol| symbols.label(symbol).trim_matches('`').to_string()));
        graph.ids().flat_map(|id| graph.node(id).op().bodies()).for_each(|(_, body)| self.take_names(body));
    }

    /// Translates an expression of a graph to the table of the ledger; `None` if it becomes too large.
    fn import(&mut self, graph: &Graph, expr: &SymExpr) -> Option<SymExpr> {
        expr.translate(&mut Importer { ledger: self, graph }).ok()
    }

    /// Adds an amount to another.
    pub fn add(&self, total: &mut Amount, more: &Amount) {
        more.terms.iter().for_each(|term| self.add_term(total, term));
    }

    fn add_term(&self, total: &mut Amount, term: &SymExpr) {
        if term.as_const() == Some(0) {
            return;
        }
        // Only merges with the last term, so that a sum of many terms takes linear time.
        match total.terms.last_mut().and_then(|last| Some((self.symbols.add(last, term)?, last))) {
            Some((sum, last)) => *last = sum,
            None => total.terms.push(term.clone()),
        }
    }

    /// An amount of a single expression.
    pub fn amount(&self, expr: SymExpr) -> Amount {
        Amount { terms: vec![expr] }
    }

    /// The product; a new symbol if the product is too large for an expression.
    pub fn product<'e>(&mut self, factors: impl IntoIterator<Item = &'e SymExpr>) -> SymExpr {
        let product = factors
            .into_iter()
            .try_fold(SymExpr::from(1), |product, factor| self.symbols.mul(&product, factor));
        product
            .unwrap_or_else(|| self.unknown(None, BirthKind::GivenUp, "a product that is too large to write"))
    }

    /// A new symbol for an unknown amount. `layer` is the layer where the amount originates.
    pub fn unknown(&mut self, layer: Option<NodeRef>, kind: BirthKind, reason: &str) -> SymExpr {
        let names = (self.unknowns.len()..).map(|number| format!("u{number}"));
        let name = names.into_iter().find(|name| !self.taken.contains(name)).unwrap_or_default();
        self.taken.insert(name.clone());
        let interval = Interval::DIM;
        let named = self.symbols.named(&name, interval, Origin::default());
        self.unknowns.push(Symbol {
            name,
            interval,
            kind,
            layer: layer.map_or("", |layer| layer.name()).to_string(),
            op: layer.map_or("", |layer| layer.op().type_name()).to_string(),
            loc: layer.map_or_else(Loc::default, |layer| layer.loc()),
            port: None,
            axis: None,
            reason: Some(reason.to_string()),
        });
        named.unwrap_or_else(|_| self.symbols.fresh(interval, Origin::default()))
    }

    /// The sizes of a value; `None` if its rank is unknown.
    pub fn dims(&mut self, graph: &Graph, fact: &Fact) -> Option<Vec<SymExpr>> {
        let dims = fact.shape().dims()?.to_vec();
        dims.iter().map(|dim| self.import(graph, dim)).collect()
    }

    /// The product of sizes of a graph; a new symbol if the product is too large for an expression.
    pub fn product_of(&mut self, graph: &Graph, sizes: &[SymExpr]) -> SymExpr {
        let sizes: Option<Vec<SymExpr>> = sizes.iter().map(|size| self.import(graph, size)).collect();
        match sizes {
            Some(sizes) => self.product(&sizes),
            None => self.unknown(None, BirthKind::GivenUp, "a size that is too large to write"),
        }
    }

    /// The only element of a value, if it has exactly one and the element is known.
    pub fn element(&mut self, graph: &Graph, fact: &Fact) -> Option<SymExpr> {
        match fact.elements()?.as_slice() {
            [only] => self.import(graph, only),
            _ => None,
        }
    }

    /// The number of elements of a value of a layer.
    pub fn elements(&mut self, graph: &Graph, id: NodeId, fact: &Fact) -> SymExpr {
        match self.dims(graph, fact) {
            Some(dims) => self.product(&dims),
            None => self.unknown(Some(graph.node(id)), BirthKind::Data, "the elements of one of its values"),
        }
    }

    /// The bytes of a value of a layer in the given type.
    pub fn bytes(&mut self, graph: &Graph, id: NodeId, fact: &Fact, element_type: ElementType) -> SymExpr {
        let elements = self.elements(graph, id, fact);
        // An unknown type is counted like the largest type.
        let bits = i64::from(element_type.bit_width().unwrap_or(64));
        let whole = self.product([&elements, &SymExpr::from((bits + 7) / 8)]);
        if bits >= 8 {
            return whole;
        }
        let packed = self.symbols.mul(&elements, &bits.into());
        packed.and_then(|bits| self.symbols.ceil_div(&bits, &8.into())).unwrap_or(whole)
    }

    /// The bytes of all outputs of a layer, as declared.
    pub fn bytes_of_outputs(&mut self, graph: &Graph, id: NodeId) -> Amount {
        let mut total = Amount::default();
        if matches!(graph.node(id).op(), Op::Result(_)) {
            return total;
        }
        for out in graph.node(id).outs() {
            let bytes = self.bytes(graph, id, &out.fact, out.fact.element_type());
            self.add_term(&mut total, &bytes);
        }
        total
    }
}

/// A layer with its type, such as ``NonZero `at` ``.
pub(super) fn described(graph: &Graph, id: NodeId) -> String {
    format!("{} `{}`", graph.node(id).op().type_name(), graph.node(id).name())
}

/// Translates expressions of a graph to the table of a ledger.
struct Importer<'l, 'g> {
    ledger: &'l mut Ledger,
    graph: &'g Graph,
}

impl ExprFolder for Importer<'_, '_> {
    type Output = SymExpr;
    type Error = ();

    fn constant(&mut self, value: i64) -> Result<SymExpr, ()> {
        Ok(value.into())
    }

    fn symbol(&mut self, symbol: SymbolId) -> Result<SymExpr, ()> {
        let symbols = self.graph.symbols();
        let interval = symbols.interval(&symbol.into());
        let label = symbols.label(symbol);
        let name = symbols.name(symbol).unwrap_or(&label);
        self.ledger.symbols.named(name, interval, Origin::default()).map_err(drop)
    }

    fn combine(&mut self, how: ExprOp, a: SymExpr, b: SymExpr) -> Result<SymExpr, ()> {
        let symbols = &self.ledger.symbols;
        let combined = match how {
            ExprOp::Add => symbols.add(&a, &b),
            ExprOp::Multiply => symbols.mul(&a, &b),
            ExprOp::FloorDivide => symbols.floor_div(&a, &b),
            ExprOp::Min => symbols.min(&a, &b),
            ExprOp::Max => symbols.max(&a, &b),
        };
        combined.ok_or(())
    }
}
