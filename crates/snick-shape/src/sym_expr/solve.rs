//! Solves equations for unknown symbols.

use std::collections::HashMap;

use super::{Atom, SymExpr, SymbolId, eval};
use crate::symbols::Symbols;

/// The result of solving an equation for its unknown symbols.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Solution {
    /// The equation holds.
    Holds,
    /// The equation holds if and only if this symbol has this value.
    Value(SymbolId, i64),
    /// The equation cannot hold.
    Impossible,
    /// Several symbols are unknown, or an unknown symbol is in a product, a quotient, a minimum or a maximum.
    Unknown,
}

/// Adds the values that the equations determine, and removes the equations that then hold. Returns an
/// equation as the error if it cannot hold.
pub(crate) fn solve_all(
    symbols: &Symbols,
    equations: &mut Vec<(SymExpr, i64)>,
    values: &mut HashMap<SymbolId, i64>,
) -> Result<(), (SymExpr, i64)> {
    let mut is_settled = false;
    while !std::mem::replace(&mut is_settled, true) {
        for (expr, value) in std::mem::take(equations) {
            match solve(symbols, &expr, value, &|symbol| values.get(&symbol).copied()) {
                Solution::Holds => {}
                Solution::Value(symbol, value) => {
                    values.insert(symbol, value);
                    is_settled = false;
                }
                Solution::Impossible => return Err((expr, value)),
                Solution::Unknown => equations.push((expr, value)),
            }
        }
    }
    Ok(())
}

/// Solves `expr == value`, where `known` returns the values of known symbols.
fn solve(symbols: &Symbols, expr: &SymExpr, value: i64, known: &dyn Fn(SymbolId) -> Option<i64>) -> Solution {
    let mut unknown = expr.symbols().into_iter().filter(|&symbol| known(symbol).is_none());
    let (Some(symbol), None) = (unknown.next(), unknown.next()) else {
        return match eval::eval(expr, known) {
            Some(found) if found == value => Solution::Holds,
            Some(_) => Solution::Impossible,
            None => Solution::Unknown,
        };
    };
    affine(expr, symbol, known).map_or(Solution::Unknown, |(factor, constant)| {
        let rest = i128::from(value) - constant;
        let solution = (rest % factor == 0).then_some(rest / factor).and_then(|n| i64::try_from(n).ok());
        match solution.filter(|&n| symbols.symbol_interval(symbol).contains(n)) {
            Some(solution) => Solution::Value(symbol, solution),
            None => Solution::Impossible,
        }
    })
}

/// Returns `(factor, constant)` if the expression is `factor * symbol + constant` and `factor` is not 0.
fn affine(expr: &SymExpr, symbol: SymbolId, known: &dyn Fn(SymbolId) -> Option<i64>) -> Option<(i128, i128)> {
    let sum = expr.sum();
    let (mut factor, mut constant) = (0_i128, i128::from(sum.constant));
    for term in &sum.terms {
        let mut product = i128::from(term.coefficient);
        let mut is_multiple = false;
        for atom in &term.monomial.0 {
            match atom {
                Atom::Symbol(id) if *id == symbol && !is_multiple => is_multiple = true,
                _ => product = product.checked_mul(i128::from(eval::atom(atom, known)?))?,
            }
        }
        let total = if is_multiple { &mut factor } else { &mut constant };
        *total = total.checked_add(product)?;
    }
    // Larger numbers could overflow in a difference.
    let fits = |number: i128| number.unsigned_abs() <= 1 << 126;
    (factor != 0 && fits(factor) && fits(constant)).then_some((factor, constant))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interval, Origin};

    #[test]
    fn equations() {
        let mut symbols = Symbols::default();
        let bound = Interval::new(1, 8).unwrap();
        let a = symbols.named("A", bound, Origin::default()).unwrap().as_symbol().unwrap();
        let b = symbols.named("B", Interval::DIM, Origin::default()).unwrap().as_symbol().unwrap();
        let is_known = |symbol| (symbol == b).then_some(3);
        let solved = |text: &str, value| solve(&symbols, &symbols.parse(text).unwrap(), value, &is_known);
        assert_eq!(solved("2*A+B", 9), Solution::Value(a, 3));
        assert_eq!(solved("B-A", 1), Solution::Value(a, 2));
        assert_eq!(solved("A*B", 6), Solution::Value(a, 2));
        assert_eq!(solved("A*B", 7), Solution::Impossible, "no integer");
        assert_eq!(solved("A+B", 12), Solution::Impossible, "9 is not in 1..8");
        assert_eq!(solved("B+1", 4), Solution::Holds);
        assert_eq!(solved("B+1", 5), Solution::Impossible);
        assert_eq!(solved("A/2", 2), Solution::Unknown);
        assert_eq!(solved("A*A", 4), Solution::Unknown);
        assert_eq!(solved("A*(B-3)+A/2", 4), Solution::Unknown);
        let nothing = |_| None;
        assert_eq!(solve(&symbols, &symbols.parse("A+B").unwrap(), 4, &nothing), Solution::Unknown);
        let huge = |_| Some(i64::MAX);
        assert_eq!(solve(&symbols, &symbols.parse("B*B*B").unwrap(), 4, &huge), Solution::Unknown);
    }

    #[test]
    fn values_that_equations_determine_solve_others() {
        let mut symbols = Symbols::default();
        let [a, b, c] = ["A", "B", "C"].map(|name| {
            let named = symbols.named(name, Interval::DIM, Origin::default());
            named.unwrap().as_symbol().unwrap()
        });
        let [sum, twice, product] = ["A+B", "2*B", "A*C*C"].map(|text| symbols.parse(text).unwrap());
        let mut equations = vec![(sum.clone(), 10), (product.clone(), 7), (twice, 6)];
        let mut values = HashMap::new();
        assert_eq!(solve_all(&symbols, &mut equations, &mut values), Ok(()));
        assert_eq!(values, HashMap::from([(a, 7), (b, 3)]));
        assert_eq!(equations, [(product, 7)]);
        assert_eq!(solve_all(&symbols, &mut vec![(sum.clone(), 11)], &mut values), Err((sum, 11)));
        assert!(!values.contains_key(&c));
    }
}
