//! Evaluates an expression for given values of its symbols.

use super::{Atom, SymExpr, SymbolId};

/// The value of `expr`; `None` if a symbol has no value or a step overflows.
pub(crate) fn eval(expr: &SymExpr, value: &dyn Fn(SymbolId) -> Option<i64>) -> Option<i64> {
    let linear = match expr {
        SymExpr::Const(constant) => return Some(*constant),
        SymExpr::Symbol(id) => return value(*id),
        SymExpr::Linear(linear) => linear,
    };
    // Accumulates in i128: a partial sum can exceed i64 even if the total does not.
    let mut total = i128::from(linear.sum.constant);
    for term in &linear.sum.terms {
        let mut product = i128::from(term.coefficient);
        for factor in &term.monomial.0 {
            product = product.checked_mul(i128::from(atom(factor, value)?))?;
        }
        total = total.checked_add(product)?;
    }
    i64::try_from(total).ok()
}

pub(crate) fn atom(atom: &Atom, value: &dyn Fn(SymbolId) -> Option<i64>) -> Option<i64> {
    match atom {
        Atom::Symbol(id) => value(*id),
        Atom::FloorDiv(quotient) => {
            let divisor = eval(&quotient.divisor, value)?;
            let dividend = eval(&quotient.dividend, value)?;
            // Divisors are at least 1, for which Euclidean division rounds down.
            (divisor >= 1).then(|| dividend.div_euclid(divisor))
        }
        Atom::Min(operands) => fold(operands, value, i64::min),
        Atom::Max(operands) => fold(operands, value, i64::max),
    }
}

fn fold(
    operands: &[SymExpr],
    value: &dyn Fn(SymbolId) -> Option<i64>,
    op: fn(i64, i64) -> i64,
) -> Option<i64> {
    let mut values = operands.iter().map(|operand| eval(operand, value));
    let first = values.next()??;
    values.try_fold(first, |best, next| Some(op(best, next?)))
}
