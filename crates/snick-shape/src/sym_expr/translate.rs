//! Translates an expression to the operations of another language.

use super::{Atom, SymExpr, SymbolId};

/// The target operations of a translation.
///
/// ```
/// use snick::{ExprFolder, ExprOp, Interval, Origin, SymbolId, Symbols};
///
/// /// Lines of a small stack language.
/// struct Stack(Vec<String>);
///
/// impl ExprFolder for Stack {
///     type Output = ();
///     type Error = std::convert::Infallible;
///
///     fn constant(&mut self, value: i64) -> Result<(), Self::Error> {
///         Ok(self.0.push(format!("push {value}")))
///     }
///
///     fn symbol(&mut self, symbol: SymbolId) -> Result<(), Self::Error> {
///         Ok(self.0.push(format!("load {}", symbol.index())))
///     }
///
///     fn combine(&mut self, how: ExprOp, (): (), (): ()) -> Result<(), Self::Error> {
///         Ok(self.0.push(format!("{how:?}").to_lowercase()))
///     }
/// }
///
/// let mut symbols = Symbols::default();
/// let half = symbols.parse_or_declare("(W+1)/2", Interval::DIM, Origin::default())?;
/// let mut stack = Stack(Vec::new());
/// half.translate(&mut stack)?;
/// assert_eq!(stack.0, ["load 0", "push 1", "add", "push 2", "floordivide"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ExprFolder {
    /// An integer in the target.
    type Output;
    /// The error of the target.
    type Error;

    /// A constant.
    ///
    /// # Errors
    /// If the target cannot express the constant.
    fn constant(&mut self, value: i64) -> Result<Self::Output, Self::Error>;

    /// The value of a symbol.
    ///
    /// # Errors
    /// If the target does not know the symbol.
    fn symbol(&mut self, symbol: SymbolId) -> Result<Self::Output, Self::Error>;

    /// A binary operation.
    ///
    /// # Errors
    /// If the target cannot express the operation.
    fn combine(&mut self, how: ExprOp, a: Self::Output, b: Self::Output)
    -> Result<Self::Output, Self::Error>;
}

/// A binary operation on integers.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum ExprOp {
    /// `a + b`
    Add,
    /// `a * b`
    Multiply,
    /// `a / b` rounded down; `b` is at least 1.
    FloorDivide,
    /// `min(a, b)`
    Min,
    /// `max(a, b)`
    Max,
}

impl SymExpr {
    /// Folds the expression with the operations of `language`. The size limit of expressions bounds the
    /// recursion.
    ///
    /// # Errors
    /// The first error of the target.
    pub fn translate<L: ExprFolder>(&self, language: &mut L) -> Result<L::Output, L::Error> {
        let linear = match self {
            Self::Const(constant) => return language.constant(*constant),
            Self::Symbol(id) => return language.symbol(*id),
            Self::Linear(linear) => linear,
        };
        let mut total = None;
        for term in &linear.sum.terms {
            let mut product = match term.coefficient {
                1 => None,
                coefficient => Some(language.constant(coefficient)?),
            };
            for atom in &term.monomial.0 {
                let factor = translate_atom(atom, language)?;
                product = Some(joined(language, ExprOp::Multiply, product, factor)?);
            }
            if let Some(product) = product {
                total = Some(joined(language, ExprOp::Add, total, product)?);
            }
        }
        match total {
            Some(total) if linear.sum.constant == 0 => Ok(total),
            total => {
                let constant = language.constant(linear.sum.constant)?;
                joined(language, ExprOp::Add, total, constant)
            }
        }
    }
}

fn translate_atom<L: ExprFolder>(atom: &Atom, language: &mut L) -> Result<L::Output, L::Error> {
    let (operands, how) = match atom {
        Atom::Symbol(id) => return language.symbol(*id),
        Atom::FloorDiv(quotient) => {
            let dividend = quotient.dividend.translate(language)?;
            let divisor = quotient.divisor.translate(language)?;
            return language.combine(ExprOp::FloorDivide, dividend, divisor);
        }
        Atom::Min(operands) => (operands, ExprOp::Min),
        Atom::Max(operands) => (operands, ExprOp::Max),
    };
    let mut extreme = None;
    for operand in operands.iter() {
        let next = operand.translate(language)?;
        extreme = Some(joined(language, how, extreme, next)?);
    }
    match extreme {
        Some(extreme) => Ok(extreme),
        // Minima and maxima always have operands.
        None => language.constant(0),
    }
}

fn joined<L: ExprFolder>(
    language: &mut L,
    how: ExprOp,
    first: Option<L::Output>,
    next: L::Output,
) -> Result<L::Output, L::Error> {
    match first {
        Some(first) => language.combine(how, first, next),
        None => Ok(next),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interval, Origin, Symbols};

    /// Plain arithmetic, which must agree with [`Symbols::eval`].
    struct Plain(Vec<i64>);

    impl ExprFolder for Plain {
        type Output = i64;
        type Error = SymbolId;

        fn constant(&mut self, value: i64) -> Result<i64, SymbolId> {
            Ok(value)
        }

        fn symbol(&mut self, symbol: SymbolId) -> Result<i64, SymbolId> {
            self.0.get(symbol.index()).copied().ok_or(symbol)
        }

        fn combine(&mut self, how: ExprOp, a: i64, b: i64) -> Result<i64, SymbolId> {
            Ok(match how {
                ExprOp::Add => a + b,
                ExprOp::Multiply => a * b,
                ExprOp::FloorDivide => a.div_euclid(b),
                ExprOp::Min => a.min(b),
                ExprOp::Max => a.max(b),
            })
        }
    }

    #[test]
    fn folding_equals_evaluation() {
        let mut symbols = Symbols::default();
        let mut fresh = || symbols.fresh("0..".parse::<Interval>().unwrap(), Origin::default());
        let (w, h) = (fresh(), fresh());
        let twice = symbols.mul(&w, &2.into()).unwrap();
        let area = symbols.mul(&twice, &h).unwrap();
        let shifted = symbols.sub(&area, &7.into()).unwrap();
        let half = symbols.floor_div(&shifted, &3.into()).unwrap();
        let capped = symbols.min(&half, &h).unwrap();
        let all = symbols.max(&symbols.sub(&capped, &w).unwrap(), &(-2).into()).unwrap();
        for values in [[0, 0], [1, 5], [4, 9], [30, 2]] {
            let want = symbols.eval(&all, &|id| values.get(id.index()).copied());
            assert_eq!(all.translate(&mut Plain(values.to_vec())).ok(), want);
        }
        assert_eq!(all.translate(&mut Plain(vec![])), Err(w.as_symbol().unwrap()));
    }
}
