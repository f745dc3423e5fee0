//! Intervals of expressions. They are implied by the intervals of the symbols, or recorded in the table.

use std::sync::Arc;

use super::Symbols;
use crate::interval::Interval;
use crate::sym_expr::bounds::{Bounds, Fact};
use crate::sym_expr::{Atom, Sum, SymExpr};

impl Symbols {
    pub(crate) fn sum_interval(&self, sum: &Sum) -> Interval {
        Bounds::new(self, None).of_sum(sum)
    }

    /// An interval that contains every value of the expression. It is always sound and in most cases tight.
    /// The cost is bounded.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// # let mut symbols = Symbols::default();
    /// let w = symbols.named("W", Interval::new(1, 512).unwrap(), Origin::default())?;
    /// let rest = symbols.sub(&w, &symbols.floor_div(&w, &2.into()).unwrap()).unwrap();
    /// assert_eq!(symbols.interval(&rest).to_string(), "1..256");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn interval(&self, expr: &SymExpr) -> Interval {
        Bounds::new(self, None).of(expr)
    }

    /// The interval of `expr` under the assumption that the value of `given` is in `within`.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// # let mut symbols = Symbols::default();
    /// let w = symbols.named("W", Interval::new(1, 512).unwrap(), Origin::default())?;
    /// let odd = symbols.parse("2*W+1")?;
    /// let small = Interval::new(1, 4).unwrap();
    /// assert_eq!(symbols.interval_given(&odd, &w, small).to_string(), "3..9");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn interval_given(&self, expr: &SymExpr, given: &SymExpr, within: Interval) -> Interval {
        let fact = Fact::new(given, within);
        Bounds::new(self, fact.as_ref()).of(expr)
    }

    /// Records that the value of the expression is in `interval`, which is narrower than its symbols imply.
    /// This also applies to multiples of the expression and to sums with constants.
    ///
    /// Ignored for constants, contradictions and symbols of another table. Also ignored for bare symbols,
    /// their multiples and their sums with constants: a symbol also occurs in other places, where the
    /// refinement may not hold.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// # let mut symbols = Symbols::default();
    /// let [a, b] = ["A", "B"].map(|name| symbols.named(name, Interval::DIM, Origin::default()).unwrap());
    /// let gap = symbols.sub(&b, &a).unwrap();
    /// symbols.refine(&gap, Interval::DIM); // A <= B
    /// assert_eq!(symbols.min(&a, &b), Some(a));
    /// ```
    pub fn refine(&mut self, expr: &SymExpr, interval: Interval) {
        let Some(fact) = Fact::new(expr, interval).filter(|_| self.owns(expr)) else { return };
        if let [term] = fact.direction.as_slice()
            && matches!(term.monomial.as_atom(), Some(Atom::Symbol(_)))
        {
            return;
        }
        if self.interval(expr).meet(interval).is_none() {
            return;
        }
        let known = self.refinements.get(&fact.direction).copied().unwrap_or(Interval::ANY);
        // An unchanged table stays shared with its clones.
        if let Some(met) = known.meet(fact.interval).filter(|&met| met != known) {
            Arc::make_mut(&mut self.refinements).insert(fact.direction, met);
        }
    }
}
