//! Simplifies sums in which minima and maxima complement each other.
//!
//! Because `min(a,b) + max(a,b) == a + b` and `min(a,b) == -max(-a,-b)`, a sum with a minimum or maximum can
//! be written in several ways. The shortest form is chosen, in which the parts of an axis add up to the axis:
//! `min(W,2) + max(W-2,0)` is `W`, and `W - min(W,2)` is `max(W-2,0)`.

use super::min_max::{Extremum, structural};
use super::{Atom, Monomial, Sum, SymExpr, Term};

impl Sum {
    /// Rewrites minima and maxima as long as the sum becomes shorter. Returns the sum, and whether it
    /// changed.
    pub(super) fn collapsed(mut self) -> (Self, bool) {
        let mut is_changed = false;
        // A single term is not rewritten: its other forms have more terms.
        while self.terms.len() > 1 {
            let shorter = (0..self.terms.len())
                .flat_map(|index| self.respelled(index))
                .find(|other| other.length() < self.length());
            match shorter {
                Some(other) => self = other,
                None => break,
            }
            is_changed = true;
        }
        (self, is_changed)
    }

    /// The measure that collapsing reduces: first the number of terms with a minimum or maximum, then the
    /// number of all terms. It decreases strictly, so collapsing terminates.
    fn length(&self) -> (usize, usize) {
        let extrema = self.terms.iter().filter(|term| pair(&term.monomial).is_some()).count();
        (extrema, self.terms.len())
    }

    /// The alternative forms of the sum, in which the minimum or maximum in the term at `index` is rewritten.
    fn respelled(&self, index: usize) -> Vec<Self> {
        let spellings = self.terms.get(index).and_then(|term| {
            let (position, kind, [a, b]) = pair(&term.monomial)?;
            let (a, b) = (a.sum().into_owned(), b.sum().into_owned());
            let total = a.plus_scaled(&b, 1)?;
            let negated = [a.scaled(-1)?, b.scaled(-1)?];
            let complement = total.plus_scaled(&structural(kind.opposite(), &[a, b])?, -1)?;
            let mirrored = structural(kind.opposite(), &negated)?.scaled(-1)?;
            let both = total.plus_scaled(&structural(kind, &negated)?, 1)?;
            Some((term, position, [complement, mirrored, both]))
        });
        let Some((term, position, spellings)) = spellings else { return Vec::new() };
        let rest = self.without(index);
        let replaced = spellings.into_iter().filter_map(|spelling| {
            rest.plus_scaled(&with_factor(term, position, spelling)?, term.coefficient)
        });
        replaced.collect()
    }
}

/// The term with its factor at `position` replaced by `spelling`, as a sum.
fn with_factor(term: &Term, position: usize, spelling: Sum) -> Option<Sum> {
    let mut cofactor = term.monomial.0.clone();
    cofactor.remove(position);
    if cofactor.is_empty() {
        return Some(spelling);
    }
    Sum::monomial(Monomial(cofactor), 1).times(&spelling)
}

/// The first factor that is a minimum or maximum of two operands.
fn pair(monomial: &Monomial) -> Option<(usize, Extremum, &[SymExpr; 2])> {
    monomial.0.iter().enumerate().find_map(|(position, atom)| {
        let (kind, operands) = match atom {
            Atom::Min(operands) => (Extremum::Min, operands),
            Atom::Max(operands) => (Extremum::Max, operands),
            _ => return None,
        };
        Some((position, kind, operands.as_ref().try_into().ok()?))
    })
}
