//! Statements about integers with cases, split into premises that have to contradict each other.

use std::ops::{Add, Mul, Sub};

use snick_certificate::Poly;

use super::tests::contradiction;

/// An integer with cases.
#[derive(Clone)]
pub(crate) enum Term {
    Poly(Poly),
    Add(Box<Term>, Box<Term>),
    Mul(Box<Term>, Box<Term>),
    If(Box<Condition>, Box<Term>, Box<Term>),
    /// Rounded down; the divisor is positive and has no cases.
    Div(Box<Term>, Poly),
}

/// A statement about integers.
#[derive(Clone)]
pub(crate) enum Condition {
    /// At least 0.
    NonNegative(Term),
    And(Box<Condition>, Box<Condition>),
    Not(Box<Condition>),
}

/// `hypotheses` imply `goal`.
pub(crate) struct Obligation {
    pub(crate) title: String,
    pub(crate) names: Vec<String>,
    pub(crate) hypotheses: Vec<Condition>,
    pub(crate) goal: Condition,
}

impl From<i128> for Term {
    fn from(value: i128) -> Self {
        Self::Poly(Poly::constant(value))
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, |$left:ident, $right:ident| $result:expr) => {
        impl<T: Into<Term>> $trait<T> for Term {
            type Output = Term;

            fn $method(self, right: T) -> Term {
                let ($left, $right): (Term, Term) = (self, right.into());
                $result
            }
        }

        impl<T: Into<Term>> $trait<T> for &Term {
            type Output = Term;

            fn $method(self, right: T) -> Term {
                $trait::$method(self.clone(), right)
            }
        }
    };
}

operator!(Add, add, |left, right| match (&left, &right) {
    (Term::Poly(left), Term::Poly(right)) => Term::Poly(left.plus(1, right).unwrap()),
    _ => Term::Add(Box::new(left), Box::new(right)),
});
operator!(Sub, sub, |left, right| left + right * -1);
operator!(Mul, mul, |left, right| match (&left, &right) {
    (Term::Poly(left), Term::Poly(right)) => Term::Poly(left.times(right).unwrap()),
    _ => Term::Mul(Box::new(left), Box::new(right)),
});

impl From<&Term> for Term {
    fn from(term: &Term) -> Self {
        term.clone()
    }
}

impl Term {
    pub(crate) fn at_least(&self, bound: impl Into<Term>) -> Condition {
        Condition::NonNegative(self - bound.into())
    }

    pub(crate) fn at_most(&self, bound: impl Into<Term>) -> Condition {
        Condition::NonNegative(bound.into() - self)
    }

    pub(crate) fn below(&self, bound: impl Into<Term>) -> Condition {
        self.at_most(bound.into() - 1)
    }

    pub(crate) fn equals(&self, other: impl Into<Term>) -> Condition {
        let other = other.into();
        self.at_least(&other).and(self.at_most(other))
    }

    pub(crate) fn if_else(condition: Condition, then: impl Into<Term>, otherwise: impl Into<Term>) -> Term {
        Term::If(Box::new(condition), Box::new(then.into()), Box::new(otherwise.into()))
    }

    pub(crate) fn max(&self, other: impl Into<Term>) -> Term {
        let other = other.into();
        Self::if_else(self.at_least(&other), self, other)
    }

    pub(crate) fn min(&self, other: impl Into<Term>) -> Term {
        let other = other.into();
        Self::if_else(self.at_most(&other), self, other)
    }

    /// The quotient, rounded down.
    pub(crate) fn div(&self, divisor: impl Into<Term>) -> Term {
        match divisor.into() {
            Term::Poly(divisor) => Term::Div(Box::new(self.clone()), divisor),
            _ => panic!("a divisor without cases"),
        }
    }
}

impl Condition {
    pub(crate) fn and(self, other: Condition) -> Condition {
        Condition::And(Box::new(self), Box::new(other))
    }

    pub(crate) fn not(self) -> Condition {
        Condition::Not(Box::new(self))
    }

    pub(crate) fn implies(self, other: Condition) -> Condition {
        self.and(other.not()).not()
    }

    pub(crate) fn iff(self, other: Condition) -> Condition {
        self.clone().implies(other.clone()).and(other.implies(self))
    }
}

impl Obligation {
    /// The premises of each case of the hypotheses and the opposite of the goal, without the cases that are
    /// dismissed on the way.
    pub(crate) fn leaves(&self) -> Vec<Vec<Poly>> {
        let atoms = u32::try_from(self.names.len()).unwrap();
        let mut cases = Cases { atoms, quotients: Vec::new() };
        let mut leaves = vec![Vec::new()];
        for hypothesis in &self.hypotheses {
            leaves = leaves.into_iter().flat_map(|leaf| cases.assume(hypothesis, true, leaf)).collect();
        }
        leaves.into_iter().flat_map(|leaf| cases.assume(&self.goal, false, leaf)).collect()
    }
}

/// Splits terms into cases. Quotients become atoms.
struct Cases {
    atoms: u32,
    quotients: Vec<(Poly, Poly, u32)>,
}

impl Cases {
    /// The values of a term and the premises under which they hold.
    fn values(&mut self, term: &Term, premises: Vec<Poly>) -> Vec<(Poly, Vec<Poly>)> {
        match term {
            Term::Poly(poly) => vec![(poly.clone(), premises)],
            Term::Add(a, b) => self.pairs(a, b, premises, |a, b| a.plus(1, b).unwrap()),
            Term::Mul(a, b) => self.pairs(a, b, premises, |a, b| a.times(b).unwrap()),
            Term::If(condition, then, otherwise) => {
                let mut values = Vec::new();
                for (holds, branch) in [(true, then), (false, otherwise)] {
                    for premises in self.assume(condition, holds, premises.clone()) {
                        if contradiction(&premises).is_none() {
                            values.extend(self.values(branch, premises));
                        }
                    }
                }
                values
            }
            Term::Div(dividend, divisor) => {
                let values = self.values(dividend, premises);
                values
                    .into_iter()
                    .map(|(dividend, premises)| self.quotient(dividend, divisor, premises))
                    .collect()
            }
        }
    }

    fn pairs(
        &mut self,
        a: &Term,
        b: &Term,
        premises: Vec<Poly>,
        operation: impl Fn(&Poly, &Poly) -> Poly,
    ) -> Vec<(Poly, Vec<Poly>)> {
        let mut pairs = Vec::new();
        for (a, premises) in self.values(a, premises) {
            pairs.extend(self.values(b, premises).into_iter().map(|(b, p)| (operation(&a, &b), p)));
        }
        pairs
    }

    fn quotient(&mut self, dividend: Poly, divisor: &Poly, mut premises: Vec<Poly>) -> (Poly, Vec<Poly>) {
        let known = self.quotients.iter().find(|(a, b, _)| *a == dividend && b == divisor);
        let atom = known.map_or(self.atoms, |&(.., atom)| atom);
        let quotient = Poly::atom(atom);
        let remainder = dividend.plus(-1, &divisor.times(&quotient).unwrap()).unwrap();
        if atom == self.atoms {
            self.atoms += 1;
            self.quotients.push((dividend, divisor.clone(), atom));
        }
        add(&mut premises, remainder.clone());
        add(&mut premises, divisor.plus_constant(-1).unwrap().plus(-1, &remainder).unwrap());
        (quotient, premises)
    }

    /// The premises in each case in which a condition holds, or does not.
    fn assume(&mut self, condition: &Condition, holds: bool, premises: Vec<Poly>) -> Vec<Vec<Poly>> {
        match condition {
            Condition::NonNegative(term) => {
                let premise = |(poly, mut premises): (Poly, Vec<Poly>)| {
                    let poly = if holds { poly } else { poly.negated().unwrap() };
                    add(&mut premises, poly.tightened());
                    premises
                };
                self.values(term, premises).into_iter().map(premise).collect()
            }
            Condition::Not(condition) => self.assume(condition, !holds, premises),
            Condition::And(a, b) if holds => {
                let cases = self.assume(a, true, premises);
                cases.into_iter().flat_map(|premises| self.assume(b, true, premises)).collect()
            }
            Condition::And(a, b) => {
                let mut cases = self.assume(a, false, premises.clone());
                for premises in self.assume(a, true, premises) {
                    cases.extend(self.assume(b, false, premises));
                }
                cases
            }
        }
    }
}

/// Adds a premise unless it is known.
fn add(premises: &mut Vec<Poly>, premise: Poly) {
    if !premises.contains(&premise) {
        premises.push(premise);
    }
}
