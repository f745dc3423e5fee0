//! Normalises the atoms of collapsed sums again.
//!
//! Collapsing a sum creates minima and maxima without considering intervals. They are therefore normalised
//! again until nothing changes, so that an expression does not depend on how it was built.

use super::division::floor_div;
use super::min_max::{Extremum, extremum_sum};
use super::{Atom, Sum, SymExpr};
use crate::symbols::Symbols;

/// The maximum number of rounds; two suffice except for contrived sums.
const MAX_ROUNDS: u32 = 4;

/// The expression of a sum; `None` if it exceeds the size limits.
pub(crate) fn in_normal_form(symbols: &Symbols, sum: Sum) -> Option<SymExpr> {
    let (mut sum, mut is_changed) = sum.collapsed();
    for _ in 0..MAX_ROUNDS {
        if !is_changed {
            break;
        }
        let Some(rebuilt) = rebuilt(symbols, &sum) else { break };
        is_changed = rebuilt != sum;
        let (collapsed, is_shorter) = rebuilt.collapsed();
        is_changed |= is_shorter;
        sum = collapsed;
    }
    sum.pack()
}

/// The sum with each atom normalised.
fn rebuilt(symbols: &Symbols, sum: &Sum) -> Option<Sum> {
    sum.terms.iter().try_fold(Sum::constant(sum.constant), |total, term| {
        let product = term
            .monomial
            .0
            .iter()
            .try_fold(Sum::constant(1), |product, atom| product.times(&atom_sum(symbols, atom)?))?;
        total.plus_scaled(&product, term.coefficient)
    })
}

fn atom_sum(symbols: &Symbols, atom: &Atom) -> Option<Sum> {
    let extremum = |kind, operands: &[SymExpr]| {
        let operands: Vec<Sum> = operands.iter().map(|operand| operand.sum().into_owned()).collect();
        extremum_sum(symbols, kind, &operands)
    };
    match atom {
        Atom::Symbol(_) => Some(Sum::atom(atom.clone())),
        Atom::FloorDiv(quotient) => {
            let result = floor_div(symbols, &quotient.dividend.sum(), &quotient.divisor.sum())?;
            Some(result.sum().into_owned())
        }
        Atom::Min(operands) => extremum(Extremum::Min, operands),
        Atom::Max(operands) => extremum(Extremum::Max, operands),
    }
}
