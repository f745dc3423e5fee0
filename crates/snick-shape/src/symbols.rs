//! The table of symbols and the normalising constructors of expressions.

use std::collections::BTreeMap;
use std::fmt;

use crate::interval::Interval;
use crate::sym_expr::bounds::{Bounds, Fact};
use crate::sym_expr::min_max::{Extremum, extremum_sum};
use crate::sym_expr::print::Printed;
use crate::sym_expr::renormalize::in_normal_form;
use crate::sym_expr::{Atom, Sum, SymExpr, SymbolId, Term, division, eval, proof, substitute};

/// Where a symbol was born. Opaque to this crate: the numbering is the caller's.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Origin {
    /// The layer.
    pub node: u32,
    /// Its output port.
    pub port: u32,
    /// The axis of the port's shape, or the element of its value.
    pub axis: u32,
}

/// Why a symbol cannot be created.
///
/// ```
/// # use snick_shape::{Interval, Origin, Symbols};
/// let mut symbols = Symbols::default();
/// symbols.named("N", Interval::exact(3), Origin::default())?;
/// let error = symbols.named("N", Interval::exact(4), Origin::default()).unwrap_err();
/// assert_eq!(error.to_string(), "symbol `N` is declared as `3` and as `4`, which exclude each other");
/// # Ok::<(), snick_shape::SymbolError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SymbolError {
    /// The name is used with intervals that have no value in common.
    #[error("symbol `{name}` is declared as `{known}` and as `{wanted}`, which exclude each other")]
    Disjoint {
        /// The name of the symbol.
        name: String,
        /// Its interval so far.
        known: Interval,
        /// The interval of the new use.
        wanted: Interval,
    },
}

/// All symbols of a graph and what is known of them and of expressions over them.
///
/// The constructors return `None` when a coefficient would overflow `i64` or the expression would exceed a size limit;
/// the caller then makes a fresh unknown. Equality of their results is structural.
#[derive(Clone, Default, Debug)]
pub struct Symbols {
    symbols: Vec<Symbol>,
    names: BTreeMap<String, SymbolId>,
    refinements: BTreeMap<Vec<Term>, Interval>,
}

#[derive(Clone, Debug)]
struct Symbol {
    name: Option<String>,
    interval: Interval,
    origin: Origin,
    /// An expression that the symbol never exceeds.
    upper: Option<SymExpr>,
}

impl Symbols {
    /// A new unknown in `interval`; an exact interval is a constant and makes no symbol.
    pub fn fresh(&mut self, interval: Interval, origin: Origin) -> SymExpr {
        match interval.is_exact() {
            Some(value) => SymExpr::Const(value),
            None => SymExpr::Symbol(self.push(Symbol { name: None, interval, origin, upper: None })),
        }
    }

    /// [`Symbols::fresh`] for a value that never exceeds `upper`: [`Symbols::le`] knows.
    ///
    /// ```
    /// # use snick_shape::{Interval, Origin, Symbols};
    /// let mut symbols = Symbols::default();
    /// let all = symbols.named("N", Interval::DIM, Origin::default())?;
    /// let some = symbols.fresh_at_most(&all, Interval::DIM, Origin::default());
    /// assert!(symbols.le(&some, &all) && !symbols.le(&all, &some));
    /// let pairs = symbols.ceil_div(&some, &2.into()).unwrap();
    /// assert!(symbols.le(&pairs, &all));
    /// # Ok::<(), snick_shape::SymbolError>(())
    /// ```
    pub fn fresh_at_most(&mut self, upper: &SymExpr, interval: Interval, origin: Origin) -> SymExpr {
        match interval.is_exact() {
            Some(value) => SymExpr::Const(value),
            None => {
                let upper = Some(upper).filter(|upper| upper.as_const().is_none()).cloned();
                SymExpr::Symbol(self.push(Symbol { name: None, interval, origin, upper }))
            }
        }
    }

    /// The symbol called `name`, created on first use. Later uses narrow it to the intersection of all intervals; once
    /// one value is left, the result is that constant.
    ///
    /// # Errors
    /// [`SymbolError::Disjoint`] if the intersection is empty.
    pub fn named(&mut self, name: &str, interval: Interval, origin: Origin) -> Result<SymExpr, SymbolError> {
        let id = match self.names.get(name) {
            Some(id) => *id,
            None => {
                let id = self.push(Symbol { name: Some(name.to_owned()), interval, origin, upper: None });
                self.names.insert(name.to_owned(), id);
                id
            }
        };
        let known = self.symbol_interval(id);
        let met = known.meet(interval).ok_or_else(|| SymbolError::Disjoint {
            name: name.to_owned(),
            known,
            wanted: interval,
        })?;
        self.narrow(id, met);
        Ok(met.is_exact().map_or(SymExpr::Symbol(id), SymExpr::Const))
    }

    fn push(&mut self, symbol: Symbol) -> SymbolId {
        // 2^32 symbols would need some 200 GB first.
        let id = SymbolId(u32::try_from(self.symbols.len()).unwrap_or(u32::MAX));
        self.symbols.push(symbol);
        id
    }

    fn narrow(&mut self, id: SymbolId, interval: Interval) {
        if let Some(symbol) = self.symbols.get_mut(id.index()) {
            symbol.interval = interval;
        }
    }

    /// The symbol of this name.
    pub fn find(&self, name: &str) -> Option<SymbolId> {
        self.names.get(name).copied()
    }

    /// All symbols, in order of creation.
    pub fn ids(&self) -> impl Iterator<Item = SymbolId> + use<> {
        (0_u32..).take(self.symbols.len()).map(SymbolId)
    }

    /// The name of a symbol that has one.
    pub fn name(&self, symbol: SymbolId) -> Option<&str> {
        self.symbols.get(symbol.index())?.name.as_deref()
    }

    /// The origin of a symbol.
    pub fn origin(&self, symbol: SymbolId) -> Origin {
        self.symbols.get(symbol.index()).map(|symbol| symbol.origin).unwrap_or_default()
    }

    /// The number of symbols.
    pub fn len(&self) -> usize {
        self.symbols.len()
    }

    /// Whether there are no symbols.
    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// An expression that the symbol never exceeds, if one is known.
    pub(crate) fn upper(&self, symbol: SymbolId) -> Option<&SymExpr> {
        self.symbols.get(symbol.index())?.upper.as_ref()
    }

    pub(crate) fn symbol_interval(&self, id: SymbolId) -> Interval {
        self.symbols.get(id.index()).map_or(Interval::ANY, |symbol| symbol.interval)
    }

    pub(crate) fn has_refinements(&self) -> bool {
        !self.refinements.is_empty()
    }

    pub(crate) fn refinement(&self, direction: &[Term]) -> Option<Interval> {
        self.refinements.get(direction).copied()
    }

    pub(crate) fn sum_interval(&self, sum: &Sum) -> Interval {
        Bounds::new(self, None).of_sum(sum)
    }

    /// An interval that contains every value of the expression: always sound, tight for most forms of expressions, of
    /// bounded cost.
    pub fn interval(&self, expr: &SymExpr) -> Interval {
        Bounds::new(self, None).of(expr)
    }

    /// [`Symbols::interval`] if `given` is within `within`.
    pub fn interval_given(&self, expr: &SymExpr, given: &SymExpr, within: Interval) -> Interval {
        let fact = Fact::new(given, within);
        Bounds::new(self, fact.as_ref()).of(expr)
    }

    /// Whether `a <= b` is provable for all values that the symbols can have. `false` says nothing.
    ///
    /// ```
    /// # use snick_shape::{Interval, Origin, Symbols};
    /// let mut symbols = Symbols::default();
    /// let width = symbols.named("W", Interval::new(1, i64::MAX).unwrap(), Origin::default())?;
    /// let half = symbols.ceil_div(&width, &2.into()).unwrap();
    /// assert!(symbols.le(&half, &width));
    /// assert!(!symbols.le(&width, &half)); // not for W = 2
    /// let rows = symbols.named("H", Interval::DIM, Origin::default())?;
    /// assert!(!symbols.le(&width, &rows) && !symbols.le(&rows, &width));
    /// # Ok::<(), snick_shape::SymbolError>(())
    /// ```
    pub fn le(&self, a: &SymExpr, b: &SymExpr) -> bool {
        if let Some(difference) = b.sum().plus_scaled(&a.sum(), -1) {
            return proof::is_nonnegative(self, &difference);
        }
        let (a, b) = (self.interval(a), self.interval(b));
        a.has_upper() && b.has_lower() && a.hi() <= b.lo()
    }

    /// Whether `a == b` is provable for all values that the symbols can have. `false` says nothing.
    ///
    /// ```
    /// # use snick_shape::{Interval, Origin, Symbols};
    /// let mut symbols = Symbols::default();
    /// symbols.named("W", Interval::DIM, Origin::default())?;
    /// let a = symbols.parse("(2*W+6)/2 - 3")?;
    /// let b = symbols.parse("min(W,5) + max(W-5,0)")?;
    /// assert!(symbols.always_eq(&a, &b));
    /// assert!(!symbols.always_eq(&a, &symbols.parse("W/2*2")?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn always_eq(&self, a: &SymExpr, b: &SymExpr) -> bool {
        a == b || (self.le(a, b) && self.le(b, a))
    }

    /// Records that the expression is within `interval`, which its parts do not imply. Shifts and multiples of the
    /// expression benefit too. Ignored for constants, for contradictions, and for a bare symbol (or a shift or multiple
    /// of one): it occurs elsewhere too, where the refinement need not hold.
    pub fn refine(&mut self, expr: &SymExpr, interval: Interval) {
        let Some(fact) = Fact::new(expr, interval) else { return };
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

    /// `a + b`.
    pub fn add(&self, a: &SymExpr, b: &SymExpr) -> Option<SymExpr> {
        in_normal_form(self, a.sum().plus_scaled(&b.sum(), 1)?)
    }

    /// `a - b`.
    pub fn sub(&self, a: &SymExpr, b: &SymExpr) -> Option<SymExpr> {
        in_normal_form(self, a.sum().plus_scaled(&b.sum(), -1)?)
    }

    /// `a * b`.
    pub fn mul(&self, a: &SymExpr, b: &SymExpr) -> Option<SymExpr> {
        in_normal_form(self, a.sum().times(&b.sum())?)
    }

    /// `-a`.
    pub fn neg(&self, a: &SymExpr) -> Option<SymExpr> {
        in_normal_form(self, a.sum().scaled(-1)?)
    }

    /// `a / b` rounded down; `None` also when `b` may be 0.
    pub fn floor_div(&self, a: &SymExpr, b: &SymExpr) -> Option<SymExpr> {
        division::floor_div(self, &a.sum(), &b.sum())
    }

    /// `a / b` rounded up; `None` also when `b` may be 0.
    pub fn ceil_div(&self, a: &SymExpr, b: &SymExpr) -> Option<SymExpr> {
        if self.interval(b).hi() < 0 {
            return self.ceil_div(&self.neg(a)?, &self.neg(b)?);
        }
        let numerator = a.sum().plus_scaled(&b.sum(), 1)?.shifted(-1)?;
        division::floor_div(self, &numerator, &b.sum())
    }

    /// `a - b * floor(a / b)`, which has the sign of `b` (OpenVINO FloorMod-1); `None` also when `b` may be 0.
    pub fn modulo(&self, a: &SymExpr, b: &SymExpr) -> Option<SymExpr> {
        let quotient = self.floor_div(a, b)?;
        self.sub(a, &self.mul(b, &quotient)?)
    }

    /// `min(a, b)`.
    pub fn min(&self, a: &SymExpr, b: &SymExpr) -> Option<SymExpr> {
        self.extremum(Extremum::Min, a, b)
    }

    /// `max(a, b)`.
    pub fn max(&self, a: &SymExpr, b: &SymExpr) -> Option<SymExpr> {
        self.extremum(Extremum::Max, a, b)
    }

    fn extremum(&self, kind: Extremum, a: &SymExpr, b: &SymExpr) -> Option<SymExpr> {
        let operands = [a.sum().into_owned(), b.sum().into_owned()];
        in_normal_form(self, extremum_sum(self, kind, &operands)?)
    }

    /// The value of the expression if `value` gives those of the symbols. `None` if a symbol has no value, a result
    /// exceeds `i64`, or a divisor is below 1.
    pub fn eval(&self, expr: &SymExpr, value: &dyn Fn(SymbolId) -> Option<i64>) -> Option<i64> {
        eval::eval(expr, value)
    }

    /// The expression with each symbol replaced by its `replacement`, if there is one, and normalised again. Both the
    /// replacements and the result are expressions over this table. `None` as for the constructors, and if a divisor
    /// may now be 0.
    pub fn substitute(
        &self,
        expr: &SymExpr,
        replacement: &dyn Fn(SymbolId) -> Option<SymExpr>,
    ) -> Option<SymExpr> {
        substitute::substitute(self, expr, replacement)
    }

    /// The expression in conventional notation: `W-1`, `max(W-1,0)`, `(H+1)/2` (a floor division), `W%2`, `2*N*H`.
    /// Symbols without a name print as `s3`.
    pub fn display<'a>(&'a self, expr: &'a SymExpr) -> impl fmt::Display + 'a {
        Printed { symbols: self, expr }
    }
}
