//! Factorises sums: `A*B+A+B+1` is `(A+1)*(B+1)`.
//!
//! Factors are used to print sums and to prove that sums are never negative. The normal form itself stays
//! distributed. The partial derivatives of a sum with respect to single atoms are tried as factors: each
//! derivative contains every factor that does not contain this atom. This finds powers, and products whose
//! factors share no atoms.

use super::division::long_division;
use super::normal_form::gcd;
use super::{Atom, Monomial, Sum, Term};

/// The maximum number of atoms to try.
const MAX_ATOMS: usize = 8;

/// `coefficient * factors[0] * factors[1] * … + constant`.
pub(super) struct Product {
    pub coefficient: i64,
    pub factors: Vec<Sum>,
    pub constant: i64,
}

impl Product {
    /// Factorises a sum of two or more terms; `None` if no factor was found.
    pub(super) fn of(sum: &Sum) -> Option<Self> {
        if sum.terms.len() < 2 {
            return None;
        }
        let mut product = Self { coefficient: 1, factors: Vec::new(), constant: 0 };
        match split(sum) {
            Some((left, right, constant)) => {
                product.constant = constant;
                product.push(left)?;
                product.push(right)?;
            }
            None => {
                // The constant is not a multiple of the common factors, so it is kept outside of the product.
                let terms = Sum { terms: sum.terms.clone(), constant: 0 };
                let is_apart = common_atoms(&terms).is_some() || shared_content(sum) == 1;
                let factor = if is_apart { terms } else { sum.clone() };
                if common_atoms(&factor).is_none() && shared_content(&factor) == 1 {
                    return None;
                }
                product.constant = if is_apart { sum.constant } else { 0 };
                product.push(factor)?;
            }
        }
        product.factors.sort_unstable();
        (product.multiplied_out().as_ref() == Some(sum)).then_some(product)
    }

    /// Adds a factor, factorised further if possible.
    fn push(&mut self, factor: Sum) -> Option<()> {
        let content = i64::try_from(shared_content(&factor)).ok()?;
        let content = if factor.leads_negative() { content.checked_neg()? } else { content };
        self.coefficient = self.coefficient.checked_mul(content)?;
        let mut rest = factor.divided_exactly(content)?;
        if let Some(common) = common_atoms(&rest) {
            for atom in common.0 {
                rest = without_atom(&rest, &atom);
                self.factors.push(Sum::atom(atom));
            }
        }
        match split(&rest) {
            Some((left, right, 0)) => {
                self.push(left)?;
                self.push(right)
            }
            _ if rest == Sum::constant(1) => Some(()),
            _ => {
                self.factors.push(rest);
                Some(())
            }
        }
    }

    fn multiplied_out(&self) -> Option<Sum> {
        let start = Sum::constant(self.coefficient);
        let product = self.factors.iter().try_fold(start, |product, factor| product.times(factor))?;
        product.shifted(self.constant)
    }
}

/// Two factors and a constant that make up the sum: `left * right + constant`.
fn split(sum: &Sum) -> Option<(Sum, Sum, i64)> {
    if sum.terms.len() < 2 {
        return None;
    }
    let mut tried: Vec<&Atom> = Vec::new();
    for atom in sum.terms.iter().flat_map(|term| &term.monomial.0) {
        if tried.contains(&atom) {
            continue;
        }
        if tried.len() == MAX_ATOMS {
            break;
        }
        tried.push(atom);
        let Some(left) = primitive(derivative(sum, atom)?) else { continue };
        let Some((right, rest)) = long_division(sum, &left) else { continue };
        if rest.terms.is_empty() && !right.terms.is_empty() {
            return Some((left, right, rest.constant));
        }
    }
    None
}

/// The formal derivative with respect to an atom.
fn derivative(sum: &Sum, by: &Atom) -> Option<Sum> {
    let mut derivative = Sum::default();
    for term in &sum.terms {
        let power = term.monomial.0.iter().filter(|atom| *atom == by).count();
        if power > 0 {
            let factor = term.coefficient.checked_mul(i64::try_from(power).ok()?)?;
            derivative = derivative.plus_scaled(&divided(term, by), factor)?;
        }
    }
    Some(derivative)
}

/// The term divided by `atom`: its monomial with one occurrence of `atom` removed, as a sum.
fn divided(term: &Term, atom: &Atom) -> Sum {
    let mut rest = term.monomial.0.clone();
    if let Some(index) = rest.iter().position(|candidate| candidate == atom) {
        rest.remove(index);
    }
    if rest.is_empty() { Sum::constant(1) } else { Sum::monomial(Monomial(rest), 1) }
}

/// The sum divided by its common factors; `None` if at most one term is left.
fn primitive(sum: Sum) -> Option<Sum> {
    let content = i64::try_from(shared_content(&sum)).ok().filter(|content| *content > 0)?;
    let mut rest = sum.divided_exactly(content)?;
    if let Some(common) = common_atoms(&rest) {
        rest = common.0.iter().fold(rest, |rest, atom| without_atom(&rest, atom));
    }
    (rest.terms.len() + usize::from(rest.constant != 0) > 1).then_some(rest)
}

/// The greatest common divisor of the coefficients and the constant.
fn shared_content(sum: &Sum) -> u64 {
    gcd(sum.content(), sum.constant.unsigned_abs())
}

/// The atoms common to all terms; `None` if there are none, or if the sum has a constant.
fn common_atoms(sum: &Sum) -> Option<Monomial> {
    if sum.constant != 0 {
        return None;
    }
    let (first, rest) = sum.terms.split_first()?;
    let mut common = first.monomial.0.clone();
    for term in rest {
        let mut left = term.monomial.0.clone();
        common.retain(|atom| match left.iter().position(|candidate| candidate == atom) {
            Some(index) => {
                left.remove(index);
                true
            }
            None => false,
        });
    }
    (!common.is_empty()).then_some(Monomial(common))
}

/// Divides the sum by an atom common to all terms.
fn without_atom(sum: &Sum, atom: &Atom) -> Sum {
    let mut rest = Sum::default();
    for term in &sum.terms {
        let divided = divided(term, atom);
        match divided.terms.into_iter().next() {
            Some(Term { monomial, .. }) => {
                rest.terms.push(Term { monomial, coefficient: term.coefficient });
            }
            None => rest.constant = term.coefficient,
        }
    }
    rest.terms.sort_unstable();
    rest
}
