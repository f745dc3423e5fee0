//! Sums in normal form: terms sorted and collected by monomial, products distributed, overflow checked.

use std::sync::Arc;

use super::{Atom, Linear, Monomial, SymExpr, TableId, Term};

// These limits are constants and not configurable. They bound the time of every operation on expressions.
// Equal expressions have equal normal forms only if both were made with the same limits. An expression that
// exceeds a limit is replaced by a new symbol with its bounds; this makes facts less precise, but not wrong.

/// The maximum number of terms of a sum.
const MAX_TERMS: usize = 32;
/// The maximum number of nodes of an expression, counted as a tree.
const MAX_WEIGHT: u32 = 256;
/// The maximum nesting of divisions, minima and maxima.
const MAX_DEPTH: u32 = 12;
/// The maximum number of atoms in a product.
const MAX_DEGREE: usize = 8;

/// A constant plus terms in ascending order of their monomials. Sums are compared by terms first, so adding a
/// constant only changes the order among sums with the same terms.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct Sum {
    pub terms: Vec<Term>,
    pub constant: i64,
}

impl Sum {
    pub(crate) fn constant(constant: i64) -> Self {
        Self { terms: Vec::new(), constant }
    }

    pub(crate) fn atom(atom: Atom) -> Self {
        Self::monomial(Monomial::of(atom), 1)
    }

    pub(crate) fn monomial(monomial: Monomial, coefficient: i64) -> Self {
        Self { terms: vec![Term { monomial, coefficient }], constant: 0 }
    }

    /// `self + factor * other`; `None` on overflow.
    pub(crate) fn plus_scaled(&self, other: &Self, factor: i64) -> Option<Self> {
        let constant = self.constant.checked_add(other.constant.checked_mul(factor)?)?;
        if factor == 0 {
            return Some(self.clone());
        }
        let mut terms = Vec::with_capacity(self.terms.len() + other.terms.len());
        let (mut left, mut right) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        loop {
            let order = match (left.peek(), right.peek()) {
                (Some(a), Some(b)) => a.monomial.cmp(&b.monomial),
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (None, None) => break,
            };
            let ours = if order.is_le() { left.next() } else { None };
            let theirs = if order.is_ge() { right.next() } else { None };
            let scaled = match theirs {
                Some(term) => term.coefficient.checked_mul(factor)?,
                None => 0,
            };
            let coefficient = ours.map_or(0, |term| term.coefficient).checked_add(scaled)?;
            if let Some(term) = ours.or(theirs).filter(|_| coefficient != 0) {
                terms.push(Term { monomial: term.monomial.clone(), coefficient });
            }
        }
        Some(Self { terms, constant })
    }

    /// `self + constant`; `None` on overflow.
    pub(crate) fn shifted(mut self, constant: i64) -> Option<Self> {
        self.constant = self.constant.checked_add(constant)?;
        Some(self)
    }

    /// `factor * self`; `None` on overflow.
    pub(crate) fn scaled(&self, factor: i64) -> Option<Self> {
        Self::default().plus_scaled(self, factor)
    }

    /// `self * other`, distributed; `None` on overflow or if there are too many terms.
    pub(crate) fn times(&self, other: &Self) -> Option<Self> {
        if self.terms.len().saturating_mul(other.terms.len()) > MAX_TERMS * 4 {
            return None;
        }
        let mut product = other.scaled(self.constant)?;
        for ours in &self.terms {
            let shift = Self::monomial(ours.monomial.clone(), ours.coefficient);
            product = product.plus_scaled(&shift, other.constant)?;
            for theirs in &other.terms {
                let mut atoms = ours.monomial.0.clone();
                atoms.extend(theirs.monomial.0.iter().cloned());
                if atoms.len() > MAX_DEGREE {
                    return None;
                }
                atoms.sort_unstable();
                let coefficient = ours.coefficient.checked_mul(theirs.coefficient)?;
                let term = Self::monomial(Monomial(atoms), 1);
                product = product.plus_scaled(&term, coefficient)?;
            }
        }
        Some(product)
    }

    /// Divides the constant and all coefficients by a common divisor.
    pub(crate) fn divided_exactly(mut self, by: i64) -> Option<Self> {
        self.constant = self.constant.checked_div(by)?;
        for term in &mut self.terms {
            term.coefficient = term.coefficient.checked_div(by)?;
        }
        Some(self)
    }

    /// The sum without the term at `index`.
    pub(crate) fn without(&self, index: usize) -> Self {
        let mut rest = self.clone();
        if index < rest.terms.len() {
            rest.terms.remove(index);
        }
        rest
    }

    /// The greatest common divisor of the coefficients; 0 without terms.
    pub(crate) fn content(&self) -> u64 {
        self.terms.iter().fold(0, |common, term| gcd(common, term.coefficient.unsigned_abs()))
    }

    /// Whether the first coefficient is negative.
    pub(crate) fn leads_negative(&self) -> bool {
        self.terms.first().is_some_and(|term| term.coefficient < 0)
    }

    /// The expression of this sum; `None` if it exceeds the size limits.
    pub(crate) fn finish(self) -> Option<SymExpr> {
        self.collapsed().0.pack()
    }

    pub(crate) fn pack(self) -> Option<SymExpr> {
        match self.terms.as_slice() {
            [] => return Some(SymExpr::Const(self.constant)),
            [Term { monomial, coefficient: 1 }] if self.constant == 0 => {
                if let Some(Atom::Symbol(id)) = monomial.as_atom() {
                    return Some(SymExpr::Symbol(*id));
                }
            }
            _ => {}
        }
        let atoms = || self.terms.iter().flat_map(|term| &term.monomial.0);
        let weight = atoms().map(Atom::weight).fold(1_u32, u32::saturating_add);
        let depth = atoms().map(Atom::depth).max().unwrap_or(0);
        let fits = self.terms.len() <= MAX_TERMS && weight <= MAX_WEIGHT && depth <= MAX_DEPTH;
        let table = atoms().find_map(Atom::table);
        fits.then(|| SymExpr::Linear(Arc::new(Linear { sum: self, weight, depth, table })))
    }
}

impl Atom {
    /// The expressions that the atom consists of.
    pub(crate) fn operands(&self) -> impl Iterator<Item = &SymExpr> {
        let (pair, list): (_, &[SymExpr]) = match self {
            Self::Symbol(_) => (None, &[]),
            Self::FloorDiv(quotient) => (Some([&quotient.dividend, &quotient.divisor]), &[]),
            Self::Min(operands) | Self::Max(operands) => (None, operands),
        };
        pair.into_iter().flatten().chain(list)
    }

    fn table(&self) -> Option<TableId> {
        match self {
            Self::Symbol(id) => Some(id.table),
            _ => self.operands().find_map(SymExpr::table),
        }
    }

    fn weight(&self) -> u32 {
        self.operands().map(SymExpr::weight).fold(1, u32::saturating_add)
    }

    fn depth(&self) -> u32 {
        match self {
            Self::Symbol(_) => 0,
            _ => self.operands().map(SymExpr::depth).max().unwrap_or(0).saturating_add(1),
        }
    }
}

/// The greatest common divisor; `gcd(0, n) == n`.
pub(crate) fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
