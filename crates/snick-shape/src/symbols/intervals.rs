//! Intervals of expressions: implied by the intervals of their symbols, or recorded in the table.

use super::Symbols;
use crate::interval::Interval;
use crate::sym_expr::bounds::{Bounds, Fact};
use crate::sym_expr::{Atom, Sum, SymExpr};

impl Symbols {
    pub(crate) fn sum_interval(&self, sum: &Sum) -> Interval {
        Bounds::new(self, None).of_sum(sum)
    }

    /// An interval that contains every value of the expression. Always sound, tight for most forms of
    /// expressions, and of bounded cost.
    ///
    /// ```
    /// # use snick_shape::{Interval, Origin, Symbols};
    /// # let mut symbols = Symbols::default();
    /// let w = symbols.named("W", Interval::new(1, 512).unwrap(), Origin::default())?;
    /// let rest = symbols.sub(&w, &symbols.floor_div(&w, &2.into()).unwrap()).unwrap();
    /// assert_eq!(symbols.interval(&rest).to_string(), "1..256");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn interval(&self, expr: &SymExpr) -> Interval {
        Bounds::new(self, None).of(expr)
    }

    /// [`Symbols::interval`] under the assumption that `given` is within `within`.
    ///
    /// ```
    /// # use snick_shape::{Interval, Origin, Symbols};
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

    /// Records that the expression is within `interval`, which is narrower than its parts imply. Also applies
    /// to shifts and multiples of the expression. Ignored for constants, contradictions, symbols of another
    /// table, and bare symbols (or shifts and multiples of one): a symbol occurs elsewhere too, where the
    /// refinement may not hold.
    ///
    /// ```
    /// # use snick_shape::{Interval, Origin, Symbols};
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
        if let Some(met) = known.meet(fact.interval) {
            self.refinements.insert(fact.direction, met);
        }
    }
}
