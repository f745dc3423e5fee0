//! The normal form of minima and maxima.

use std::sync::Arc;

use super::normal_form::gcd;
use super::{Atom, Sum, SymExpr, Term};
use crate::interval::Interval;
use crate::symbols::Symbols;

/// The maximum number of operands of one minimum or maximum.
const MAX_OPERANDS: usize = 8;

/// Minimum or maximum.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Extremum {
    Min,
    Max,
}

impl Extremum {
    pub(crate) fn opposite(self) -> Self {
        match self {
            Self::Min => Self::Max,
            Self::Max => Self::Min,
        }
    }

    fn atom(self, operands: Arc<[SymExpr]>) -> Atom {
        match self {
            Self::Min => Atom::Min(operands),
            Self::Max => Atom::Max(operands),
        }
    }

    /// Distributes `k * extremum + c` over its operands; `None` if the result is not an extremum of kind
    /// `self`.
    fn operands_of(self, sum: &Sum) -> Option<Vec<Sum>> {
        let [Term { monomial, coefficient }] = sum.terms.as_slice() else { return None };
        let (kind, operands) = match monomial.as_atom()? {
            Atom::Min(operands) => (Self::Min, operands),
            Atom::Max(operands) => (Self::Max, operands),
            _ => return None,
        };
        // A negative factor turns a minimum into a maximum.
        let effective = if *coefficient > 0 { kind } else { kind.opposite() };
        if effective != self {
            return None;
        }
        let shift = Sum::constant(sum.constant);
        operands.iter().map(|operand| shift.plus_scaled(&operand.sum(), *coefficient)).collect()
    }
}

/// The minimum or maximum of `operands` in normal form; `None` on overflow or if the result exceeds the size
/// limits.
pub(crate) fn extremum_sum(symbols: &Symbols, kind: Extremum, operands: &[Sum]) -> Option<Sum> {
    // All values are i64, so an operand of i64::MAX in a minimum, or i64::MIN in a maximum, has no effect.
    let end = Sum::constant(if kind == Extremum::Min { i64::MAX } else { i64::MIN });
    let bounding: Vec<Sum> = operands.iter().filter(|operand| **operand != end).cloned().collect();
    let operands = if bounding.is_empty() { operands } else { &bounding };
    normalised(&|difference| symbols.sum_interval(difference), kind, operands)
}

/// Like [`extremum_sum`], but without a table: compares only operands whose difference is constant.
pub(crate) fn structural(kind: Extremum, operands: &[Sum]) -> Option<Sum> {
    let interval = |difference: &Sum| match difference.terms.as_slice() {
        [] => Interval::exact(difference.constant),
        _ => Interval::ANY,
    };
    normalised(&interval, kind, operands)
}

/// Computes the interval of the difference of two operands.
type Differences<'a> = &'a dyn Fn(&Sum) -> Interval;

fn normalised(differences: Differences<'_>, kind: Extremum, operands: &[Sum]) -> Option<Sum> {
    let mut flat = Vec::with_capacity(operands.len());
    for operand in operands {
        match kind.operands_of(operand) {
            Some(inner) => flat.extend(inner),
            None => flat.push(operand.clone()),
        }
    }
    flat.sort_unstable();
    flat.dedup();
    if flat.len() > MAX_OPERANDS {
        return None;
    }
    let kept = undominated(differences, kind, flat);
    if let [only] = kept.as_slice() {
        return Some(only.clone());
    }
    let common = common_terms(&kept);
    if !common.terms.is_empty() {
        // Without the common terms, an operand may be an extremum itself: `max(s,s+max(N-1,0)-1)`.
        let inner = normalised(differences, kind, &subtract(&kept, &common)?)?;
        return common.plus_scaled(&inner, 1);
    }
    let mut rest = kept;
    rest.sort_unstable();
    let outside = Sum::constant(anchor(kind, &rest));
    let rest = subtract(&rest, &outside)?;

    // Prefers -min(a,b) to max(-a,-b), and -max(a,5) to min(-a,-5), but max(5-W,0) to 5-min(W,5).
    let mut varying = rest.iter().filter(|sum| !sum.terms.is_empty());
    let has_constant = rest.iter().any(|sum| sum.terms.is_empty());
    if varying.all(Sum::leads_negative) && !(kind == Extremum::Max && has_constant) {
        let negated: Vec<Sum> = rest.iter().map(|sum| sum.scaled(-1)).collect::<Option<_>>()?;
        let flipped = normalised(differences, kind.opposite(), &negated)?;
        return outside.plus_scaled(&flipped, -1);
    }

    let common_factor =
        rest.iter().fold(0, |common, sum| gcd(common, gcd(sum.content(), sum.constant.unsigned_abs())));
    if let Ok(factor @ 2..) = i64::try_from(common_factor) {
        // The intervals of the divided operands are tighter, so more operands may turn out to be redundant.
        let divided: Vec<Sum> =
            rest.into_iter().map(|sum| sum.divided_exactly(factor)).collect::<Option<_>>()?;
        return outside.plus_scaled(&normalised(differences, kind, &divided)?, factor);
    }
    let operands: Arc<[SymExpr]> = rest.into_iter().map(Sum::finish).collect::<Option<_>>()?;
    outside.plus_scaled(&Sum::atom(kind.atom(operands)), 1)
}

/// Removes operands that can never be the result, because another operand is always at least as small (or
/// large).
fn undominated(differences: Differences<'_>, kind: Extremum, operands: Vec<Sum>) -> Vec<Sum> {
    let beats = |a: &Sum, b: &Sum| {
        let Some(difference) = a.plus_scaled(b, -1) else { return false };
        let interval = differences(&difference);
        match kind {
            Extremum::Min => interval.hi() <= 0,
            Extremum::Max => interval.lo() >= 0,
        }
    };
    let mut kept: Vec<Sum> = Vec::with_capacity(operands.len());
    for operand in operands {
        if kept.iter().any(|other| beats(other, &operand)) {
            continue;
        }
        kept.retain(|other| !beats(&operand, other));
        kept.push(operand);
    }
    kept
}

/// The terms, including coefficients, common to all operands.
fn common_terms(operands: &[Sum]) -> Sum {
    let mut common = operands.first().cloned().unwrap_or_default();
    common.constant = 0;
    for operand in operands {
        common.terms.retain(|term| operand.terms.binary_search(term).is_ok());
    }
    common
}

fn subtract(operands: &[Sum], shift: &Sum) -> Option<Vec<Sum>> {
    operands.iter().map(|operand| operand.plus_scaled(shift, -1)).collect()
}

/// The constant to move out of the minimum or maximum, so that equal functions get the same form. In a
/// maximum with a constant operand, this operand becomes 0 (`max(W-1,0)`). Otherwise, one operand has no
/// constant term (`min(W,5)`).
fn anchor(kind: Extremum, operands: &[Sum]) -> i64 {
    let constant = operands.iter().find(|sum| sum.terms.is_empty());
    let mut varying = operands.iter().filter(|sum| !sum.terms.is_empty());
    let first = varying.clone().next();
    match (kind, constant) {
        (Extremum::Max, Some(sum)) => sum.constant,
        // Selects the operand by its terms only, because the selection must not depend on the constants.
        _ => varying.find(|sum| !sum.leads_negative()).or(first).map_or(0, |sum| sum.constant),
    }
}
