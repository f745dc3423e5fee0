//! The normal form of floor divisions.

use std::sync::Arc;

use super::min_max::{Extremum, extremum_sum};
use super::normal_form::gcd;
use super::{Atom, Monomial, Quotient, Sum, SymExpr, Term};
use crate::interval::Interval;
use crate::symbols::Symbols;

/// `floor(dividend / divisor)`; `None` if the divisor can be 0, on overflow, or if the result exceeds the
/// size limits.
pub(crate) fn floor_div(symbols: &Symbols, dividend: &Sum, divisor: &Sum) -> Option<SymExpr> {
    let by = symbols.sum_interval(divisor);
    if by.hi() < 0 {
        return floor_div(symbols, &dividend.scaled(-1)?, &divisor.scaled(-1)?);
    }
    if by.lo() < 1 {
        return None;
    }
    match by.is_exact() {
        Some(divisor) => by_constant(symbols, dividend, divisor),
        None => by_expression(symbols, dividend, divisor, by),
    }
}

/// The quotient, if the intervals of dividend and divisor allow only one value.
fn single_value(dividend: Interval, divisor: Interval) -> Option<i64> {
    let finite = dividend.has_lower() && dividend.has_upper();
    dividend.floor_div(divisor).is_exact().filter(|_| finite)
}

/// Division by a constant of at least 1.
fn by_constant(symbols: &Symbols, dividend: &Sum, divisor: i64) -> Option<SymExpr> {
    // Moves whole multiples of the divisor out of the division. Coefficients are divided with truncation, so
    // the remaining coefficients keep their signs and monotone expressions stay monotone.
    let mut outside = Sum::default();
    let mut inside = Sum::constant(dividend.constant);
    for Term { monomial, coefficient } in &dividend.terms {
        let of = |factor: i64| Sum::monomial(monomial.clone(), 1).scaled(factor);
        outside = outside.plus_scaled(&of(coefficient.checked_div(divisor)?)?, 1)?;
        inside = inside.plus_scaled(&of(coefficient.checked_rem(divisor)?)?, 1)?;
    }
    let negated = inside.leads_negative();
    if negated {
        // floor(-x / c) == -floor((x + c - 1) / c)
        inside = inside.scaled(-1)?.shifted(divisor.checked_sub(1)?)?;
    }
    let sign = if negated { -1 } else { 1 };
    let whole = inside.constant.div_euclid(divisor);
    inside.constant = inside.constant.rem_euclid(divisor);
    outside = outside.shifted(whole.checked_mul(sign)?)?;

    let fraction = proper_fraction(symbols, inside, divisor)?;
    outside.plus_scaled(&fraction.sum(), sign)?.finish()
}

/// Division where all coefficients are smaller than the divisor in absolute value, the first one is positive,
/// and the constant is in `0..divisor`.
fn proper_fraction(symbols: &Symbols, mut inside: Sum, mut divisor: i64) -> Option<SymExpr> {
    if inside.terms.is_empty() {
        return Some(SymExpr::Const(0));
    }
    // floor((g*x + r) / (g*c)) == floor((x + floor(r/g)) / c)
    let common = gcd(inside.content(), divisor.unsigned_abs());
    let common = i64::try_from(common).ok()?;
    if common > 1 {
        let constant = inside.constant.div_euclid(common);
        inside.constant = 0;
        inside = inside.divided_exactly(common)?.shifted(constant)?;
        divisor = divisor.checked_div(common)?;
    }
    if let Some(value) = single_value(symbols.sum_interval(&inside), Interval::exact(divisor)) {
        return Some(SymExpr::Const(value));
    }
    if let [Term { monomial, coefficient }] = inside.terms.as_slice() {
        match monomial.as_atom() {
            // (x/a + r)/c == (x + a*r)/(a*c)
            Some(Atom::FloorDiv(inner)) if *coefficient == 1 => {
                if let Some(a) = inner.divisor.as_const() {
                    let shift = inside.constant.checked_mul(a)?;
                    let flat = inner.dividend.sum().into_owned().shifted(shift)?;
                    return by_constant(symbols, &flat, divisor.checked_mul(a)?);
                }
            }
            // Floor division is monotone, so it distributes over a minimum or maximum.
            Some(Atom::Min(operands)) => {
                return through(symbols, Extremum::Min, operands, &inside, *coefficient, divisor);
            }
            Some(Atom::Max(operands)) => {
                return through(symbols, Extremum::Max, operands, &inside, *coefficient, divisor);
            }
            _ => {}
        }
    }
    match inside.collapsed() {
        // Collapsing has changed the coefficients, so some may again be multiples of the divisor.
        (collapsed, true) => by_constant(symbols, &collapsed, divisor),
        (inside, false) => quotient(inside, Sum::constant(divisor)),
    }
}

/// `floor((coefficient * extremum + constant) / divisor)` with a positive coefficient, distributed over the
/// operands of the extremum.
fn through(
    symbols: &Symbols,
    kind: Extremum,
    operands: &[SymExpr],
    inside: &Sum,
    coefficient: i64,
    divisor: i64,
) -> Option<SymExpr> {
    let shift = Sum::constant(inside.constant);
    let divided = operands.iter().map(|operand| {
        let dividend = shift.plus_scaled(&operand.sum(), coefficient)?;
        Some(by_constant(symbols, &dividend, divisor)?.sum().into_owned())
    });
    extremum_sum(symbols, kind, &divided.collect::<Option<Vec<_>>>()?)?.finish()
}

/// Division by an expression known to be at least 1.
fn by_expression(symbols: &Symbols, dividend: &Sum, divisor: &Sum, by: Interval) -> Option<SymExpr> {
    let (outside, inside) =
        long_division(dividend, divisor).unwrap_or_else(|| (Sum::default(), dividend.clone()));
    if let Some(value) = single_value(symbols.sum_interval(&inside), by) {
        return outside.shifted(value)?.finish();
    }
    if let Some(value) = single_value(symbols.sum_interval(dividend), by) {
        return Some(SymExpr::Const(value));
    }
    // Splitting off a quotient simplifies only if the remainder is shorter than the dividend.
    if inside.terms.len() < dividend.terms.len() {
        outside.plus_scaled(&quotient(inside, divisor.clone())?.sum(), 1)?.finish()
    } else {
        quotient(dividend.clone(), divisor.clone())
    }
}

/// The quotient and the remainder of polynomial division. Divides by the leading term of the divisor, which
/// is its greatest term of the highest degree, so that each step leaves only smaller terms. `dividend ==
/// quotient * divisor + remainder` always holds, but the remainder may be larger than the divisor.
pub(super) fn long_division(dividend: &Sum, divisor: &Sum) -> Option<(Sum, Sum)> {
    const MAX_STEPS: usize = 16;
    let lead = divisor.terms.iter().max_by_key(|term| (term.monomial.0.len(), &term.monomial))?;
    let (mut quotient, mut rest) = (Sum::default(), dividend.clone());
    for _ in 0..MAX_STEPS {
        let Some(step) = rest.terms.iter().find_map(|term| term_quotient(term, lead)) else {
            break;
        };
        quotient = quotient.plus_scaled(&step, 1)?;
        rest = rest.plus_scaled(&step.times(divisor)?, -1)?;
    }
    Some((quotient, rest))
}

/// `a / b` if it is exact.
fn term_quotient(a: &Term, b: &Term) -> Option<Sum> {
    if a.coefficient.checked_rem(b.coefficient)? != 0 {
        return None;
    }
    let coefficient = a.coefficient.checked_div(b.coefficient)?;
    let mut atoms = a.monomial.0.clone();
    for atom in &b.monomial.0 {
        let index = atoms.iter().position(|candidate| candidate == atom)?;
        atoms.remove(index);
    }
    Some(if atoms.is_empty() {
        Sum::constant(coefficient)
    } else {
        Sum::monomial(Monomial(atoms), coefficient)
    })
}

/// The division as an expression with one atom.
fn quotient(dividend: Sum, divisor: Sum) -> Option<SymExpr> {
    let quotient = Quotient { dividend: dividend.finish()?, divisor: divisor.finish()? };
    Sum::atom(Atom::FloorDiv(Arc::new(quotient))).finish()
}
