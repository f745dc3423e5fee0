//! Sound intervals of expressions.
//!
//! Interval arithmetic on single terms ignores that terms share symbols. Two replacements recover most of the
//! precision, because terms can cancel afterwards:
//!
//! - A minimum or maximum inside a sum is replaced by each of its operands in turn. Its value always is one
//!   of them.
//! - A floor division is replaced by its linear bounds.
//!
//! A budget of replacements limits the cost.

use std::borrow::Cow;
use std::cell::Cell;

use super::{Atom, Monomial, Sum, SymExpr, Term};
use crate::interval::Interval;
use crate::symbols::Symbols;

/// The maximum number of replacements in one query.
const BUDGET: u32 = 64;

/// One interval query.
pub(crate) struct Bounds<'a> {
    symbols: &'a Symbols,
    assumed: Option<&'a Fact>,
    budget: Cell<u32>,
}

/// An interval for the *direction* of an expression: its terms without the constant, divided by the greatest
/// common divisor of their coefficients, with a positive leading coefficient. One fact therefore covers all
/// multiples of an expression and all sums with constants.
#[derive(Clone, Debug)]
pub(crate) struct Fact {
    pub direction: Vec<Term>,
    pub interval: Interval,
}

impl Fact {
    /// The fact that `expr` is within `interval`, expressed in terms of its direction; `None` for constants.
    pub(crate) fn new(expr: &SymExpr, interval: Interval) -> Option<Self> {
        let sum = expr.sum();
        let (scale, direction) = direction(&sum.terms)?;
        let product = interval.sub(Interval::exact(sum.constant));
        Some(Self { direction: direction.into_owned(), interval: shrink(product, scale)? })
    }
}

/// The direction of a sum of terms, and the `factor` for which `factor * direction == terms`.
fn direction(terms: &[Term]) -> Option<(i64, Cow<'_, [Term]>)> {
    let content = terms.iter().fold(0, |g, term| super::normal_form::gcd(g, term.coefficient.unsigned_abs()));
    let sign = terms.first()?.coefficient.signum();
    let scale = i64::try_from(content).ok()?.checked_mul(sign)?;
    if scale == 1 {
        return Some((1, Cow::Borrowed(terms)));
    }
    let reduced = terms.iter().map(|term| {
        let coefficient = term.coefficient.checked_div(scale)?;
        Some(Term { monomial: term.monomial.clone(), coefficient })
    });
    Some((scale, Cow::Owned(reduced.collect::<Option<_>>()?)))
}

/// The integers whose product with `scale` is within `product`; `None` if there are none.
fn shrink(product: Interval, scale: i64) -> Option<Interval> {
    if scale < 0 {
        return shrink(product.neg(), scale.checked_neg()?);
    }
    let by = Interval::exact(scale);
    let lo = if product.has_lower() { Interval::exact(product.lo()).ceil_div(by).lo() } else { i64::MIN };
    let hi = if product.has_upper() { Interval::exact(product.hi()).floor_div(by).hi() } else { i64::MAX };
    Interval::new(lo, hi)
}

/// The intersection of two facts. If they contradict each other, no value exists and any result is sound;
/// `known` is returned.
fn both(known: Interval, more: Interval) -> Interval {
    known.meet(more).unwrap_or(known)
}

impl<'a> Bounds<'a> {
    pub(crate) fn new(symbols: &'a Symbols, assumed: Option<&'a Fact>) -> Self {
        Self { symbols, assumed, budget: Cell::new(BUDGET) }
    }

    /// The interval of an expression.
    pub(crate) fn of(&self, expr: &SymExpr) -> Interval {
        match expr {
            SymExpr::Const(value) => Interval::exact(*value),
            SymExpr::Symbol(_) => self.of_sum(&expr.sum()),
            SymExpr::Linear(linear) => self.of_sum(&linear.sum),
        }
    }

    /// The interval of a sum.
    pub(crate) fn of_sum(&self, sum: &Sum) -> Interval {
        let mut known = Interval::exact(sum.constant);
        for term in &sum.terms {
            let scale = Interval::exact(term.coefficient);
            known = known.add(self.of_monomial(&term.monomial).mul(scale));
        }
        // For a single monomial, the recorded fact has already been applied above.
        if sum.terms.len() < 2 {
            return known;
        }
        if let Some(recorded) = self.recorded(&sum.terms) {
            known = both(known, recorded.add(Interval::exact(sum.constant)));
        }
        self.replaced(sum).map_or(known, |more| both(known, more))
    }

    fn of_monomial(&self, monomial: &Monomial) -> Interval {
        let product = monomial
            .0
            .iter()
            .map(|atom| self.of_atom(atom))
            .reduce(Interval::mul)
            .unwrap_or(Interval::exact(1));
        // A fact about a bare symbol is stored as the interval of the symbol.
        if self.assumed.is_none() && matches!(monomial.as_atom(), Some(Atom::Symbol(_))) {
            return product;
        }
        let term = Term { monomial: monomial.clone(), coefficient: 1 };
        self.recorded(&[term]).map_or(product, |recorded| both(product, recorded))
    }

    fn of_atom(&self, atom: &Atom) -> Interval {
        let fold = |operands: &[SymExpr], op: fn(Interval, Interval) -> Interval| {
            operands.iter().map(|operand| self.of(operand)).reduce(op).unwrap_or(Interval::ANY)
        };
        match atom {
            Atom::Symbol(id) => self.symbols.symbol_interval(*id),
            Atom::FloorDiv(quotient) => self.of(&quotient.dividend).floor_div(self.of(&quotient.divisor)),
            Atom::Min(operands) => fold(operands, Interval::min),
            Atom::Max(operands) => fold(operands, Interval::max),
        }
    }

    /// The recorded or assumed interval of the sum of `terms`.
    fn recorded(&self, terms: &[Term]) -> Option<Interval> {
        if self.assumed.is_none() && !self.symbols.has_refinements() {
            return None;
        }
        let (scale, direction) = direction(terms)?;
        let stored = self.symbols.refinement(&direction);
        let assumed = self.assumed.filter(|fact| fact.direction == *direction);
        let interval = match (stored, assumed.map(|fact| fact.interval)) {
            (Some(a), Some(b)) => both(a, b),
            (a, b) => a.or(b)?,
        };
        Some(interval.mul(Interval::exact(scale)))
    }

    /// Computes the interval of the sum from simpler sums. Replaces the first minimum or maximum with each of
    /// its operands; if there is none, multiplies the sum by the divisor of the first division.
    fn replaced(&self, sum: &Sum) -> Option<Interval> {
        let extremum = sum
            .terms
            .iter()
            .position(|term| matches!(term.monomial.as_atom(), Some(Atom::Min(_) | Atom::Max(_))));
        let division =
            || sum.terms.iter().position(|term| matches!(term.monomial.as_atom(), Some(Atom::FloorDiv(_))));
        let index = extremum.or_else(division)?;
        let coefficient = sum.terms.get(index)?.coefficient;
        let rest = sum.without(index);
        match sum.terms.get(index)?.monomial.as_atom()? {
            Atom::Symbol(_) => None,
            Atom::Min(operands) => self.each_operand(&rest, coefficient, operands, coefficient > 0),
            Atom::Max(operands) => self.each_operand(&rest, coefficient, operands, coefficient < 0),
            Atom::FloorDiv(quotient) => {
                // divisor * quotient == dividend - r with 0 <= r < divisor
                let divisor = quotient.divisor.as_const()?;
                self.spend()?;
                let scaled = rest.scaled(divisor)?.plus_scaled(&quotient.dividend.sum(), coefficient)?;
                let slack = Interval::between(0, divisor.checked_sub(1)?.checked_neg()?);
                let slack = slack.mul(Interval::exact(coefficient));
                shrink(self.of_sum(&scaled).add(slack), divisor)
            }
        }
    }

    /// The interval of `rest + coefficient * extremum(operands)`. This sum equals `rest + coefficient *
    /// operand` for one of the operands. If `least`, it is the smallest of these sums (a positive multiple of
    /// a minimum, or a negative multiple of a maximum), otherwise the largest.
    fn each_operand(
        &self,
        rest: &Sum,
        coefficient: i64,
        operands: &[SymExpr],
        least: bool,
    ) -> Option<Interval> {
        let mut all: Option<Interval> = None;
        for operand in operands {
            self.spend()?;
            let case = self.of_sum(&rest.plus_scaled(&operand.sum(), coefficient)?);
            all = Some(match all {
                None => case,
                Some(others) if least => others.min(case),
                Some(others) => others.max(case),
            });
        }
        all
    }

    fn spend(&self) -> Option<()> {
        self.budget.set(self.budget.get().checked_sub(1)?);
        Some(())
    }
}
