//! Products of premises that may cancel products of atoms.

use std::collections::BTreeSet;

use snick_certificate::{AtomId, Monomial, Poly};

use super::dictionary::Budget;

/// How many products are looked at.
const MAX_CANDIDATES: usize = 4096;

/// Products of premises, by index, that have one of the `targets` among their monomials: those with few terms
/// and small coefficients first. `group` are the premises to choose from, the most relevant ones first.
pub(super) fn candidates<'a>(
    premises: &[Poly],
    group: &[usize],
    targets: impl Iterator<Item = &'a Monomial>,
    budget: &mut Budget,
) -> Option<Vec<Vec<usize>>> {
    let sizes = group.iter().map(|&index| size(&premises[index])).collect();
    let mut search = Search { premises, group, sizes, ranked: BTreeSet::new(), factors: Vec::new() };
    for target in targets {
        search.factor(target, 0, 0, budget)?;
    }
    let product = |(_, places): (u32, Vec<usize>)| places.iter().map(|&place| group[place]).collect();
    Some(search.ranked.into_iter().map(product).collect())
}

struct Search<'a> {
    premises: &'a [Poly],
    group: &'a [usize],
    sizes: Vec<u32>,
    /// Products by the size of their factors, as places in the group.
    ranked: BTreeSet<(u32, Vec<usize>)>,
    factors: Vec<usize>,
}

impl Search<'_> {
    /// Continues with all factors, from a place in the group, that have a monomial which divides the target.
    fn factor(&mut self, target: &[AtomId], from: usize, size: u32, budget: &mut Budget) -> Option<()> {
        if target.is_empty() {
            if self.factors.len() > 1 {
                self.ranked.insert((size, self.factors.clone()));
            }
            return Some(());
        }
        for place in from..self.group.len() {
            let premise = &self.premises[self.group[place]];
            budget.spend(premise.terms().count())?;
            for (monomial, _) in premise.terms().filter(|(monomial, _)| !monomial.is_empty()) {
                let Some(rest) = quotient(target, monomial) else { continue };
                if self.ranked.len() == MAX_CANDIDATES {
                    return Some(());
                }
                self.factors.push(place);
                self.factor(&rest, place, size + self.sizes[place], budget)?;
                self.factors.pop();
            }
        }
        Some(())
    }
}

/// The number of terms; a large coefficient counts as several.
fn size(poly: &Poly) -> u32 {
    let bits = |coefficient: i128| u128::BITS - coefficient.unsigned_abs().leading_zeros();
    poly.terms().map(|(_, coefficient)| 1 + bits(coefficient) / 4).sum()
}

/// The product of the atoms of a monomial that another one lacks; `None` if that one has further atoms.
fn quotient(monomial: &[AtomId], divisor: &[AtomId]) -> Option<Monomial> {
    let mut rest = monomial.to_vec();
    for atom in divisor {
        rest.remove(rest.iter().position(|other| other == atom)?);
    }
    Some(rest)
}
