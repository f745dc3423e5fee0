//! Prints expressions in conventional notation: `max(W-1,0)`, `(H+1)/2`, `2*N*H`.

use std::borrow::Cow;
use std::fmt;

use super::{Atom, Monomial, Sum, SymExpr, SymbolId, Term};
use crate::symbols::Symbols;

/// An expression together with the table that names its symbols.
pub(crate) struct Printed<'a> {
    pub symbols: &'a Symbols,
    pub expr: &'a SymExpr,
}

impl fmt::Display for Printed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_sum(f, self.symbols, &self.expr.sum())
    }
}

fn write_expr(f: &mut fmt::Formatter<'_>, symbols: &Symbols, expr: &SymExpr) -> fmt::Result {
    write_sum(f, symbols, &expr.sum())
}

/// Remainders lead (`W%2+H`), then come the other terms.
fn write_sum(f: &mut fmt::Formatter<'_>, symbols: &Symbols, sum: &Sum) -> fmt::Result {
    let mut rest = Cow::Borrowed(sum);
    let mut first = true;
    while let Some((index, shorter)) = remainder(&rest) {
        let term = rest.terms.get(index);
        if let Some(Atom::FloorDiv(quotient)) = term.and_then(|term| term.monomial.as_atom()) {
            f.write_str(if first { "" } else { "+" })?;
            write_operand(f, symbols, &quotient.dividend)?;
            f.write_str("%")?;
            write_operand(f, symbols, &quotient.divisor)?;
        }
        first = false;
        rest = Cow::Owned(shorter);
    }
    write_terms(f, symbols, &rest, first)
}

/// Finds a remainder by its normal form, `x - c*(x/c)`: the place of the division and the sum without the remainder.
fn remainder(sum: &Sum) -> Option<(usize, Sum)> {
    sum.terms.iter().enumerate().find_map(|(index, term)| {
        let Some(Atom::FloorDiv(quotient)) = term.monomial.as_atom() else { return None };
        let divisor = quotient.divisor.as_const()?;
        let rest = sum.without(index).plus_scaled(&quotient.dividend.sum(), -1)?;
        let shorter = rest.terms.len() + 1 < sum.terms.len();
        (term.coefficient.checked_neg() == Some(divisor) && shorter).then_some((index, rest))
    })
}

/// Positive terms, then negative ones, the constant last; a positive constant leads when it would otherwise follow a
/// minus (`5-W`).
fn write_terms(f: &mut fmt::Formatter<'_>, symbols: &Symbols, sum: &Sum, mut first: bool) -> fmt::Result {
    let negative_only = sum.terms.iter().all(|term| term.coefficient < 0);
    let constant_leads = first && negative_only && (sum.constant > 0 || sum.terms.is_empty());
    if constant_leads {
        write!(f, "{}", sum.constant)?;
        first = false;
    }
    let positive = sum.terms.iter().filter(|term| term.coefficient > 0);
    let negative = sum.terms.iter().filter(|term| term.coefficient < 0);
    for term in positive.chain(negative) {
        write_term(f, symbols, term, first)?;
        first = false;
    }
    if sum.constant != 0 && !constant_leads {
        write!(f, "{:+}", sum.constant)?;
    }
    Ok(())
}

fn write_term(f: &mut fmt::Formatter<'_>, symbols: &Symbols, term: &Term, first: bool) -> fmt::Result {
    let minus = term.coefficient < 0;
    match (minus, first) {
        (true, _) => f.write_str("-")?,
        (false, false) => f.write_str("+")?,
        (false, true) => {}
    }
    let size = term.coefficient.unsigned_abs();
    if size != 1 {
        write!(f, "{size}*")?;
    }
    // `-(H/2)`: without the parentheses it reads as floor(-H / 2).
    let bare = size == 1 && !(minus && first);
    write_monomial(f, symbols, &term.monomial, bare)
}

fn write_monomial(
    f: &mut fmt::Formatter<'_>,
    symbols: &Symbols,
    monomial: &Monomial,
    bare: bool,
) -> fmt::Result {
    for (index, atom) in monomial.0.iter().enumerate() {
        if index > 0 {
            f.write_str("*")?;
        }
        let divides = matches!(atom, Atom::FloorDiv(_));
        if divides && !(bare && monomial.0.len() == 1) {
            f.write_str("(")?;
            write_atom(f, symbols, atom)?;
            f.write_str(")")?;
        } else {
            write_atom(f, symbols, atom)?;
        }
    }
    Ok(())
}

fn write_atom(f: &mut fmt::Formatter<'_>, symbols: &Symbols, atom: &Atom) -> fmt::Result {
    match atom {
        Atom::Symbol(id) => write_symbol(f, symbols, *id),
        Atom::FloorDiv(quotient) => {
            write_operand(f, symbols, &quotient.dividend)?;
            f.write_str("/")?;
            write_operand(f, symbols, &quotient.divisor)
        }
        Atom::Min(operands) => write_call(f, symbols, "min", operands),
        Atom::Max(operands) => write_call(f, symbols, "max", operands),
    }
}

fn write_symbol(f: &mut fmt::Formatter<'_>, symbols: &Symbols, id: SymbolId) -> fmt::Result {
    match symbols.name(id) {
        Some(name) => f.write_str(name),
        None => write!(f, "s{}", id.index()),
    }
}

/// One side of a division, in parentheses unless it is a single word or call.
fn write_operand(f: &mut fmt::Formatter<'_>, symbols: &Symbols, expr: &SymExpr) -> fmt::Result {
    let sum = expr.sum();
    let simple = match (sum.terms.as_slice(), sum.constant) {
        ([], constant) => constant >= 0,
        ([Term { monomial, coefficient: 1 }], 0) => {
            monomial.as_atom().is_some_and(|atom| !matches!(atom, Atom::FloorDiv(_)))
        }
        _ => false,
    };
    if simple {
        return write_expr(f, symbols, expr);
    }
    f.write_str("(")?;
    write_expr(f, symbols, expr)?;
    f.write_str(")")
}

/// Constants come last: `max(W-1,0)`.
fn write_call(
    f: &mut fmt::Formatter<'_>,
    symbols: &Symbols,
    name: &str,
    operands: &[SymExpr],
) -> fmt::Result {
    write!(f, "{name}(")?;
    let varying = operands.iter().filter(|operand| operand.as_const().is_none());
    let constant = operands.iter().filter(|operand| operand.as_const().is_some());
    for (index, operand) in varying.chain(constant).enumerate() {
        if index > 0 {
            f.write_str(",")?;
        }
        write_expr(f, symbols, operand)?;
    }
    f.write_str(")")
}
