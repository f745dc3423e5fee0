//! Polynomials over integer atoms with exact, checked arithmetic.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The number of an integer that polynomials mention, such as a size or an index.
pub type AtomId = u32;

/// A product of atoms in ascending order; empty for the constant term.
pub type Monomial = Vec<AtomId>;

/// Largest number of terms of a polynomial, and largest number of factors of a monomial.
const MAX_TERMS: usize = 64;
const MAX_DEGREE: usize = 8;

/// A sum of integer coefficients times products of atoms. No coefficient is 0, so equal polynomials are equal
/// values.
///
/// Arithmetic returns `None` on overflow, and if the result would have too many terms.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Poly {
    terms: BTreeMap<Monomial, i128>,
}

impl Poly {
    /// The constant 0.
    pub const ZERO: Self = Self { terms: BTreeMap::new() };

    /// A constant.
    pub fn constant(value: i128) -> Self {
        let mut poly = Self::default();
        if value != 0 {
            poly.terms.insert(Monomial::new(), value);
        }
        poly
    }

    /// A single atom.
    pub fn atom(atom: AtomId) -> Self {
        Self { terms: BTreeMap::from([(vec![atom], 1)]) }
    }

    /// The terms in ascending order of their monomials; the constant term is the first.
    pub fn terms(&self) -> impl Iterator<Item = (&Monomial, i128)> {
        self.terms.iter().map(|(monomial, &coefficient)| (monomial, coefficient))
    }

    /// The constant term.
    pub fn constant_term(&self) -> i128 {
        self.terms.get(&Monomial::new()).copied().unwrap_or(0)
    }

    /// The value, if no atom occurs.
    pub fn as_constant(&self) -> Option<i128> {
        let is_constant = self.terms.keys().all(Vec::is_empty);
        is_constant.then(|| self.constant_term())
    }

    /// `self + factor * other`
    pub fn plus(&self, factor: i128, other: &Self) -> Option<Self> {
        let mut sum = self.clone();
        for (monomial, coefficient) in other.terms() {
            sum.add(monomial.clone(), factor.checked_mul(coefficient)?)?;
        }
        (sum.terms.len() <= MAX_TERMS).then_some(sum)
    }

    /// `self + constant`
    pub fn plus_constant(&self, constant: i128) -> Option<Self> {
        self.plus(1, &Self::constant(constant))
    }

    /// `factor * self`
    pub fn times_constant(&self, factor: i128) -> Option<Self> {
        Self::default().plus(factor, self)
    }

    /// `self * other`
    pub fn times(&self, other: &Self) -> Option<Self> {
        let mut product = Self::default();
        for (left, a) in self.terms() {
            for (right, b) in other.terms() {
                let mut monomial = [left.as_slice(), right].concat();
                monomial.sort_unstable();
                if monomial.len() > MAX_DEGREE {
                    return None;
                }
                product.add(monomial, a.checked_mul(b)?)?;
            }
        }
        (product.terms.len() <= MAX_TERMS).then_some(product)
    }

    /// `-1 - self`, which is at least 0 where `self` is negative.
    pub fn negated(&self) -> Option<Self> {
        Self::constant(-1).plus(-1, self)
    }

    /// Divides a polynomial that is at least 0 by the greatest common divisor of its coefficients, the constant
    /// term rounded down: the result is at least 0 for the same integers.
    pub fn tightened(mut self) -> Self {
        let divisor = self.terms().filter(|(m, _)| !m.is_empty()).fold(0, |divisor, (_, c)| gcd(divisor, c));
        if divisor > 1 {
            for (monomial, coefficient) in &mut self.terms {
                debug_assert!(monomial.is_empty() || *coefficient % divisor == 0, "a common divisor");
                *coefficient = coefficient.div_euclid(divisor);
            }
            self.terms.retain(|_, coefficient| *coefficient != 0);
        }
        self
    }

    /// Polynomials `(quotient, rest)` with `self = quotient * divisor + rest`, where the rest has only terms that
    /// the divisor does not divide. Only a divisor with a single term divides any; the rest of a division of a
    /// coefficient is at least 0.
    pub fn divided(&self, divisor: &Self) -> (Self, Self) {
        let mut terms = divisor.terms();
        let (Some((factors, by)), None) = (terms.next(), terms.next()) else {
            return (Self::default(), self.clone());
        };
        let (mut quotient, mut rest) = (Self::default(), Self::default());
        for (monomial, coefficient) in self.terms() {
            let left = without(monomial, factors);
            match (left, coefficient.checked_div_euclid(by), coefficient.checked_rem_euclid(by)) {
                (Some(left), Some(whole), Some(part)) => {
                    let rests = [(whole, left, &mut quotient), (part, monomial.clone(), &mut rest)];
                    for (coefficient, monomial, sum) in
                        rests.into_iter().filter(|(coefficient, ..)| *coefficient != 0)
                    {
                        sum.terms.insert(monomial, coefficient);
                    }
                }
                _ => drop(rest.terms.insert(monomial.clone(), coefficient)),
            }
        }
        (quotient, rest)
    }

    fn add(&mut self, monomial: Monomial, coefficient: i128) -> Option<()> {
        match self.terms.entry(monomial) {
            Entry::Vacant(_) if coefficient == 0 => {}
            Entry::Vacant(entry) => drop(entry.insert(coefficient)),
            Entry::Occupied(mut entry) => match entry.get().checked_add(coefficient)? {
                0 => drop(entry.remove()),
                sum => drop(entry.insert(sum)),
            },
        }
        Some(())
    }
}

/// A monomial without some of its factors, if it has all of them.
fn without(monomial: &Monomial, factors: &Monomial) -> Option<Monomial> {
    let mut left = monomial.clone();
    for factor in factors {
        left.remove(left.iter().position(|atom| atom == factor)?);
    }
    Some(left)
}

/// The greatest common divisor of two numbers, at least 0; 1 if it would overflow.
///
/// ```
/// assert_eq!(snick_certificate::gcd(-4, 6), 2);
/// ```
pub fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        // Division of 128 bits is slow.
        (a, b) = match (u64::try_from(a), u64::try_from(b)) {
            (Ok(a), Ok(b)) => (b.into(), (a % b).into()),
            _ => (b, a % b),
        };
    }
    i128::try_from(a).unwrap_or(1)
}
