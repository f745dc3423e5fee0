//! Sizes of exported values, as expressions over the values where their symbols originate.

use std::collections::HashMap;

use snick_certificate as certificate;
use snick_certificate::{Size, SizeOp};
use snick_ir::Fact;
use snick_shape::{ExprFolder, ExprOp, Interval, SymExpr, SymbolId, Symbols};

/// Where the symbols of a graph originate.
#[derive(Default)]
pub(super) struct Sizes {
    places: HashMap<SymbolId, Size>,
    /// For symbols of an input that is shared with another graph, the sizes there.
    shared: HashMap<SymbolId, SymExpr>,
}

impl Sizes {
    /// Declares the symbols of a fact that occur only in expressions: each becomes the size of a value of its
    /// own.
    pub(super) fn declare_symbols(&mut self, fact: &Fact, symbols: &Symbols, graph: &mut certificate::Graph) {
        let dims = fact.shape().dims().unwrap_or_default();
        for symbol in dims.iter().flat_map(SymExpr::symbols) {
            let expr = SymExpr::Symbol(symbol);
            if !self.places.contains_key(&symbol) && !dims.contains(&expr) {
                let own = certificate::Value { node: graph.nodes.len(), port: 0 };
                let dims = Some(vec![any(symbols.interval(&expr))]);
                let outputs = vec![certificate::Output { dims, ..Default::default() }];
                graph.nodes.push(certificate::Node { is_unique: true, outputs, ..Default::default() });
                self.places.insert(symbol, Size::Dim(own, 0));
            }
        }
    }

    /// The size of an axis. A new symbol originates there.
    pub(super) fn of_axis(
        &mut self,
        dim: &SymExpr,
        symbols: &Symbols,
        value: certificate::Value,
        axis: usize,
    ) -> Size {
        if let Some(symbol) = dim.as_symbol()
            && !self.places.contains_key(&symbol)
        {
            self.places.insert(symbol, Size::Dim(value, axis));
            return any(symbols.interval(dim));
        }
        dim.translate(self).unwrap_or_else(|_| any(symbols.interval(dim)))
    }

    /// Names the symbols of an input that is shared with another graph, whose fact and symbols come first. Returns
    /// whether the input accepts all sizes that the other one accepts.
    pub(super) fn share(
        &mut self,
        (ours, symbols): (&Fact, &Symbols),
        (theirs, their_symbols): (&Fact, &Symbols),
        value: certificate::Value,
    ) -> bool {
        let (Some(ours), Some(theirs)) = (ours.shape().dims(), theirs.shape().dims()) else {
            return theirs.shape().dims().is_none();
        };
        let mut accepts = ours.len() == theirs.len();
        for (axis, (our, their)) in ours.iter().zip(theirs).enumerate() {
            accepts &= match their.as_symbol() {
                Some(symbol) => {
                    self.places.entry(symbol).or_insert(Size::Dim(value, axis));
                    let known = self.shared.entry(symbol).or_insert_with(|| our.clone());
                    known == our && their_symbols.interval(their).covers(&symbols.interval(our))
                }
                None => their.as_const().is_some() && their.as_const() == our.as_const(),
            };
        }
        accepts
    }

    /// Names the new symbols among the elements of a value.
    pub(super) fn name_elements(&mut self, elements: &[SymExpr], value: certificate::Value) {
        for (at, element) in elements.iter().enumerate() {
            if let Some(symbol) = element.as_symbol() {
                self.places.entry(symbol).or_insert(Size::Element(value, at));
            }
        }
    }
}

/// A symbol that originates in no exported value.
pub(super) struct UnknownSymbol;

impl ExprFolder for Sizes {
    type Output = Size;
    type Error = UnknownSymbol;

    fn constant(&mut self, value: i64) -> Result<Size, UnknownSymbol> {
        Ok(Size::Int(value))
    }

    fn symbol(&mut self, symbol: SymbolId) -> Result<Size, UnknownSymbol> {
        self.places.get(&symbol).cloned().ok_or(UnknownSymbol)
    }

    fn combine(&mut self, how: ExprOp, a: Size, b: Size) -> Result<Size, UnknownSymbol> {
        let how = match how {
            ExprOp::Add => SizeOp::Add,
            ExprOp::Multiply => SizeOp::Multiply,
            ExprOp::FloorDivide => SizeOp::FloorDivide,
            ExprOp::Min => SizeOp::Min,
            ExprOp::Max => SizeOp::Max,
        };
        Ok(Size::Of(how, Box::new([a, b])))
    }
}

fn any(interval: Interval) -> Size {
    Size::Any(interval.lo(), Some(interval.hi()).filter(|high| *high < i64::MAX))
}
