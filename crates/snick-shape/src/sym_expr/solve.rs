//! Solves equations for unknown symbols.

use std::collections::HashMap;

use super::{Atom, SymExpr, SymbolId, eval};
use crate::interval::Interval;
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

/// The reason why [`Symbols::solve_interval`] returns no interval.
///
/// ```
/// # use snick::{Interval, Origin, SolveError, Symbols};
/// let mut symbols = Symbols::default();
/// let h = symbols.named("H", Interval::new(1, 512).unwrap(), Origin::default())?;
/// let even = symbols.parse("2*H")?;
/// assert_eq!(symbols.solve_interval(&even, 7, &h), Err(SolveError::NoSolution));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SolveError {
    /// The expression never has this value.
    #[error("the expression never has this value")]
    NoSolution,
    /// The unknown is not a symbol of the table.
    #[error("the unknown must be a symbol of the table")]
    NotASymbol,
    /// The expression mentions a symbol other than the unknown.
    #[error("the expression mentions another symbol than the unknown")]
    OtherSymbol,
}

/// Implements [`Symbols::solve_interval`] by bisection: a range of values of the symbol is left out if the
/// interval of the expression over it does not contain `value`.
pub(crate) fn solve_interval(
    symbols: &Symbols,
    expr: &SymExpr,
    value: i64,
    unknown: &SymExpr,
) -> Result<Interval, SolveError> {
    let symbol = unknown.as_symbol().filter(|_| symbols.owns(unknown)).ok_or(SolveError::NotASymbol)?;
    if expr.symbols().iter().any(|&other| other != symbol) {
        return Err(SolveError::OtherSymbol);
    }
    let range = symbols.interval(unknown);
    let may_hold = |lo: i64, hi: i64| match Interval::new(lo, hi) {
        Some(within) if lo == hi => {
            let at = eval::eval(expr, &|_| Some(lo));
            at.map_or(symbols.interval_given(expr, unknown, within).contains(value), |at| at == value)
        }
        Some(within) => symbols.interval_given(expr, unknown, within).contains(value),
        None => false,
    };
    let first = outermost(range, true, &may_hold).ok_or(SolveError::NoSolution)?;
    let last = outermost(range, false, &may_hold).ok_or(SolveError::NoSolution)?;
    Interval::new(first, last).ok_or(SolveError::NoSolution)
}

/// The middle of a range, rounded down.
fn middle(lo: i64, hi: i64) -> i64 {
    (lo >> 1) + (hi >> 1) + (lo & hi & 1)
}

/// The first or the last value in a range for which `may_hold`. If the search takes too long, an end of the
/// ranges that are left.
fn outermost(range: Interval, is_first: bool, may_hold: &dyn Fn(i64, i64) -> bool) -> Option<i64> {
    /// Maximum number of ranges to look at. Monotonic expressions need about 130.
    const MAX_RANGES: usize = 10_000;
    let mut todo = vec![(range.lo(), range.hi())];
    for _ in 0..MAX_RANGES {
        let (lo, hi) = todo.pop()?;
        if !may_hold(lo, hi) {
            continue;
        }
        if lo == hi {
            return Some(lo);
        }
        let middle = middle(lo, hi);
        let halves = [(lo, middle), (middle + 1, hi)];
        todo.extend(if is_first { [halves[1], halves[0]] } else { halves });
    }
    todo.pop().map(|(lo, hi)| if is_first { lo } else { hi })
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
    use crate::Origin;

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

    #[test]
    fn solutions_of_an_equation_lie_in_an_interval() {
        let mut symbols = Symbols::default();
        let h = symbols.named("H", Interval::new(1, 512).unwrap(), Origin::default()).unwrap();
        let w = symbols.named("W", Interval::DIM, Origin::default()).unwrap();
        let solved = |text: &str, value, unknown: &SymExpr| {
            let expr = symbols.parse(text).unwrap();
            solve_interval(&symbols, &expr, value, unknown).map(|interval| interval.to_string())
        };
        assert_eq!(solved("(H+1)/4", 10, &h), Ok("39..42".into()));
        assert_eq!(solved("(H+1)/4", 0, &h), Ok("1..2".into()));
        assert_eq!(solved("(H+1)/4", 128, &h), Ok("511..512".into()));
        assert_eq!(solved("(H+1)/4", 129, &h), Err(SolveError::NoSolution));
        assert_eq!(solved("100-H/2", 90, &h), Ok("20..21".into()));
        assert_eq!(solved("min(H,64)", 64, &h), Ok("64..512".into()));
        assert_eq!(solved("max(W-4,0)", 0, &w), Ok("..4".into()));
        assert_eq!(solved("min(W,64)", 64, &w), Ok("64..".into()));
        assert_eq!(solved("H*H", 49, &h), Ok("7".into()));
        assert_eq!(solved("W*W", 49, &w), Ok("7..".into()), "the products of large numbers have no bounds");
        assert_eq!(solved("W/2+W", 9, &w), Ok("6".into()));
        assert_eq!(solved("H%32", 5, &h), Ok("5..485".into()), "not all of them are solutions");
        assert_eq!(middle(-3, -2), -3);
        assert_eq!(middle(i64::MIN, i64::MAX), -1);
        assert_eq!(solved("7", 7, &h), Ok("1..512".into()));
        assert_eq!(solved("7", 8, &h), Err(SolveError::NoSolution));
        assert_eq!(solved("H+W", 8, &h), Err(SolveError::OtherSymbol));
        assert_eq!(solved("H", 8, &symbols.parse("H+1").unwrap()), Err(SolveError::NotASymbol));
    }
}
