//! Inference: facts for every output, in one walk over the graph in topological order (`infer/walk.rs`). Here is what
//! an op sees of it: [`Infer`], with the facts of its inputs and the arithmetic of dims.

mod variables;
mod walk;

use smallvec::SmallVec;
use snick_shape::{Interval, Origin, Shape, SymExpr, Symbols};
use snick_tensor::ElementType;

use crate::fact::MAX_ELEMENTS;
use crate::{Declared, Fact, OpError, Output};

pub(crate) use walk::Work;
pub use walk::infer;

fn saturating_product(dims: &[usize]) -> usize {
    dims.iter().fold(1, |n: usize, &d| n.saturating_mul(d))
}

/// What an op sees while it infers: facts of its inputs, and the symbols of the graph.
pub struct Infer<'a> {
    inputs: &'a [&'a Fact],
    outs: &'a [Output],
    symbols: &'a mut Symbols,
    wrong: &'a mut Vec<OpError>,
    node: u32,
    fresh: u32,
}

impl<'a> Infer<'a> {
    /// Says what is wrong where the outputs can be told all the same: inference reports it and goes on with what the
    /// op returns, so that layers behind are not unknown for it. No run gets past this op: any fact holds.
    pub fn report(&mut self, error: OpError) {
        self.wrong.push(error);
    }

    /// Number of inputs; within the op's arity.
    pub fn len(&self) -> usize {
        self.inputs.len()
    }

    /// Whether the op has no inputs.
    pub fn is_empty(&self) -> bool {
        self.inputs.is_empty()
    }

    /// The fact of input `i`; `i` is below the least arity.
    pub fn input(&self, i: usize) -> &'a Fact {
        self.inputs[i]
    }

    /// The fact of an optional input.
    pub fn optional(&self, i: usize) -> Option<&'a Fact> {
        self.inputs.get(i).copied()
    }

    /// All inputs.
    pub fn inputs(&self) -> &'a [&'a Fact] {
        self.inputs
    }

    /// Shape of input `i`.
    pub fn shape(&self, i: usize) -> &'a Shape {
        &self.inputs[i].shape
    }

    /// Element type of input `i`.
    pub fn element_type(&self, i: usize) -> ElementType {
        self.inputs[i].element_type
    }

    /// What the file declares of the outputs: for ops whose rule is not known.
    pub fn declared(&self) -> impl Iterator<Item = Option<&'a Declared>> {
        self.outs.iter().map(|o| o.declared.as_ref())
    }

    /// The symbols of the graph.
    pub fn symbols(&mut self) -> &mut Symbols {
        self.symbols
    }

    /// The symbols of the graph, to look at.
    pub(crate) fn known_symbols(&self) -> &Symbols {
        self.symbols
    }

    /// The interval of an expression.
    pub fn interval(&self, expr: &SymExpr) -> Interval {
        self.symbols.interval(expr)
    }

    /// A new symbol born here: an unknown of which only the interval is known.
    pub fn unknown(&mut self, interval: Interval) -> SymExpr {
        let origin = self.origin();
        self.symbols.fresh(interval, origin)
    }

    /// The place of birth of the next symbol: this node, counted.
    pub fn origin(&mut self) -> Origin {
        let axis = self.fresh;
        self.fresh += 1;
        Origin { node: self.node, port: 0, axis }
    }

    /// An unknown element of an integer type.
    pub fn unknown_element(&mut self, element_type: ElementType) -> SymExpr {
        let range = element_type.integer_range().and_then(|(lo, hi)| Interval::new(lo, hi));
        self.unknown(range.unwrap_or(Interval::ANY))
    }

    /// A shape of this rank with unknown dims.
    pub fn unknown_dims(&mut self, rank: usize) -> Shape {
        Shape::ranked((0..rank).map(|_| self.unknown(Interval::DIM)).collect::<SmallVec<[SymExpr; 4]>>())
    }

    /// `expr`, or an unknown of the interval where the expression could not be built.
    fn or_unknown(&mut self, expr: Option<SymExpr>, interval: Interval) -> SymExpr {
        match expr {
            Some(expr) => expr,
            None => self.unknown(interval),
        }
    }

    /// The expression of `a` and `b`, and that it lies in `interval`: put together, it may have lost what its parts
    /// say.
    fn of_parts(&mut self, expr: Option<SymExpr>, interval: Interval, [a, b]: [&SymExpr; 2]) -> SymExpr {
        if let Some(expr) = &expr
            && a.as_const().is_none()
            && b.as_const().is_none()
            && !interval.covers(&self.interval(expr))
        {
            self.symbols.refine(expr, interval);
        }
        self.or_unknown(expr, interval)
    }

    /// `a + b`
    pub fn add(&mut self, a: &SymExpr, b: &SymExpr) -> SymExpr {
        let expr = self.symbols.add(a, b);
        let interval = self.interval(a).add(self.interval(b));
        self.of_parts(expr, interval, [a, b])
    }

    /// `a - b`
    pub fn sub(&mut self, a: &SymExpr, b: &SymExpr) -> SymExpr {
        let expr = self.symbols.sub(a, b);
        let interval = self.interval(a).sub(self.interval(b));
        self.of_parts(expr, interval, [a, b])
    }

    /// `a * b`
    pub fn mul(&mut self, a: &SymExpr, b: &SymExpr) -> SymExpr {
        let expr = self.symbols.mul(a, b);
        let interval = self.interval(a).mul(self.interval(b));
        self.of_parts(expr, interval, [a, b])
    }

    /// `floor(a / b)`
    pub fn floor_div(&mut self, a: &SymExpr, b: &SymExpr) -> SymExpr {
        let expr = self.symbols.floor_div(a, b);
        let interval = self.interval(a).floor_div(self.interval(b));
        self.or_unknown(expr, interval)
    }

    /// `a / b` where every run divides without rest, `b` being 1 or more: only quotients that are whole can occur.
    /// `None` if none can.
    pub fn divided(&mut self, a: &SymExpr, b: &SymExpr) -> Option<SymExpr> {
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
        let expr = self.symbols.ceil_div(a, b);
        let interval = self.interval(a).neg().floor_div(self.interval(b)).neg();
        self.or_unknown(expr, interval)
    }

    /// The smaller one.
    pub fn min(&mut self, a: &SymExpr, b: &SymExpr) -> SymExpr {
        let expr = self.symbols.min(a, b);
        let interval = self.interval(a).min(self.interval(b));
        self.or_unknown(expr, interval)
    }

    /// The larger one.
    pub fn max(&mut self, a: &SymExpr, b: &SymExpr) -> SymExpr {
        let expr = self.symbols.max(a, b);
        let interval = self.interval(a).max(self.interval(b));
        self.or_unknown(expr, interval)
    }

    /// The product of dims.
    pub fn product<'d>(&mut self, dims: impl IntoIterator<Item = &'d SymExpr>) -> SymExpr {
        dims.into_iter().fold(SymExpr::from(1), |product, dim| self.mul(&product, dim))
    }

    /// An expression as a dim. `None` if it is negative for certain; one that may be negative is not in any run that
    /// gets this far, so `max(expr, 0)` is as good. Not for numbers in which -1 means something.
    pub fn as_dim(&mut self, expr: &SymExpr) -> Option<SymExpr> {
        let interval = self.interval(expr);
        interval.meet(Interval::DIM)?;
        // Not refined to be positive: that would say something of its symbols, which stand elsewhere too.
        Some(if interval.lo() >= 0 { expr.clone() } else { self.max(expr, &SymExpr::from(0)) })
    }

    /// The one dim that two dims, equal in every run, are.
    pub fn merge(&mut self, a: &SymExpr, b: &SymExpr) -> Option<SymExpr> {
        if a == b {
            return Some(a.clone());
        }
        let (ia, ib) = (self.interval(a), self.interval(b));
        let both = ia.meet(ib)?;
        Some(match both {
            both if both == ia => a.clone(),
            both if both == ib => b.clone(),
            both => self.unknown(both),
        })
    }

    /// The one dim that two dims must be: `what`, in the plural, is reported where they cannot, and the first is it.
    pub fn agreed(&mut self, what: &str, a: &SymExpr, b: &SymExpr) -> SymExpr {
        self.merge(a, b).unwrap_or_else(|| {
            let [left, right] = [a, b].map(|dim| self.interval(dim).to_string());
            self.report(OpError::clash(what, left, right));
            a.clone()
        })
    }

    /// The numpy broadcast of two dims: 1 stretches, everything else must be equal.
    pub fn broadcast_dim(&mut self, a: &SymExpr, b: &SymExpr) -> Option<SymExpr> {
        if a == b || b.as_const() == Some(1) {
            return Some(a.clone());
        }
        if a.as_const() == Some(1) {
            return Some(b.clone());
        }
        let (ia, ib) = (self.interval(a), self.interval(b));
        match (ia.contains(1), ib.contains(1)) {
            (false, false) => self.merge(a, b),
            (true, false) => Some(b.clone()),
            (false, true) => Some(a.clone()),
            (true, true) if ia.lo() >= 1 && ib.lo() >= 1 => Some(self.max(a, b)),
            (true, true) if self.is_one_with(a, b) => Some(b.clone()),
            (true, true) if self.is_one_with(b, a) => Some(a.clone()),
            // A dim of 0 against 1 gives 0: no expression of the two says that.
            (true, true) => Some(self.unknown(ia.hull(ib))),
        }
    }

    /// Whether `a` is 1 wherever `b` is: stretching `a` to `b` then always gives `b`.
    fn is_one_with(&self, a: &SymExpr, b: &SymExpr) -> bool {
        let one = Interval::exact(1);
        self.symbols.interval_given(a, b, one) == one
    }

    /// The numpy broadcast of two shapes, aligned at the last axis. Sizes that clash are reported, and the axis is
    /// open.
    pub fn broadcast(&mut self, a: &Shape, b: &Shape) -> Result<Shape, OpError> {
        let (Some(da), Some(db)) = (a.dims(), b.dims()) else { return Ok(Shape::unranked()) };
        if da == db {
            return Ok(a.clone());
        }
        let rank = da.len().max(db.len());
        let one = SymExpr::from(1);
        let mut dims: SmallVec<[SymExpr; 4]> = SmallVec::with_capacity(rank);
        let mut fits = true;
        for axis in 0..rank {
            let at = |dims: &'_ [SymExpr]| (axis + dims.len()).checked_sub(rank).map(|i| dims[i].clone());
            let (x, y) = (at(da).unwrap_or_else(|| one.clone()), at(db).unwrap_or_else(|| one.clone()));
            let dim = self.broadcast_dim(&x, &y);
            fits &= dim.is_some();
            dims.push(self.or_either(dim, &x, &y));
        }
        if !fits {
            self.report(self.shapes_clash("broadcast", a, b));
        }
        Ok(Shape::ranked(dims))
    }

    /// `dim`, or an unknown that may be `a` as well as `b` where these clash.
    fn or_either(&mut self, dim: Option<SymExpr>, a: &SymExpr, b: &SymExpr) -> SymExpr {
        let either = self.interval(a).hull(self.interval(b));
        self.or_unknown(dim, either)
    }

    /// Two shapes that must be equal in every run. Sizes that clash are reported, and the axis is open; ranks that
    /// clash are an error.
    pub fn merge_shapes(&mut self, what: &str, a: &Shape, b: &Shape) -> Result<Shape, OpError> {
        let (Some(da), Some(db)) = (a.dims(), b.dims()) else {
            return Ok(if a.dims().is_some() { a.clone() } else { b.clone() });
        };
        if da.len() != db.len() {
            return Err(self.shapes_clash(what, a, b));
        }
        let mut dims: SmallVec<[SymExpr; 4]> = SmallVec::with_capacity(da.len());
        let mut fits = true;
        for (x, y) in da.iter().zip(db) {
            let dim = self.merge(x, y);
            fits &= dim.is_some();
            dims.push(self.or_either(dim, x, y));
        }
        if !fits {
            self.report(self.shapes_clash(what, a, b));
        }
        Ok(Shape::ranked(dims))
    }

    /// The error for two shapes that contradict each other.
    pub fn shapes_clash(&self, what: &str, a: &Shape, b: &Shape) -> OpError {
        let text = |s: &Shape| s.display_symbolic(self.symbols).to_string();
        OpError::clash(format!("shapes to {what}"), text(a), text(b))
    }

    /// The one element type that inputs share; `Dynamic` gives way. Others are reported, and the first one is it.
    pub fn common_type(&mut self, inputs: impl IntoIterator<Item = usize>) -> ElementType {
        let mut common = ElementType::Dynamic;
        for i in inputs {
            let got = self.element_type(i);
            if common == ElementType::Dynamic {
                common = got;
            } else if got != ElementType::Dynamic && got != common {
                let expected = format!("{common} as the others");
                self.report(OpError::element_type(format!("input {i}"), got, expected));
            }
        }
        common
    }

    /// The rank of input `i`, if it is known, must be one that `fits`.
    pub fn expect_rank(&self, i: usize, expected: &str, fits: impl Fn(usize) -> bool) -> Result<(), OpError> {
        match self.shape(i).rank() {
            Some(rank) if !fits(rank) => Err(OpError::rank(format!("input {i}"), rank, expected)),
            _ => Ok(()),
        }
    }

    /// Input `i` must be a number or a vector of one, if its shape is known.
    pub fn expect_one(&self, i: usize) -> Result<(), OpError> {
        self.expect_rank(i, "0 or 1", |rank| rank <= 1)?;
        match self.shape(i).dims() {
            Some([count]) if !self.interval(count).contains(1) => {
                Err(OpError::mismatch(format!("the size of input {i}"), self.interval(count), "one element"))
            }
            _ => Ok(()),
        }
    }

    /// Input `i` must have an integer element type, if it is known: another one is reported.
    pub fn expect_integer(&mut self, i: usize) {
        let got = self.element_type(i);
        if got != ElementType::Dynamic && !got.is_integer() {
            self.report(OpError::element_type(format!("input {i}"), got, "an integer type"));
        }
    }

    /// Input `i` must have the element type i32 or i64, if it is known.
    pub fn expect_index(&self, i: usize) -> Result<(), OpError> {
        match self.element_type(i) {
            ElementType::Dynamic | ElementType::I32 | ElementType::I64 => Ok(()),
            got => Err(OpError::element_type(format!("input {i}"), got, "i32 or i64")),
        }
    }

    /// Input `i` must have a real element type, if it is known.
    pub fn expect_real(&self, i: usize) -> Result<(), OpError> {
        match self.element_type(i) {
            ElementType::Dynamic => Ok(()),
            got if got.is_float() && got != ElementType::NF4 => Ok(()),
            got => Err(OpError::element_type(format!("input {i}"), got, "a real type")),
        }
    }

    /// Elements of input `i` as expressions: known ones, else, where their number is known and small, an unknown
    /// each.
    pub fn elements_or_unknown(&mut self, i: usize) -> Option<Vec<SymExpr>> {
        let fact = self.inputs[i];
        if let Some(elements) = fact.elements() {
            return Some(elements);
        }
        if !fact.element_type.is_integer() && fact.element_type != ElementType::Boolean {
            return None; // what is not known may be no integer
        }
        let count = saturating_product(&fact.shape.as_static()?);
        if count > MAX_ELEMENTS {
            return None;
        }
        Some((0..count).map(|_| self.unknown_element(fact.element_type)).collect())
    }
}

/// An axis counted from either end, as a position below `rank`.
pub fn normalize_axis(axis: i64, rank: usize) -> Result<usize, OpError> {
    let r = rank as i64;
    let at = if axis < 0 { axis.checked_add(r) } else { Some(axis) };
    match at {
        Some(at) if (0..r).contains(&at) => Ok(at as usize),
        _ => Err(OpError::out_of_range("axis", axis, format!("-{r}..{} for rank {rank}", r - 1))),
    }
}

/// Axes as [`normalize_axis`], each at most once.
pub fn normalize_axes(axes: &[i64], rank: usize) -> Result<SmallVec<[usize; 4]>, OpError> {
    let mut seen: SmallVec<[usize; 4]> = SmallVec::new();
    for &axis in axes {
        let at = normalize_axis(axis, rank)?;
        if seen.contains(&at) {
            return Err(OpError::out_of_range("axis", axis, "each axis at most once"));
        }
        seen.push(at);
    }
    Ok(seen)
}

/// Axes as [`normalize_axis`], of which the same may come again.
pub fn normalize_each_axis(axes: &[i64], rank: usize) -> Result<SmallVec<[usize; 4]>, OpError> {
    axes.iter().map(|&axis| normalize_axis(axis, rank)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_one_with_the_other_stretches_to_it() {
        let (mut symbols, mut wrong) = (Symbols::default(), Vec::new());
        let mut cx =
            Infer { inputs: &[], outs: &[], symbols: &mut symbols, wrong: &mut wrong, node: 0, fresh: 0 };
        let [length, other] = [0, 1].map(|_| cx.unknown(Interval::DIM));
        let cut = cx.min(&length, &64.into());
        assert_eq!(cx.broadcast_dim(&cut, &length), Some(length.clone()));
        assert_eq!(cx.broadcast_dim(&length, &cut), Some(length.clone()));
        let both = cx.broadcast_dim(&length, &other);
        assert!(both.is_some() && both != Some(length) && both != Some(other));
    }

    #[test]
    fn a_product_knows_what_its_factors_say() {
        let (mut symbols, mut wrong) = (Symbols::default(), Vec::new());
        let mut cx =
            Infer { inputs: &[], outs: &[], symbols: &mut symbols, wrong: &mut wrong, node: 0, fresh: 0 };
        let size = cx.unknown(Interval::new(6, 10).unwrap());
        let twice = cx.mul(&size, &2.into());
        let odd = cx.sub(&twice, &1.into());
        let product = cx.mul(&size, &odd);
        assert_eq!(cx.interval(&product), Interval::new(66, 190).unwrap());
    }

    #[test]
    fn a_sum_knows_what_its_parts_say() {
        let (mut symbols, mut wrong) = (Symbols::default(), Vec::new());
        let mut cx =
            Infer { inputs: &[], outs: &[], symbols: &mut symbols, wrong: &mut wrong, node: 0, fresh: 0 };
        // The windows of an axis of any size, made even.
        let size = cx.unknown(Interval::DIM);
        let padded = cx.add(&size, &3.into());
        let whole = cx.floor_div(&padded, &4.into());
        let further = cx.sub(&whole, &1.into());
        let further = cx.max(&further, &0.into());
        let windows = cx.add(&further, &1.into());
        let half = cx.floor_div(&windows, &2.into());
        let pairs = cx.mul(&half, &2.into());
        let odd = cx.sub(&windows, &pairs);
        cx.symbols().refine(&odd, Interval::new(0, 1).unwrap());
        let even = cx.add(&windows, &odd);
        assert!(cx.interval(&even).lo() >= 1, "{}", cx.interval(&even));
    }
}
