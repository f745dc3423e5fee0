//! The length of a slice as an expression of the axis and its bounds.

use super::AxisSlice;
use super::bound::SliceBound;
use super::enumerated::enumerated;
use super::hull::{capped, length_interval};
use crate::interval::Interval;
use crate::sym_expr::SymExpr;
use crate::symbols::{Origin, Symbols};

/// The length of `start:stop:step` on an axis of `dim` elements, as a dimension.
///
/// The result is one of the following, where the first that is possible is chosen:
///
/// - a constant
/// - `dim` itself, if and only if the slice provably keeps the size for every value
/// - an expression that is exact for every value of its symbols; [`length_interval`] is recorded for it in
///   `symbols`
/// - a new symbol with this interval and this `origin`
///
/// `symbols.le(&length, dim)` holds in all cases.
///
/// `step` is `None` if it is unknown. A step of 0 is treated as unknown, because a run with it fails. Follows
/// the rule of [`AxisSlice::resolve`]. If a bound is 2^31-1, an unbounded axis is assumed to end there (see
/// `capped`).
///
/// ```
/// use snick::{Interval, Origin, Symbols};
/// use snick_shape::{SliceBound, length};
///
/// let mut symbols = Symbols::default();
/// let w = symbols.named("W", Interval::new(1, i64::MAX).unwrap(), Origin::default())?;
/// let at = |value: i64| SliceBound::At(value.into());
/// let mut slice = |start, stop, step| {
///     let len = length(&mut symbols, &w, &start, &stop, Some(step), Origin::default());
///     symbols.display(&len).to_string()
/// };
/// assert_eq!(slice(SliceBound::Masked, SliceBound::Masked, 2), "(W+1)/2");
/// assert_eq!(slice(at(1), at(-1), 1), "max(W-2,0)");
/// assert_eq!(slice(at(-2), SliceBound::Masked, 1), "min(W,2)");
/// assert_eq!(slice(SliceBound::Masked, SliceBound::Masked, -1), "W");
/// # Ok::<(), snick::SymbolError>(())
/// ```
pub fn length(
    symbols: &mut Symbols,
    dim: &SymExpr,
    start: &SliceBound,
    stop: &SliceBound,
    step: Option<i64>,
    origin: Origin,
) -> SymExpr {
    let sizes = symbols.interval(dim).meet(Interval::DIM).unwrap_or(Interval::DIM);
    let Some(step) = step.filter(|step| *step != 0) else {
        let upper = Interval::new(0, sizes.hi()).unwrap_or(Interval::DIM);
        return unknown_length(symbols, dim, upper, origin);
    };
    if let Some(constant) = constant_length(dim, start, stop, step) {
        return SymExpr::Const(constant);
    }
    // Nothing can be selected from an empty axis, so the bounds matter only if the axis is not empty.
    let Some(some) = sizes.meet(Interval::new(1, i64::MAX).unwrap_or(Interval::DIM)) else {
        return SymExpr::Const(0);
    };
    let bounds = [start, stop].map(|bound| match bound {
        SliceBound::At(expr) => Some(symbols.interval(expr)),
        SliceBound::Masked | SliceBound::Unknown => None,
    });
    let reach = capped(some, bounds, step);
    let axis = SymbolicAxis { symbols, dim, some: reach, may_be_empty: sizes.contains(0) };
    let hull = axis.hull(start, stop, step);
    let hull = match enumerated(axis.symbols, dim, [start, stop], step) {
        Some(tried) => tried.meet(hull).unwrap_or(hull),
        None => hull,
    };
    if let Some(constant) = hull.is_exact() {
        return SymExpr::Const(constant);
    }
    let exact = axis.expression(start, stop, step);
    let Some(exact) = exact else { return unknown_length(symbols, dim, hull, origin) };
    let interval = symbols.interval(&exact);
    if let Some(constant) = interval.meet(hull).unwrap_or(hull).is_exact() {
        return SymExpr::Const(constant);
    }
    if hull.covers(&interval) {
        return exact;
    }
    if reach != some {
        // The assumed end of the axis is only valid for this slice. It is therefore part of the expression,
        // and `dim` is not refined.
        let most = SymExpr::Const(hull.hi());
        let capped = symbols.min(&exact, &most);
        return capped.unwrap_or_else(|| unknown_length(symbols, dim, hull, origin));
    }
    symbols.refine(&exact, hull);
    exact
}

/// A new symbol for a length, which never exceeds the size of the axis.
fn unknown_length(symbols: &mut Symbols, dim: &SymExpr, interval: Interval, origin: Origin) -> SymExpr {
    let is_size = symbols.interval(dim).lo() >= 0;
    let most = if is_size { Some(dim.clone()) } else { symbols.max(dim, &SymExpr::Const(0)) };
    match most {
        Some(most) => symbols.fresh_at_most(&most, interval, origin),
        None => symbols.fresh(interval, origin),
    }
}

/// The length if axis and bounds are constants.
fn constant_length(dim: &SymExpr, start: &SliceBound, stop: &SliceBound, step: i64) -> Option<i64> {
    let value = |bound: &SliceBound| match bound {
        SliceBound::Masked => Some(None),
        SliceBound::At(expr) => expr.as_const().map(Some),
        SliceBound::Unknown => None,
    };
    let slice = AxisSlice::resolve(dim.as_const()?, value(start)?, value(stop)?, step);
    slice.ok().map(|slice| slice.len)
}

/// The position of a bound on a non-empty axis.
enum Place {
    /// At or beyond the end of the axis.
    AfterAll,
    /// Before the beginning.
    BeforeAll,
    /// Counted from the beginning; the expression is at least 0.
    FromStart(SymExpr),
    /// Counted from the end; the expression is below 0.
    FromEnd(SymExpr),
}

/// An axis and what is known about its size.
struct SymbolicAxis<'a> {
    symbols: &'a Symbols,
    dim: &'a SymExpr,
    /// The interval of the size if the axis is not empty.
    some: Interval,
    may_be_empty: bool,
}

impl SymbolicAxis<'_> {
    /// The interval of a bound, given that the axis is not empty.
    fn bound_interval(&self, expr: &SymExpr) -> Interval {
        self.symbols.interval_given(expr, self.dim, self.some)
    }

    fn hull(&self, start: &SliceBound, stop: &SliceBound, step: i64) -> Interval {
        let interval = |bound: &SliceBound| match bound {
            SliceBound::Masked => None,
            SliceBound::At(expr) => Some(self.bound_interval(expr)),
            SliceBound::Unknown => Some(Interval::ANY),
        };
        let hull = length_interval(self.some, interval(start), interval(stop), step);
        if self.may_be_empty { hull.hull(Interval::exact(0)) } else { hull }
    }

    /// The position of a bound; `None` if its sign is unknown.
    fn place(&self, bound: &SliceBound, masked: Place) -> Option<Place> {
        let expr = match bound {
            SliceBound::Masked => return Some(masked),
            SliceBound::Unknown => return None,
            SliceBound::At(expr) => expr,
        };
        let interval = self.bound_interval(expr);
        let unlimited = |value: i64| !self.some.has_upper() && value.unsigned_abs() >= 1 << 62;
        let (lo, hi) = (interval.lo(), interval.hi());
        if lo >= 0 {
            let beyond = unlimited(lo) || (self.some.has_upper() && lo >= self.some.hi());
            Some(if beyond { Place::AfterAll } else { Place::FromStart(expr.clone()) })
        } else if hi < 0 {
            let below = hi.checked_neg().is_none_or(|hi| hi > self.some.hi());
            let beyond = unlimited(hi) || (self.some.has_upper() && below);
            Some(if beyond { Place::BeforeAll } else { Place::FromEnd(expr.clone()) })
        } else {
            None
        }
    }

    fn expression(&self, start: &SliceBound, stop: &SliceBound, step: i64) -> Option<SymExpr> {
        let (first, last) = (Place::BeforeAll, Place::AfterAll);
        let span = if step > 0 {
            self.forward_length(self.place(start, first)?, self.place(stop, last)?)?
        } else {
            self.backward(self.place(start, last)?, self.place(stop, first)?)?
        };
        // The formulas assume a non-empty axis. The minimum with `dim` makes the length of an empty axis 0.
        let span = if self.may_be_empty { self.symbols.min(&self.positive(&span)?, self.dim)? } else { span };
        self.symbols.ceil_div(&span, &SymExpr::Const(step.checked_abs()?))
    }

    /// The distance from start to stop for a positive step, where both bounds are clamped to `0..=d`.
    fn forward_length(&self, start: Place, stop: Place) -> Option<SymExpr> {
        use Place::{AfterAll, BeforeAll, FromEnd, FromStart};
        let Self { symbols, dim: d, .. } = self;
        match (start, stop) {
            (AfterAll, _) | (_, BeforeAll) => Some(SymExpr::Const(0)),
            (BeforeAll, AfterAll) => Some((*d).clone()),
            (BeforeAll, FromStart(e)) => symbols.min(d, &e),
            (BeforeAll, FromEnd(e)) => self.positive(&symbols.add(d, &e)?),
            (FromStart(s), AfterAll) => self.positive(&symbols.sub(d, &s)?),
            (FromStart(s), FromStart(e)) => {
                let to_end = self.positive(&symbols.sub(d, &s)?)?;
                symbols.min(&to_end, &self.positive(&symbols.sub(&e, &s)?)?)
            }
            (FromStart(s), FromEnd(e)) => self.positive(&symbols.sub(&symbols.add(d, &e)?, &s)?),
            (FromEnd(s), AfterAll) => symbols.min(d, &symbols.neg(&s)?),
            (FromEnd(s), FromEnd(e)) => {
                let between = self.positive(&symbols.sub(&e, &s)?)?;
                symbols.min(&between, &self.positive(&symbols.add(d, &e)?)?)
            }
            (FromEnd(s), FromStart(e)) => {
                // min(e,d) - max(d+s,0)
                let between = symbols.sub(&symbols.sub(&e, &s)?, d)?;
                self.least(&[e, symbols.neg(&s)?, (*d).clone(), self.positive(&between)?])
            }
        }
    }

    /// The distance from start down to stop for a negative step and a non-empty axis. The start is clamped to
    /// `0..=d-1`, the stop to `-1..=d`.
    fn backward(&self, start: Place, stop: Place) -> Option<SymExpr> {
        use Place::{AfterAll, BeforeAll, FromEnd, FromStart};
        let Self { symbols, dim: d, .. } = self;
        let one = SymExpr::Const(1);
        let below = |e: &SymExpr| symbols.sub(&SymExpr::Const(-1), e);
        match (start, stop) {
            (_, AfterAll) | (BeforeAll, FromStart(_)) => Some(SymExpr::Const(0)),
            (AfterAll, BeforeAll) => Some((*d).clone()),
            (AfterAll, FromStart(e)) => self.positive(&symbols.add(d, &below(&e)?)?),
            (AfterAll, FromEnd(e)) => symbols.min(d, &below(&e)?),
            (FromStart(s), BeforeAll) => symbols.min(d, &symbols.add(&s, &one)?),
            (FromStart(s), FromStart(e)) => {
                let between = self.positive(&symbols.sub(&s, &e)?)?;
                let from_end = symbols.add(d, &below(&e)?)?;
                symbols.min(&between, &self.positive(&from_end)?)
            }
            (FromStart(s), FromEnd(e)) => {
                // min(s,d-1) - max(d+e,-1)
                let between = symbols.sub(&symbols.sub(&s, &e)?, d)?;
                let upto = symbols.add(&s, &one)?;
                self.least(&[self.positive(&between)?, upto, below(&e)?, (*d).clone()])
            }
            (FromEnd(s), BeforeAll) => symbols.max(&one, &symbols.add(&symbols.add(d, &s)?, &one)?),
            (FromEnd(s), FromStart(e)) => self.positive(&symbols.sub(&symbols.add(d, &s)?, &e)?),
            (FromEnd(s), FromEnd(e)) => {
                // max(d+s,0) - max(d+e,-1)
                let between = symbols.sub(&s, &e)?;
                let order = self.bound_interval(&between);
                let before_end = self.positive(&symbols.neg(&symbols.add(d, &e)?)?)?;
                let upto = symbols.add(&symbols.add(d, &s)?, &one)?;
                if order.hi() <= 0 {
                    // At most the first element, because both bounds are before the axis or at its first
                    // element.
                    symbols.min(&before_end, &one)
                } else if order.lo() > 0 {
                    symbols.min(&between, &symbols.max(&upto, &one)?)
                } else {
                    let part = symbols.max(&between, &before_end)?;
                    symbols.min(&self.positive(&part)?, &symbols.max(&upto, &one)?)
                }
            }
            (BeforeAll, BeforeAll) => Some(one),
            (BeforeAll, FromEnd(e)) => {
                let part = self.positive(&symbols.neg(&symbols.add(d, &e)?)?)?;
                symbols.min(&part, &one)
            }
        }
    }

    /// `max(expr, 0)`.
    fn positive(&self, expr: &SymExpr) -> Option<SymExpr> {
        self.symbols.max(expr, &SymExpr::Const(0))
    }

    fn least(&self, operands: &[SymExpr]) -> Option<SymExpr> {
        let (first, rest) = operands.split_first()?;
        rest.iter().try_fold(first.clone(), |least, next| self.symbols.min(&least, next))
    }
}
