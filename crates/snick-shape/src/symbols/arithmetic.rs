//! Normalising constructors of expressions, and queries about them.

use std::collections::HashMap;
use std::fmt;

use super::Symbols;
use crate::interval::Interval;
use crate::sym_expr::min_max::{Extremum, extremum_sum};
use crate::sym_expr::print::Printed;
use crate::sym_expr::renormalize::in_normal_form;
use crate::sym_expr::solve::SolveError;
use crate::sym_expr::{SymExpr, SymbolId, division, eval, proof, solve, substitute};

impl Symbols {
    /// Returns `None` if an expression has symbols of another table.
    fn own<const N: usize>(&self, exprs: [&SymExpr; N]) -> Option<()> {
        exprs.into_iter().all(|expr| self.owns(expr)).then_some(())
    }

    /// Whether `a <= b` is provable for all possible values of the symbols. `false` means unknown.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// let mut symbols = Symbols::default();
    /// let width = symbols.named("W", Interval::new(1, i64::MAX).unwrap(), Origin::default())?;
    /// let half = symbols.ceil_div(&width, &2.into()).unwrap();
    /// assert!(symbols.le(&half, &width));
    /// assert!(!symbols.le(&width, &half)); // not for W = 2
    /// let rows = symbols.named("H", Interval::DIM, Origin::default())?;
    /// assert!(!symbols.le(&width, &rows) && !symbols.le(&rows, &width));
    /// # Ok::<(), snick::SymbolError>(())
    /// ```
    pub fn le(&self, a: &SymExpr, b: &SymExpr) -> bool {
        if a == b {
            return true;
        }
        if self.own([a, b]).is_none() {
            return false;
        }
        if let Some(difference) = b.sum().plus_scaled(&a.sum(), -1) {
            return proof::is_nonnegative(self, &difference);
        }
        let (a, b) = (self.interval(a), self.interval(b));
        a.has_upper() && b.has_lower() && a.hi() <= b.lo()
    }

    /// Whether `a == b` is provable for all possible values of the symbols. `false` means unknown.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// let mut symbols = Symbols::default();
    /// symbols.named("W", Interval::DIM, Origin::default())?;
    /// let a = symbols.parse("(2*W+6)/2 - 3")?;
    /// let b = symbols.parse("min(W,5) + max(W-5,0)")?;
    /// assert!(symbols.always_eq(&a, &b));
    /// assert!(!symbols.always_eq(&a, &symbols.parse("W/2*2")?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn always_eq(&self, a: &SymExpr, b: &SymExpr) -> bool {
        self.le(a, b) && self.le(b, a)
    }

    /// `a + b`.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// # let mut symbols = Symbols::default();
    /// let w = symbols.named("W", Interval::new(1, 512).unwrap(), Origin::default())?;
    /// let result = symbols.add(&w, &1.into()).unwrap();
    /// assert_eq!(symbols.display(&result).to_string(), "W+1");
    /// assert_eq!(symbols.add(&i64::MAX.into(), &1.into()), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add(&self, a: &SymExpr, b: &SymExpr) -> Option<SymExpr> {
        self.own([a, b])?;
        in_normal_form(self, a.sum().plus_scaled(&b.sum(), 1)?)
    }

    /// `a - b`.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// # let mut symbols = Symbols::default();
    /// let w = symbols.named("W", Interval::new(1, 512).unwrap(), Origin::default())?;
    /// let result = symbols.sub(&w, &1.into()).unwrap();
    /// assert_eq!(symbols.display(&result).to_string(), "W-1");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sub(&self, a: &SymExpr, b: &SymExpr) -> Option<SymExpr> {
        self.own([a, b])?;
        in_normal_form(self, a.sum().plus_scaled(&b.sum(), -1)?)
    }

    /// `a * b`.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// # let mut symbols = Symbols::default();
    /// let w = symbols.named("W", Interval::new(1, 512).unwrap(), Origin::default())?;
    /// let result = symbols.mul(&w, &w).unwrap();
    /// assert_eq!(symbols.display(&result).to_string(), "W*W");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mul(&self, a: &SymExpr, b: &SymExpr) -> Option<SymExpr> {
        self.own([a, b])?;
        in_normal_form(self, a.sum().times(&b.sum())?)
    }

    /// `-a`.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// # let mut symbols = Symbols::default();
    /// let w = symbols.named("W", Interval::new(1, 512).unwrap(), Origin::default())?;
    /// let result = symbols.neg(&w).unwrap();
    /// assert_eq!(symbols.display(&result).to_string(), "-W");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn neg(&self, a: &SymExpr) -> Option<SymExpr> {
        self.own([a])?;
        in_normal_form(self, a.sum().scaled(-1)?)
    }

    /// `a / b` rounded down; also `None` if `b` can be 0.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// # let mut symbols = Symbols::default();
    /// let w = symbols.named("W", Interval::new(1, 512).unwrap(), Origin::default())?;
    /// let result = symbols.floor_div(&w, &2.into()).unwrap();
    /// assert_eq!(symbols.display(&result).to_string(), "W/2");
    /// assert_eq!(symbols.floor_div(&w, &symbols.parse("W-1")?), None); // W may be 1
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn floor_div(&self, a: &SymExpr, b: &SymExpr) -> Option<SymExpr> {
        self.own([a, b])?;
        division::floor_div(self, &a.sum(), &b.sum())
    }

    /// `a / b` rounded up; also `None` if `b` can be 0.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// # let mut symbols = Symbols::default();
    /// let w = symbols.named("W", Interval::new(1, 512).unwrap(), Origin::default())?;
    /// let result = symbols.ceil_div(&w, &2.into()).unwrap();
    /// assert_eq!(symbols.display(&result).to_string(), "(W+1)/2");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ceil_div(&self, a: &SymExpr, b: &SymExpr) -> Option<SymExpr> {
        self.own([a, b])?;
        if self.interval(b).hi() < 0 {
            return self.ceil_div(&self.neg(a)?, &self.neg(b)?);
        }
        let numerator = a.sum().plus_scaled(&b.sum(), 1)?.shifted(-1)?;
        division::floor_div(self, &numerator, &b.sum())
    }

    /// `a - b * floor(a / b)`, which has the sign of `b` (OpenVINO FloorMod-1); also `None` if `b` can be 0.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// # let mut symbols = Symbols::default();
    /// let w = symbols.named("W", Interval::new(1, 512).unwrap(), Origin::default())?;
    /// let result = symbols.modulo(&w, &2.into()).unwrap();
    /// assert_eq!(symbols.display(&result).to_string(), "W%2");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn modulo(&self, a: &SymExpr, b: &SymExpr) -> Option<SymExpr> {
        let quotient = self.floor_div(a, b)?;
        self.sub(a, &self.mul(b, &quotient)?)
    }

    /// `min(a, b)`.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// # let mut symbols = Symbols::default();
    /// let w = symbols.named("W", Interval::new(1, 512).unwrap(), Origin::default())?;
    /// let result = symbols.min(&w, &5.into()).unwrap();
    /// assert_eq!(symbols.display(&result).to_string(), "min(W,5)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn min(&self, a: &SymExpr, b: &SymExpr) -> Option<SymExpr> {
        self.extremum(Extremum::Min, a, b)
    }

    /// `max(a, b)`.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// # let mut symbols = Symbols::default();
    /// let w = symbols.named("W", Interval::new(1, 512).unwrap(), Origin::default())?;
    /// let result = symbols.max(&w, &5.into()).unwrap();
    /// assert_eq!(symbols.display(&result).to_string(), "max(W,5)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn max(&self, a: &SymExpr, b: &SymExpr) -> Option<SymExpr> {
        self.extremum(Extremum::Max, a, b)
    }

    fn extremum(&self, kind: Extremum, a: &SymExpr, b: &SymExpr) -> Option<SymExpr> {
        self.own([a, b])?;
        let operands = [a.sum().into_owned(), b.sum().into_owned()];
        in_normal_form(self, extremum_sum(self, kind, &operands)?)
    }

    /// Evaluates an expression for given values of its symbols. `None` if a symbol has no value, a result
    /// exceeds `i64`, or a divisor is below 1.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// # let mut symbols = Symbols::default();
    /// let w = symbols.named("W", Interval::new(1, 512).unwrap(), Origin::default())?;
    /// let half = symbols.parse("(W+1)/2")?;
    /// assert_eq!(symbols.eval(&half, &|_| Some(7)), Some(4));
    /// assert_eq!(symbols.eval(&half, &|_| None), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn eval(&self, expr: &SymExpr, value: &dyn Fn(SymbolId) -> Option<i64>) -> Option<i64> {
        eval::eval(expr, value)
    }

    /// Solves equations `expression == value`: adds the values that they determine, and removes the equations
    /// that then hold. An equation remains if it contains a product of unknown symbols, or an unknown symbol
    /// in a division, a minimum or a maximum.
    ///
    /// ```
    /// # use std::collections::HashMap;
    /// # use snick::{Interval, Origin, Symbols};
    /// // A mask of length 10 covers the past `P` and the present `T`, which is 7.
    /// let mut symbols = Symbols::default();
    /// let total = symbols.parse_or_declare("P+T", Interval::DIM, Origin::default())?;
    /// let (p, t) = (symbols.find("P").unwrap(), symbols.find("T").unwrap());
    /// let mut values = HashMap::from([(t, 7)]);
    /// assert_eq!(symbols.solve(&mut vec![(total.clone(), 10)], &mut values), Ok(()));
    /// assert_eq!(values[&p], 3);
    /// assert_eq!(symbols.solve(&mut vec![(total.clone(), 11)], &mut values), Err((total, 11)));
    /// # Ok::<(), snick::ExprError>(())
    /// ```
    ///
    /// # Errors
    /// An equation that cannot hold for any values of the unknown symbols.
    pub fn solve(
        &self,
        equations: &mut Vec<(SymExpr, i64)>,
        values: &mut HashMap<SymbolId, i64>,
    ) -> Result<(), (SymExpr, i64)> {
        solve::solve_all(self, equations, values)
    }

    /// The smallest interval that contains all values of `unknown` for which the expression has this value.
    /// Not every value in the interval needs to be a solution: `H%32 == 5` holds for 5, 37, and so on. For an
    /// expression that the search cannot narrow down, the interval may be larger.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// let mut symbols = Symbols::default();
    /// let h = symbols.named("H", Interval::new(1, 512).unwrap(), Origin::default())?;
    /// let rows = symbols.parse("(H+1)/4")?;
    /// assert_eq!(symbols.solve_interval(&rows, 10, h)?.to_string(), "39..42");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`SolveError`] if there is no solution, if `unknown` is not a symbol, or if the expression mentions
    /// another symbol.
    pub fn solve_interval(
        &self,
        expr: &SymExpr,
        value: i64,
        unknown: impl Into<SymExpr>,
    ) -> Result<Interval, SolveError> {
        solve::solve_interval(self, expr, value, &unknown.into())
    }

    /// Replaces each symbol that has a `replacement`, and normalises the result. The replacements and the
    /// result belong to this table; an expression of another table needs replacements for all of its symbols.
    /// `None` in the same cases as for the constructors, and if a divisor can become 0.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// # let mut symbols = Symbols::default();
    /// let w = symbols.named("W", Interval::new(1, 512).unwrap(), Origin::default())?;
    /// let half = symbols.parse("(W+1)/2")?;
    /// let twice = symbols.mul(&w, &2.into()).unwrap();
    /// assert_eq!(symbols.substitute(&half, &|_| Some(twice.clone())), Some(w));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn substitute(
        &self,
        expr: &SymExpr,
        replacement: &dyn Fn(SymbolId) -> Option<SymExpr>,
    ) -> Option<SymExpr> {
        substitute::substitute(self, expr, replacement)
    }

    /// The expression in conventional notation: `W-1`, `max(W-1,0)`, `(H+1)/2` (a floor division), `W%2`,
    /// `2*N*H`. Prints a product of sums if this is shorter: `21*((H+31)/32)*((W+31)/32)`. Unnamed symbols
    /// are printed as labels such as `s3`, and names that are not words in backticks. [`Symbols::parse`]
    /// parses the output.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// # let mut symbols = Symbols::default();
    /// let w = symbols.named("W", Interval::new(1, 512).unwrap(), Origin::default())?;
    /// let area = symbols.parse("W*(W/2) + 7*(W/2)")?;
    /// assert_eq!(symbols.display(&area).to_string(), "(W+7)*(W/2)");
    /// assert_eq!(symbols.parse(&symbols.display(&area).to_string())?, area);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn display<'a>(&'a self, expr: &'a SymExpr) -> impl fmt::Display + 'a {
        Printed { symbols: self, expr }
    }
}
