//! Polynomials over integer atoms with exact, checked arithmetic.

use std::collections::BTreeMap;
use std::fmt;

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
/// Arithmetic fails if a coefficient overflows, or if the result has more than 64 terms or 8 factors in a term.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Poly {
    terms: BTreeMap<Monomial, i128>,
}

/// The result of arithmetic exceeds the limits of polynomials.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct TooLarge;

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an expression is too large")
    }
}

impl std::error::Error for TooLarge {}

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
    pub fn plus(&self, factor: i128, other: &Self) -> Result<Self, TooLarge> {
        let mut sum = self.clone();
        for (monomial, coefficient) in other.terms() {
            sum.add(monomial.clone(), factor.checked_mul(coefficient).ok_or(TooLarge)?)?;
        }
        sum.within_limits()
    }

    /// `self + constant`
    pub fn plus_constant(&self, constant: i128) -> Result<Self, TooLarge> {
        self.plus(1, &Self::constant(constant))
    }

    /// `factor * self`
    pub fn times_constant(&self, factor: i128) -> Result<Self, TooLarge> {
        Self::ZERO.plus(factor, self)
    }

    /// `self * other`
    pub fn times(&self, other: &Self) -> Result<Self, TooLarge> {
        let mut product = Self::ZERO;
        for (left, a) in self.terms() {
            for (right, b) in other.terms() {
                let mut monomial = [left.as_slice(), right].concat();
                monomial.sort_unstable();
                product.add(monomial, a.checked_mul(b).ok_or(TooLarge)?)?;
            }
        }
        product.within_limits()
    }

    /// `-1 - self`, which is at least 0 where `self` is negative.
    pub fn negated(&self) -> Result<Self, TooLarge> {
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
        let (mut quotient, mut rest) = (Self::ZERO, self.clone());
        let mut terms = divisor.terms();
        if let (Some((factors, by)), None) = (terms.next(), terms.next()) {
            for (monomial, coefficient) in self.terms() {
                if let Some(left) = without(monomial, factors)
                    && let Some(part) = coefficient.checked_rem_euclid(by)
                {
                    quotient.terms.insert(left, coefficient.div_euclid(by));
                    rest.terms.insert(monomial.clone(), part);
                }
            }
        }
        for poly in [&mut quotient, &mut rest] {
            poly.terms.retain(|_, coefficient| *coefficient != 0);
        }
        (quotient, rest)
    }

    fn add(&mut self, monomial: Monomial, coefficient: i128) -> Result<(), TooLarge> {
        let sum = self.terms.entry(monomial).or_default();
        *sum = sum.checked_add(coefficient).ok_or(TooLarge)?;
        Ok(())
    }

    fn within_limits(mut self) -> Result<Self, TooLarge> {
        if self.terms.values().any(|coefficient| *coefficient == 0) {
            self.terms.retain(|_, coefficient| *coefficient != 0);
        }
        let fits =
            self.terms.len() <= MAX_TERMS && self.terms.keys().all(|factors| factors.len() <= MAX_DEGREE);
        if fits { Ok(self) } else { Err(TooLarge) }
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
