//! Translates facts between the symbols of a graph and the symbols of a body: each graph has its own symbols.

use std::collections::HashMap;

use snick_shape::{Birth, Interval, Origin, Shape, SymExpr, SymbolId, Symbols};

use crate::infer::given_up::TOO_LARGE_OUTSIDE;
use crate::{Fact, Infer, Known};

/// Pairs of outer and body symbols with the same value.
#[derive(Default)]
pub(super) struct SymbolMap {
    entered: HashMap<SymbolId, SymExpr>,
    left: HashMap<SymbolId, SymExpr>,
}

impl SymbolMap {
    /// Translates an outer fact to the symbols of the body. Symbols keep their names and intervals.
    pub(super) fn enter(&mut self, fact: &Fact, outer: &Symbols, body: &mut Symbols) -> Fact {
        translate(fact, |expr| self.enter_expr(expr, outer, body))
    }

    fn enter_expr(&mut self, expr: &SymExpr, outer: &Symbols, body: &mut Symbols) -> SymExpr {
        for symbol in expr.symbols() {
            if self.entered.contains_key(&symbol) {
                continue;
            }
            let (interval, origin) = (outer.interval(&symbol.into()), outer.origin(symbol));
            let named = outer.name(symbol).and_then(|name| body.named(name, interval, origin).ok());
            let inside = named.unwrap_or_else(|| entered(symbol, outer, body));
            self.left.extend(inside.as_symbol().map(|inside| (inside, SymExpr::from(symbol))));
            self.entered.insert(symbol, inside);
        }
        let interval = outer.interval(expr);
        let inside = body.substitute(expr, &|symbol| self.entered.get(&symbol).cloned());
        match inside {
            Some(inside) => {
                body.refine(&inside, interval);
                inside
            }
            None => {
                let birth = || Birth::GivenUp(TOO_LARGE_OUTSIDE.into());
                body.fresh_born(interval, Origin::default(), birth)
            }
        }
    }

    /// Maps a symbol of the body to an outer expression.
    pub(super) fn means(&mut self, inside: SymbolId, outside: SymExpr) {
        self.left.insert(inside, outside);
    }

    /// Whether a symbol of the body was created for an outer symbol.
    pub(super) fn has_entered(&self, symbol: SymbolId) -> bool {
        self.entered.values().any(|inside| inside.as_symbol() == Some(symbol))
    }

    /// Whether an expression of the body is the same in every iteration, because all its symbols correspond
    /// to outer expressions.
    pub(super) fn is_invariant(&self, expr: &SymExpr) -> bool {
        expr.symbols().iter().all(|symbol| self.left.contains_key(symbol))
    }

    /// Translates a fact of the body to outer symbols. Symbols created in the body become unknowns.
    pub(super) fn leave(&mut self, fact: &Fact, body: &Symbols, cx: &mut Infer) -> Fact {
        let shape = fact.shape.dims().map(|dims| {
            let dims = dims.iter().map(|dim| {
                let outside = self.leave_expr(dim, body, cx);
                let within = body.interval(dim).meet(Interval::DIM).unwrap_or(Interval::DIM);
                cx.as_dim(&outside).unwrap_or_else(|| cx.unknown(within))
            });
            Shape::ranked(dims.collect::<Vec<_>>())
        });
        let known = match &fact.known {
            Some(Known::Elements(elements)) => {
                Some(Known::Elements(elements.iter().map(|e| self.leave_expr(e, body, cx)).collect()))
            }
            known => known.clone(),
        };
        Fact { element_type: fact.element_type, shape: shape.unwrap_or(Shape::unranked()), known }
    }

    /// Translates an expression of the body to outer symbols.
    fn leave_expr(&mut self, expr: &SymExpr, body: &Symbols, cx: &mut Infer) -> SymExpr {
        for symbol in expr.symbols() {
            let outside = || cx.born(body.interval(&symbol.into()), || birth_outside(symbol, body));
            self.left.entry(symbol).or_insert_with(outside);
        }
        // Refinements inside the body do not hold outside, because the body might not run.
        let outside = cx.symbols().substitute(expr, &|symbol| self.left.get(&symbol).cloned());
        outside.unwrap_or_else(|| cx.unknown(body.interval(expr)))
    }
}

/// The [`Birth`] of the outer symbol that stands for a symbol created in the body.
fn birth_outside(symbol: SymbolId, body: &Symbols) -> Birth {
    let reason = body.reason(symbol).map(|reason| format!(", {reason}")).unwrap_or_default();
    let words = format!("{} of its body{reason}", body.label(symbol)).into();
    match body.birth(symbol) {
        Birth::GivenUp(_) => Birth::GivenUp(words),
        Birth::Equal(_) | Birth::Broadcast(_) | Birth::Either(_) | Birth::Merged(_) => Birth::Merged(words),
        _ => Birth::Data(Some(words)),
    }
}

/// The [`Birth`] of the body symbol that stands for an outer symbol. A birth that refers to outer expressions
/// becomes text.
fn birth_inside(symbol: SymbolId, outer: &Symbols) -> Birth {
    match outer.birth(symbol) {
        Birth::Equal(_) | Birth::Broadcast(_) | Birth::Either(_) => {
            Birth::Merged(outer.reason(symbol).unwrap_or_default().into())
        }
        birth => birth.clone(),
    }
}

/// Creates the body symbol for an outer symbol without a name. Both symbols have the same label, such as
/// `s1`.
fn entered(symbol: SymbolId, outer: &Symbols, body: &mut Symbols) -> SymExpr {
    let inside = body.fresh(outer.interval(&symbol.into()), outer.origin(symbol));
    if let Some(inside) = inside.as_symbol() {
        body.set_birth(inside, birth_inside(symbol, outer));
        body.set_label(inside, &outer.label(symbol));
    }
    inside
}

/// Replaces every expression in a fact.
pub(super) fn translate(fact: &Fact, mut carry: impl FnMut(&SymExpr) -> SymExpr) -> Fact {
    let shape = match fact.shape.dims() {
        Some(dims) => Shape::ranked(dims.iter().map(&mut carry).collect::<Vec<_>>()),
        None => Shape::unranked(),
    };
    let known = match &fact.known {
        Some(Known::Elements(elements)) => Some(Known::Elements(elements.iter().map(carry).collect())),
        known => known.clone(),
    };
    Fact { element_type: fact.element_type, shape, known }
}

/// The fact of a value that is either `a` or `b`. Their types are equal, or one is unknown.
pub(super) fn join(a: &Fact, b: &Fact, cx: &mut Infer) -> Fact {
    let mut either = |a: &SymExpr, b: &SymExpr| match a == b {
        true => a.clone(),
        false => {
            let hull = cx.interval(a).hull(cx.interval(b));
            cx.born(hull, || Birth::either(a, b))
        }
    };
    let element_type =
        if a.element_type == b.element_type { a.element_type } else { snick_tensor::ElementType::Dynamic };
    let shape = match (a.shape.dims(), b.shape.dims()) {
        (Some(x), Some(y)) if x.len() == y.len() => {
            Shape::ranked(x.iter().zip(y).map(|(x, y)| either(x, y)).collect::<Vec<_>>())
        }
        _ => Shape::unranked(),
    };
    let fact = Fact::new(element_type, shape);
    if a.known.is_some() && a.known == b.known && a.shape == b.shape {
        return Fact { known: a.known.clone(), ..fact };
    }
    match (a.elements(), b.elements()) {
        (Some(x), Some(y)) if a.shape == b.shape && x.len() == y.len() => {
            let elements: Vec<_> = x.iter().zip(&y).map(|(x, y)| either(x, y)).collect();
            fact.with_elements(Some(elements))
        }
        _ => fact,
    }
}
