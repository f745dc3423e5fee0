//! The arithmetic of dims: expressions, broadcasting and unification.

use snick_tensor::SmallVector;
use std::borrow::Cow;
use std::convert::Infallible;

use snick_shape::{Birth, IntOp, Integers, Interval, Shape, SymExpr};

use super::Infer;
use super::given_up::TOO_LARGE;
use crate::OpError;
use crate::error::CANNOT_BROADCAST;

/// Arithmetic on expressions. If the expression for a result would be too large, the result is a new symbol.
impl Integers for Infer<'_> {
    type Int = SymExpr;
    type Error = Infallible;

    fn compute(&mut self, op: IntOp, a: &SymExpr, b: &SymExpr) -> Result<SymExpr, Infallible> {
        let (symbols, x, y) = (&self.symbols, self.interval(a), self.interval(b));
        let (expr, interval) = match op {
            IntOp::Add => (symbols.add(a, b), x.add(y)),
            IntOp::Sub => (symbols.sub(a, b), x.sub(y)),
            IntOp::Mul => (symbols.mul(a, b), x.mul(y)),
            IntOp::Min => (symbols.min(a, b), x.min(y)),
            IntOp::Max => (symbols.max(a, b), x.max(y)),
            IntOp::FloorDiv => (symbols.floor_div(a, b), x.floor_div(y)),
            IntOp::CeilDiv => (symbols.ceil_div(a, b), x.neg().floor_div(y).neg()),
        };
        // Normalising a sum or a product can lose the bounds known for its terms, so restore them.
        if matches!(op, IntOp::Add | IntOp::Sub | IntOp::Mul)
            && let Some(expr) = &expr
            && a.as_const().is_none()
            && b.as_const().is_none()
            && !interval.covers(&self.interval(expr))
        {
            self.symbols.refine(expr, interval);
        }
        Ok(expr.unwrap_or_else(|| self.born(interval, || Birth::GivenUp(TOO_LARGE.into()))))
    }
}

impl Infer<'_> {
    /// `a + b`
    pub fn add(&mut self, a: &SymExpr, b: &SymExpr) -> SymExpr {
        let Ok(expr) = self.compute(IntOp::Add, a, b);
        expr
    }

    /// `a - b`
    pub fn sub(&mut self, a: &SymExpr, b: &SymExpr) -> SymExpr {
        let Ok(expr) = self.compute(IntOp::Sub, a, b);
        expr
    }

    /// `a * b`
    pub fn mul(&mut self, a: &SymExpr, b: &SymExpr) -> SymExpr {
        let Ok(expr) = self.compute(IntOp::Mul, a, b);
        expr
    }

    /// `floor(a / b)`
    pub fn floor_div(&mut self, a: &SymExpr, b: &SymExpr) -> SymExpr {
        let Ok(expr) = self.compute(IntOp::FloorDiv, a, b);
        expr
    }

    /// `a / b` for a divisor of at least 1. Assumes that no successful run leaves a remainder. `None` if the
    /// quotient cannot be an integer.
    pub fn exact_div(&mut self, a: &SymExpr, b: &SymExpr) -> Option<SymExpr> {
        self.demand_multiple(a, b);
        let (from, by) = (self.interval(a), self.interval(b));
        if let (Some(a), Some(b)) = (a.as_const(), b.as_const())
            && a.checked_rem(b) != Some(0)
        {
            return None;
        }
        let parts = Interval::new(from.ceil_div(by).lo(), from.floor_div(by).hi())?;
        let quotient = self.floor_div(a, b);
        match parts.is_exact() {
            Some(part) => return Some(SymExpr::from(part)),
            None if quotient.as_symbol().is_some() => {}
            None => self.symbols.refine(&quotient, parts),
        }
        Some(quotient)
    }

    /// `ceil(a / b)`
    pub fn ceil_div(&mut self, a: &SymExpr, b: &SymExpr) -> SymExpr {
        let Ok(expr) = self.compute(IntOp::CeilDiv, a, b);
        expr
    }

    /// `min(a, b)`
    pub fn min(&mut self, a: &SymExpr, b: &SymExpr) -> SymExpr {
        let Ok(expr) = self.compute(IntOp::Min, a, b);
        expr
    }

    /// `max(a, b)`
    pub fn max(&mut self, a: &SymExpr, b: &SymExpr) -> SymExpr {
        let Ok(expr) = self.compute(IntOp::Max, a, b);
        expr
    }

    /// The product of dims.
    pub fn product<'d>(&mut self, dims: impl IntoIterator<Item = &'d SymExpr>) -> SymExpr {
        dims.into_iter().fold(SymExpr::from(1), |product, dim| self.mul(&product, dim))
    }

    /// Converts an expression to a dim. No run with a negative size succeeds, so an expression that may be
    /// negative becomes `max(expr, 0)`. `None` if the expression is always negative. Not for numbers in which
    /// -1 has a special meaning.
    pub fn as_dim(&mut self, expr: &SymExpr) -> Option<SymExpr> {
        let interval = self.interval(expr);
        interval.meet(Interval::DIM)?;
        self.demand_at_least(expr, 0);
        // The expression is not refined, because that would constrain its symbols wherever else they occur.
        Some(if interval.lo() >= 0 { expr.clone() } else { self.max(expr, &SymExpr::from(0)) })
    }

    /// Unifies two dims that are equal in every successful run; `None` if they cannot be equal.
    pub fn merge(&mut self, a: &SymExpr, b: &SymExpr) -> Option<SymExpr> {
        if a == b {
            return Some(a.clone());
        }
        self.demand_equal(a, b);
        let (ia, ib) = (self.interval(a), self.interval(b));
        let both = ia.meet(ib)?;
        Some(match both {
            both if both == ia => a.clone(),
            both if both == ib => b.clone(),
            both => self.born(both, || Birth::equal(a, b)),
        })
    }

    /// Unifies two dims. If they cannot be equal, keeps `a` and reports that `what` (a plural noun) differ.
    pub fn merge_or_report(&mut self, what: &str, a: &SymExpr, b: &SymExpr) -> SymExpr {
        self.merge(a, b).unwrap_or_else(|| {
            let sentence = format!("{what} differ: {{}} and {{}}");
            self.report(OpError::conflict(sentence, self.interval(a), self.interval(b)));
            a.clone()
        })
    }

    /// The numpy broadcast of two dims; `None` if they conflict.
    pub fn broadcast_dim(&mut self, a: &SymExpr, b: &SymExpr) -> Option<SymExpr> {
        if a == b || b.as_const() == Some(1) {
            return Some(a.clone());
        }
        if a.as_const() == Some(1) {
            return Some(b.clone());
        }
        let (ia, ib) = (self.interval(a), self.interval(b));
        if ia.contains(1) || ib.contains(1) {
            self.demand_broadcast(a, b);
        }
        match (ia.contains(1), ib.contains(1)) {
            (false, false) => self.merge(a, b),
            (true, false) => Some(b.clone()),
            (false, true) => Some(a.clone()),
            (true, true) if (ia.lo() >= 1 && ib.lo() >= 1) || self.ignores_empty() => Some(self.max(a, b)),
            (true, true) if self.is_one_whenever(a, b) => Some(b.clone()),
            (true, true) if self.is_one_whenever(b, a) => Some(a.clone()),
            // Broadcasting 0 with 1 gives 0, so the result is not the maximum.
            (true, true) => Some(self.born(ia.hull(ib), || Birth::broadcast(a, b))),
        }
    }

    /// Whether `a` is 1 whenever `b` is 1; broadcasting `a` with `b` then always gives `b`.
    fn is_one_whenever(&self, a: &SymExpr, b: &SymExpr) -> bool {
        let one = Interval::exact(1);
        self.symbols.interval_given(a, b, one) == one
    }

    /// The numpy broadcast of two shapes. Reports conflicting sizes and makes their axes dynamic.
    pub fn broadcast(&mut self, a: &Shape, b: &Shape) -> Result<Shape, OpError> {
        let (Some(da), Some(db)) = (a.dims(), b.dims()) else { return Ok(Shape::unranked()) };
        if da == db {
            return Ok(a.clone());
        }
        let rank = da.len().max(db.len());
        let one = SymExpr::from(1);
        let mut dims: SmallVector<SymExpr, 4> = SmallVector::with_capacity(rank);
        let mut fits = true;
        for axis in 0..rank {
            let at = |dims: &'_ [SymExpr]| (axis + dims.len()).checked_sub(rank).map(|i| dims[i].clone());
            let (x, y) = (at(da).unwrap_or_else(|| one.clone()), at(db).unwrap_or_else(|| one.clone()));
            let dim = self.broadcast_dim(&x, &y);
            fits &= dim.is_some();
            dims.push(self.or_either(dim, &x, &y));
        }
        if !fits {
            self.report(self.conflict(CANNOT_BROADCAST, a, b));
        }
        Ok(Shape::ranked(dims))
    }

    /// Returns `dim` or, if it is `None` because `a` and `b` conflict, an unknown dim that may equal either.
    fn or_either(&mut self, dim: Option<SymExpr>, a: &SymExpr, b: &SymExpr) -> SymExpr {
        let either = self.interval(a).hull(self.interval(b));
        dim.unwrap_or_else(|| self.born(either, || Birth::either(a, b)))
    }

    /// Unifies two shapes that are equal in every successful run. Reports conflicting sizes with `sentence`
    /// (see [`OpError::Conflict`]) and makes their axes dynamic; conflicting ranks are an error.
    pub fn merge_shapes(&mut self, sentence: &'static str, a: &Shape, b: &Shape) -> Result<Shape, OpError> {
        let (Some(da), Some(db)) = (a.dims(), b.dims()) else {
            return Ok(if a.dims().is_some() { a.clone() } else { b.clone() });
        };
        if da.len() != db.len() {
            return Err(self.conflict(sentence, a, b));
        }
        let mut dims: SmallVector<SymExpr, 4> = SmallVector::with_capacity(da.len());
        let mut fits = true;
        for (x, y) in da.iter().zip(db) {
            let dim = self.merge(x, y);
            fits &= dim.is_some();
            dims.push(self.or_either(dim, x, y));
        }
        if !fits {
            self.report(self.conflict(sentence, a, b));
        }
        Ok(Shape::ranked(dims))
    }

    /// An [`OpError::Conflict`] of two shapes.
    pub fn conflict(&self, sentence: impl Into<Cow<'static, str>>, a: &Shape, b: &Shape) -> OpError {
        OpError::conflict(sentence, a.display(self.symbols), b.display(self.symbols))
    }
}
