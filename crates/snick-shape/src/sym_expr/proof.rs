//! Proofs that a sum is never negative.
//!
//! A sum is proved to be nonnegative if its interval contains no negative value. Otherwise, a term is
//! replaced by a lower bound: a minimum or maximum by its operands, a division by its dividend, a symbol by
//! an expression that it never exceeds. Every step is sound for all values of the symbols, but not every
//! nonnegative sum can be proved.

use std::sync::Arc;

use super::factor::Product;
use super::{Atom, Monomial, Quotient, Sum, SymExpr, Term};
use crate::symbols::Symbols;

/// The maximum number of sums to examine in a proof.
const MAX_STEPS: u32 = 32;

/// Whether `sum` is provably at least 0 for all values of the symbols.
pub(crate) fn is_nonnegative(symbols: &Symbols, sum: &Sum) -> bool {
    Proof { symbols, steps_left: MAX_STEPS, failed: Vec::new() }.nonnegative(sum)
}

struct Proof<'a> {
    symbols: &'a Symbols,
    steps_left: u32,
    /// Sums that could not be proved to be at least 0. Replacing terms with their bounds in a different order
    /// often leads to the same sums again.
    failed: Vec<Sum>,
}

impl Proof<'_> {
    fn nonnegative(&mut self, sum: &Sum) -> bool {
        let Some(left) = self.steps_left.checked_sub(1) else { return false };
        self.steps_left = left;
        let interval = self.symbols.sum_interval(sum);
        if interval.lo() >= 0 {
            return true;
        }
        if interval.hi() < 0 || self.failed.contains(sum) {
            return false;
        }
        let is_proved = self.by_factors(sum) || self.by_bounds(sum);
        if !is_proved {
            self.failed.push(sum.clone());
        }
        is_proved
    }

    /// Proves that a product `c * a * b * …` is at least 0, by proving that no factor can be negative.
    fn by_factors(&mut self, sum: &Sum) -> bool {
        let Some(product) = Product::of(sum) else { return false };
        let negative = product.coefficient < 0;
        product.constant >= 0
            && product.factors.iter().any(|factor| factor.terms.len() > 1)
            && product.factors.iter().enumerate().all(|(index, factor)| {
                // A minus sign is moved into the last factor.
                let is_last = negative && index + 1 == product.factors.len();
                let factor = if is_last { factor.scaled(-1) } else { Some(factor.clone()) };
                factor.is_some_and(|factor| self.nonnegative(&factor))
            })
    }

    /// Replaces a term with a lower bound. Starts with minima and maxima, because replacing them leaves fewer
    /// atoms.
    fn by_bounds(&mut self, sum: &Sum) -> bool {
        let atoms = || {
            let places = sum.terms.iter().enumerate();
            places.flat_map(|(term, of)| (0..of.monomial.0.len()).map(move |factor| (term, factor)))
        };
        let atom_at = |(term, factor): (usize, usize)| sum.terms.get(term)?.monomial.0.get(factor);
        let rank = |place| match atom_at(place) {
            Some(Atom::Min(_) | Atom::Max(_)) => 0,
            Some(Atom::FloorDiv(_)) => 1,
            Some(Atom::Symbol(_)) | None => 2,
        };
        let mut places: Vec<_> = atoms().collect();
        places.sort_by_key(|place| rank(*place));
        places.into_iter().any(|(term, factor)| self.by_atom(sum, term, factor).unwrap_or(false))
    }

    /// Replaces one factor of a term with its bound, if the factor has a bound and all other factors are at
    /// least 0.
    fn by_atom(&mut self, sum: &Sum, index: usize, factor: usize) -> Option<bool> {
        let Term { monomial, coefficient } = sum.terms.get(index)?;
        let atom = monomial.0.get(factor)?;
        let upper = match atom {
            Atom::Symbol(id) => Some(self.symbols.upper(*id).filter(|_| *coefficient < 0)?),
            _ => None,
        };
        let mut others = monomial.0.clone();
        others.remove(factor);
        let others = if others.is_empty() { Sum::constant(1) } else { Sum::monomial(Monomial(others), 1) };
        if self.symbols.sum_interval(&others).lo() < 0 {
            return None;
        }
        let scale = others.scaled(*coefficient)?;
        let rest = sum.without(index);
        let with = |value: &SymExpr| rest.plus_scaled(&scale.times(&value.sum())?, 1);
        let case = |proof: &mut Self, value: &SymExpr| with(value).is_some_and(|sum| proof.nonnegative(&sum));
        match atom {
            Atom::Symbol(_) => Some(case(self, upper?)),
            // A minimum is at most each operand and a maximum is at least each operand; each equals one of
            // its operands.
            Atom::Min(operands) if *coefficient < 0 => Some(operands.iter().any(|value| case(self, value))),
            Atom::Max(operands) if *coefficient > 0 => Some(operands.iter().any(|value| case(self, value))),
            Atom::Min(operands) | Atom::Max(operands) => Some(operands.iter().all(|value| case(self, value))),
            Atom::FloorDiv(quotient) => self.by_quotient(&rest, &scale, quotient, *coefficient < 0),
        }
    }

    /// Proves that `rest + scale * (x / d)` is at least 0. The sum is an integer, so it suffices that its
    /// product with `d` exceeds `-d`. In this product, `d * (x / d)` is between `x - d + 1` and `x`.
    fn by_quotient(
        &mut self,
        rest: &Sum,
        scale: &Sum,
        quotient: &Arc<Quotient>,
        is_negative: bool,
    ) -> Option<bool> {
        let (x, d) = (quotient.dividend.sum(), quotient.divisor.sum());
        let below = d.as_ref().clone().shifted(-1)?;
        let x = if is_negative { x.into_owned() } else { x.plus_scaled(&below, -1)? };
        let scaled = rest.times(&d)?.plus_scaled(&scale.times(&x)?, 1)?.plus_scaled(&below, 1)?;
        Some(self.nonnegative(&scaled))
    }
}
