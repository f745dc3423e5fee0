//! Decides whether integer inequalities contradict each other.
//!
//! Products of atoms count as atoms of their own, so that the inequalities are linear and the simplex method
//! applies.

#[cfg(test)]
mod cases;
mod dictionary;
#[cfg(test)]
pub(super) mod obligations;
mod products;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use snick_certificate::{AtomId, Combination, Monomial, Poly};

use dictionary::{Budget, CONSTANT, Dictionary, Solution, Terms};

/// How many coefficients of the dictionary may be computed for one query. A long proof distinguishes many cases, and
/// most of its queries have no answer: their search only ends at the limit. So the limit is lower once the queries
/// of a proof have computed [`LONG_PROOF`] coefficients.
const MAX_WORK: u32 = 150_000;
const MAX_WORK_IN_LONG_PROOF: u32 = 5_000;
const LONG_PROOF: u32 = 5_000_000;

/// How many premises are looked at, those closest to the last one first.
const MAX_PREMISES: usize = 256;

/// How many violated products are added before solving again.
const MAX_PRODUCTS_AT_ONCE: usize = 8;

/// How many products are multiplied: first those that may cancel monomials of the premises, then those that may
/// also cancel monomials of the products so far.
const MAX_PRODUCTS: [usize; 2] = [256, 1024];

/// The work of multiplying premises, per term of the product.
const WORK_PER_TERM: usize = 20;

/// Looks for contradictions among premises, for the questions of one proof.
#[derive(Default)]
pub(super) struct Solver {
    /// How many coefficients were computed for all queries so far.
    work: u32,
}

impl Solver {
    /// Finds a combination of premises that is a negative constant; `None` if there is none within the budget.
    pub(super) fn contradiction(&mut self, premises: &[Poly]) -> Option<Combination> {
        let combination = by_at_most_two(premises).or_else(|| {
            let limit = if self.work < LONG_PROOF { MAX_WORK } else { MAX_WORK_IN_LONG_PROOF };
            let mut budget = Budget(limit);
            let solve = |related: &Vec<usize>| Problem::new(premises, related).solve(&mut budget);
            let combination = related(premises).iter().find_map(solve);
            self.work = self.work.saturating_add(limit - budget.0);
            combination
        })?;
        combination.contradicts(premises).then_some(combination)
    }
}

/// The contradictions that need no search, which are most: a premise that is a negative constant, or one that
/// makes the sum with the last premise a negative constant.
fn by_at_most_two(premises: &[Poly]) -> Option<Combination> {
    let is_negative = |premise: &Poly| premise.as_constant().is_some_and(|constant| constant < 0);
    if let Some(index) = premises.iter().position(is_negative) {
        return Some(Combination(vec![(1, vec![index])]));
    }
    let (last, others) = premises.split_last()?;
    let contradicts_last = |premise: &Poly| {
        let opposite =
            variable_terms(premise).map(|(monomial, coefficient)| (monomial, coefficient.checked_neg()));
        opposite.eq(variable_terms(last).map(|(monomial, coefficient)| (monomial, Some(coefficient))))
            && premise.constant_term().checked_add(last.constant_term()).is_some_and(|sum| sum < 0)
    };
    let index = others.iter().rposition(contradicts_last)?;
    Some(Combination(vec![(1, vec![index]), (1, vec![others.len()])]))
}

fn variable_terms(poly: &Poly) -> impl Iterator<Item = (&Monomial, i128)> {
    poly.terms().filter(|(monomial, _)| !monomial.is_empty())
}

/// Groups of premises that share atoms, directly or through others, by index: first the group of the last
/// premise. In each group, premises come in the order of their distance from its last premise, and late
/// ones first.
fn related(premises: &[Poly]) -> Vec<Vec<usize>> {
    let mut mentions: BTreeMap<AtomId, Vec<usize>> = BTreeMap::new();
    for (index, premise) in premises.iter().enumerate() {
        for &atom in premise.terms().flat_map(|(monomial, _)| monomial) {
            mentions.entry(atom).or_default().push(index);
        }
    }
    let mut is_seen = vec![false; premises.len()];
    let mut groups = Vec::new();
    for start in (0..premises.len()).rev() {
        if std::mem::replace(&mut is_seen[start], true) {
            continue;
        }
        let mut group = vec![start];
        let mut next = 0;
        while let Some(&index) = group.get(next) {
            next += 1;
            let known = group.len();
            for &atom in premises[index].terms().flat_map(|(monomial, _)| monomial) {
                for other in mentions.remove(&atom).unwrap_or_default() {
                    if !std::mem::replace(&mut is_seen[other], true) {
                        group.push(other);
                    }
                }
            }
            group[known..].sort_unstable_by(|a, b| b.cmp(a));
        }
        group.truncate(MAX_PREMISES);
        groups.push(group);
    }
    groups
}

/// Inequalities that may contradict each other.
struct Problem<'a> {
    premises: &'a [Poly],
    group: &'a [usize],
    monomials: BTreeMap<Monomial, usize>,
    inequalities: Vec<Inequality>,
}

/// A product of premises, which is at least 0.
struct Inequality {
    factors: Vec<usize>,
    terms: Terms,
    /// Whether the dictionary contains it.
    is_used: bool,
}

impl<'a> Problem<'a> {
    fn new(premises: &'a [Poly], group: &'a [usize]) -> Self {
        let monomials = BTreeMap::from([(Monomial::new(), CONSTANT)]);
        let mut problem = Self { premises, group, monomials, inequalities: Vec::new() };
        for &index in group {
            problem.push(vec![index], &premises[index]);
        }
        problem
    }

    fn push(&mut self, factors: Vec<usize>, product: &Poly) {
        let mut terms = Terms::new();
        for (monomial, coefficient) in product.terms() {
            let next = self.monomials.len();
            let number = match self.monomials.get(monomial) {
                Some(&number) => number,
                None => *self.monomials.entry(monomial.clone()).or_insert(next),
            };
            terms.push((number, coefficient));
        }
        self.inequalities.push(Inequality { factors, terms, is_used: false });
    }

    /// Adds inequalities to a dictionary while its solution violates any.
    fn solve(mut self, budget: &mut Budget) -> Option<Combination> {
        let mut dictionary = Dictionary::new();
        let mut used = Vec::new();
        let mut point = vec![1];
        let mut stages = MAX_PRODUCTS.iter();
        loop {
            let before = used.len();
            let premises = self.group.len();
            for (index, inequality) in self.inequalities.iter_mut().enumerate() {
                if index >= premises && used.len() >= before + MAX_PRODUCTS_AT_ONCE {
                    break;
                }
                budget.spend(inequality.terms.len())?;
                let is_violated = value(&inequality.terms, &point).is_some_and(|value| value < 0);
                if is_violated && !inequality.is_used {
                    inequality.is_used = true;
                    used.push(index);
                    dictionary.add(&inequality.terms, budget)?;
                }
            }
            if used.len() == before {
                self.add_products(*stages.next()?, budget)?;
                continue;
            }
            match dictionary.solve(budget)? {
                Solution::Point(values) => point = values,
                Solution::Contradiction(multipliers) => return self.combination(&used, &multipliers),
            }
        }
    }

    /// Adds products of premises that may cancel the products of atoms in all inequalities so far.
    fn add_products(&mut self, limit: usize, budget: &mut Budget) -> Option<()> {
        let targets = self.monomials.keys().filter(|monomial| monomial.len() > 1);
        let mut candidates = products::candidates(self.premises, self.group, targets, budget)?;
        let known: BTreeSet<&Vec<usize>> = self.inequalities.iter().map(|product| &product.factors).collect();
        candidates.retain(|factors| !known.contains(factors));
        let before = self.inequalities.len();
        for factors in candidates.into_iter().take(limit) {
            let mut product = Ok(Poly::constant(1));
            for &factor in &factors {
                product = product.and_then(|product| product.times(&self.premises[factor]));
            }
            if let Ok(product) = product {
                budget.spend(product.terms().count() * WORK_PER_TERM)?;
                self.push(factors, &product);
            }
        }
        self.drop_useless(before);
        Some(())
    }

    /// Removes inequalities from an index on if one of their monomials has the same sign wherever it occurs: no
    /// sum is without it.
    fn drop_useless(&mut self, from: usize) {
        let mut signs = vec![[0_usize; 2]; self.monomials.len()];
        for &(monomial, coefficient) in self.inequalities.iter().flat_map(|inequality| &inequality.terms) {
            signs[monomial][usize::from(coefficient < 0)] += 1;
        }
        let mut is_useless = vec![false; self.inequalities.len()];
        loop {
            let mut is_done = true;
            for (inequality, is_useless) in self.inequalities.iter().zip(&mut is_useless) {
                let cancels =
                    |&(monomial, _): &(usize, i128)| monomial == CONSTANT || !signs[monomial].contains(&0);
                if *is_useless || inequality.terms.iter().all(cancels) {
                    continue;
                }
                *is_useless = true;
                is_done = false;
                for &(monomial, coefficient) in &inequality.terms {
                    signs[monomial][usize::from(coefficient < 0)] -= 1;
                }
            }
            if is_done {
                break;
            }
        }
        let mut index = 0;
        self.inequalities.retain(|_| {
            index += 1;
            index <= from || !is_useless[index - 1]
        });
    }

    fn combination(&self, used: &[usize], multipliers: &[(usize, i128)]) -> Option<Combination> {
        let term = |&(number, multiplier): &(usize, i128)| {
            Some((i64::try_from(multiplier).ok()?, self.inequalities[used[number]].factors.clone()))
        };
        let mut sum: Vec<_> = multipliers.iter().map(term).collect::<Option<_>>()?;
        sum.sort_unstable_by(|(_, a), (_, b)| a.cmp(b));
        Some(Combination(sum))
    }
}

/// The value of a sum of terms, times that of the constant; monomials without a value are 0.
fn value(terms: &Terms, point: &[i128]) -> Option<i128> {
    terms.iter().try_fold(0_i128, |sum, &(monomial, coefficient)| {
        sum.checked_add(coefficient.checked_mul(point.get(monomial).copied().unwrap_or(0))?)
    })
}
