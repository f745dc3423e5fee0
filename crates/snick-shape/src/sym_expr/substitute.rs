//! Replaces symbols with expressions.

use super::{Atom, SymExpr, SymbolId};
use crate::symbols::Symbols;

/// Replaces each symbol that has a `replacement`, and normalises the result with the facts of `symbols`.
pub(crate) fn substitute(
    symbols: &Symbols,
    expr: &SymExpr,
    replacement: &dyn Fn(SymbolId) -> Option<SymExpr>,
) -> Option<SymExpr> {
    let linear = match expr {
        SymExpr::Const(_) => return Some(expr.clone()),
        SymExpr::Symbol(id) => return replaced(symbols, *id, replacement),
        SymExpr::Linear(linear) => linear,
    };
    let mut total = SymExpr::Const(linear.sum.constant);
    for term in &linear.sum.terms {
        let mut product = SymExpr::Const(term.coefficient);
        for factor in &term.monomial.0 {
            product = symbols.mul(&product, &atom(symbols, factor, replacement)?)?;
        }
        total = symbols.add(&total, &product)?;
    }
    Some(total)
}

/// The replacement of a symbol, or the symbol itself if it belongs to this table.
fn replaced(
    symbols: &Symbols,
    id: SymbolId,
    replacement: &dyn Fn(SymbolId) -> Option<SymExpr>,
) -> Option<SymExpr> {
    let expr = replacement(id).unwrap_or(SymExpr::Symbol(id));
    symbols.owns(&expr).then_some(expr)
}

fn atom(
    symbols: &Symbols,
    atom: &Atom,
    replacement: &dyn Fn(SymbolId) -> Option<SymExpr>,
) -> Option<SymExpr> {
    let inside = |expr: &SymExpr| substitute(symbols, expr, replacement);
    let fold = |operands: &[SymExpr], op: fn(&Symbols, &SymExpr, &SymExpr) -> Option<SymExpr>| {
        let (first, rest) = operands.split_first()?;
        rest.iter().try_fold(inside(first)?, |so_far, next| op(symbols, &so_far, &inside(next)?))
    };
    match atom {
        Atom::Symbol(id) => replaced(symbols, *id, replacement),
        Atom::FloorDiv(quotient) => {
            symbols.floor_div(&inside(&quotient.dividend)?, &inside(&quotient.divisor)?)
        }
        Atom::Min(operands) => fold(operands, Symbols::min),
        Atom::Max(operands) => fold(operands, Symbols::max),
    }
}
