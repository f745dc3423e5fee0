//! A guide that decides questions by Fourier-Motzkin elimination. Monomials are independent variables.

use std::collections::BTreeMap;

use snick_certificate::{Answer, Combination, Guide, Monomial, Poly, gcd};

/// Largest number of inequalities after an elimination.
const MAX_ROWS: usize = 150;

/// Largest number of questions of a proof.
const MAX_QUESTIONS: usize = 3_000;

/// A guide that records its answers.
#[derive(Clone, Debug, Default)]
pub struct Elimination {
    pub answers: Vec<Answer>,
}

impl Guide for Elimination {
    fn answer(&mut self, premises: &[Poly], polynomial: &Poly, must_decide: bool) -> Answer {
        let with = |poly: Poly| contradiction(&[premises, &[poly]].concat());
        let answer = if self.answers.len() > MAX_QUESTIONS {
            Answer::Unknown
        } else if let Some(combination) = polynomial.negated().ok().and_then(with) {
            Answer::Holds(combination)
        } else if !must_decide {
            Answer::Unknown
        } else if let Some(combination) = with(polynomial.clone()) {
            Answer::Fails(combination)
        } else {
            Answer::Split
        };
        self.answers.push(answer.clone());
        answer
    }
}

/// A consequence of premises: a sum of terms that is at least 0, and the multipliers of the premises.
#[derive(Clone, Debug)]
struct Row {
    terms: BTreeMap<Monomial, i128>,
    multipliers: BTreeMap<usize, i128>,
}

fn contradiction(premises: &[Poly]) -> Option<Combination> {
    let row = |(number, premise): (usize, &Poly)| Row {
        terms: premise.terms().map(|(monomial, coefficient)| (monomial.clone(), coefficient)).collect(),
        multipliers: BTreeMap::from([(number, 1)]),
    };
    let mut rows: Vec<Row> = premises.iter().enumerate().map(row).collect();
    loop {
        let is_constant = |row: &Row| row.terms.keys().all(Vec::is_empty);
        if let Some(row) = rows.iter().find(|row| is_constant(row) && row.terms.values().any(|c| *c < 0)) {
            let term =
                |(number, factor): (&usize, &i128)| Some((i64::try_from(*factor).ok()?, vec![*number]));
            return Some(Combination(row.multipliers.iter().map(term).collect::<Option<_>>()?));
        }
        rows.retain(|row| !is_constant(row));
        let mut counts: BTreeMap<&Monomial, [usize; 2]> = BTreeMap::new();
        for (monomial, coefficient) in rows.iter().flat_map(|row| &row.terms).filter(|(m, _)| !m.is_empty()) {
            counts.entry(monomial).or_default()[usize::from(*coefficient > 0)] += 1;
        }
        let monomial = counts.into_iter().min_by_key(|(_, [low, high])| low * high)?.0.clone();
        let (with, mut others): (Vec<Row>, Vec<Row>) =
            rows.into_iter().partition(|row| row.terms.contains_key(&monomial));
        let (above, below): (Vec<Row>, Vec<Row>) = with.into_iter().partition(|row| row.terms[&monomial] > 0);
        for a in &above {
            for b in &below {
                others.push(sum(a, -b.terms[&monomial], b, a.terms[&monomial])?);
            }
        }
        if others.len() > MAX_ROWS {
            return None;
        }
        rows = others;
    }
}

/// `a * left + b * right`, divided by the greatest common divisor.
fn sum(a: &Row, left: i128, b: &Row, right: i128) -> Option<Row> {
    let mut sum = Row { terms: BTreeMap::new(), multipliers: BTreeMap::new() };
    for (row, factor) in [(a, left), (b, right)] {
        for (monomial, coefficient) in &row.terms {
            let old = sum.terms.entry(monomial.clone()).or_default();
            *old = old.checked_add(coefficient.checked_mul(factor)?)?;
        }
        for (number, multiplier) in &row.multipliers {
            let old = sum.multipliers.entry(*number).or_default();
            *old = old.checked_add(multiplier.checked_mul(factor)?)?;
        }
    }
    sum.terms.retain(|_, coefficient| *coefficient != 0);
    let divisor =
        sum.terms.values().chain(sum.multipliers.values()).fold(0, |divisor, c| gcd(divisor, *c)).max(1);
    sum.terms.values_mut().chain(sum.multipliers.values_mut()).for_each(|c| *c /= divisor);
    Some(sum)
}
