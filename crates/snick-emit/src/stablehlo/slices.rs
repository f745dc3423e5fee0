//! The `slice` primitive, and slices that other operations need.

use snick_ir::ops::Slice;
use snick_ir::{IntOrValue, Op, OpError};
use snick_shape::SymExpr;

use super::emitter::{Emitter, OpKind, Operand, Result};
use super::row::OpRow;
use super::types::fixed;

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        Op::Slice(op) => OpRow::new(|e| slice(e, op)),
        _ => return None,
    })
}

/// The start of a slice along an axis.
#[derive(Clone)]
enum Start {
    /// An expression over sizes.
    At(SymExpr),
    /// An i64 scalar that is only known at run time.
    Operand(Operand),
}

/// The selected part of an axis: every `step`-th of the `span` elements that begin at `first`. `len` is the
/// number of selected elements.
#[derive(Clone)]
struct AxisSpan {
    first: Start,
    span: SymExpr,
    step: usize,
    len: SymExpr,
}

impl AxisSpan {
    /// The span of a whole axis.
    fn whole(dim: &SymExpr) -> Self {
        Self { first: Start::At(0.into()), span: dim.clone(), step: 1, len: dim.clone() }
    }

    /// The first element, the end and the step, if they are known.
    fn range(&self) -> Option<[usize; 3]> {
        let Start::At(first) = &self.first else { return None };
        let (first, span) = (fixed(first).ok()?, fixed(&self.span).ok()?);
        Some([first, first.checked_add(span)?, self.step])
    }

    fn is_all_of(&self, dim: &SymExpr) -> bool {
        self.step == 1 && self.span == *dim && matches!(self.first, Start::At(SymExpr::Const(0)))
    }
}

/// Slices axes with a negative step in ascending order, then reverses these axes.
fn slice(e: &mut Emitter, op: &Slice) -> Result {
    let inputs: Vec<usize> = (1..e.len()).collect();
    let slices = op.bind(&inputs)?;
    let x = e.input(0)?;
    let lens = e.output(0)?.dims;
    let mut taken: Vec<AxisSpan> = x.ty.dims.iter().map(AxisSpan::whole).collect();
    let mut backwards = Vec::new();
    for (axis, slice) in slices {
        let IntOrValue::Int(step) = slice.step else {
            return Err(OpError::unsupported("a slice whose step is known only at run time"));
        };
        let start = match slice.start {
            IntOrValue::Int(start) => Start::At(start.into()),
            IntOrValue::Value(input, _) => {
                let number = e.input(input)?;
                Start::Operand(e.index(&number)?)
            }
        };
        if step < 0 {
            backwards.push(axis);
        }
        if let (IntOrValue::Value(input, _), Some(len)) = (slice.len, lens.get(axis))
            && e.function.sizes_from_data
            && !e.function.knows(len)
        {
            let number = e.input(input)?;
            let number = e.index(&number)?;
            e.function.learn(len, &number);
        }
        let (Some(len), Some(slot)) = (lens.get(axis), taken.get_mut(axis)) else {
            return Err(OpError::rank("the data", lens.len(), "more"));
        };
        *slot = of_axis(e, start, len, step)?;
    }
    let mut y = take(e, &x, &taken)?;
    if !backwards.is_empty() {
        y = e.reverse(&y, &backwards);
    }
    e.give(0, y)
}

/// The span of a slice of `len` elements: every `step`-th element beginning at `start`. The span is in
/// ascending order even if `step` is negative.
fn of_axis(e: &mut Emitter, start: Start, len: &SymExpr, step: i64) -> Result<AxisSpan, OpError> {
    let size = step.saturating_abs().max(1);
    let symbols = e.graph.symbols();
    let (reach, span) = match size {
        1 if step > 0 => (SymExpr::from(0), Some(len.clone())),
        _ => {
            let gaps = symbols.sub(len, &1.into()).and_then(|gaps| symbols.max(&gaps, &0.into()));
            let reach = gaps.and_then(|gaps| symbols.mul(&gaps, &size.into()));
            let reach = reach.ok_or_else(|| OpError::unsupported("a slice of more than 2^63 elements"))?;
            let span = symbols.min(len, &1.into()).and_then(|end| symbols.add(&reach, &end));
            (reach, span)
        }
    };
    let span = span.ok_or_else(|| OpError::unsupported("a slice of more than 2^63 elements"))?;
    let first = match start {
        start if step > 0 => start,
        Start::At(start) => match symbols.sub(&start, &reach) {
            // An empty slice has no first element.
            Some(_) if span == SymExpr::Const(0) => Start::At(0.into()),
            Some(first) => Start::At(first),
            None => return Err(OpError::unsupported("a slice of more than 2^63 elements")),
        },
        Start::Operand(start) => {
            let reach = e.number(&reach)?;
            Start::Operand(e.same("subtract", &[&start, &reach]))
        }
    };
    let step = usize::try_from(size).map_err(|_| OpError::out_of_range("a step", step, "smaller"))?;
    Ok(AxisSpan { first, span, step, len: len.clone() })
}

/// Uses `slice` if all bounds are known, `dynamic_slice` if only the starts are unknown, and
/// `real_dynamic_slice` otherwise.
fn take(e: &mut Emitter, x: &Operand, taken: &[AxisSpan]) -> Result<Operand> {
    if taken.iter().zip(&x.ty.dims).all(|(taken, dim)| taken.is_all_of(dim)) {
        return Ok(x.clone());
    }
    let ty = x.ty.sized(taken.iter().map(|taken| taken.len.clone()).collect::<Vec<_>>());
    if let Some(ranges) = taken.iter().map(AxisSpan::range).collect::<Option<Vec<_>>>() {
        return Ok(e.op(OpKind::Slice(ranges), &[x], ty));
    }
    let spans: Vec<SymExpr> = taken.iter().map(|taken| taken.span.clone()).collect();
    if let Ok(sizes) = spans.iter().map(fixed).collect::<Result<Vec<_>, _>>() {
        let mut operands = vec![x.clone()];
        for taken in taken {
            operands.push(scalar(e, &taken.first)?);
        }
        let operands: Vec<&Operand> = operands.iter().collect();
        let run = e.op(OpKind::DynamicSlice(sizes), &operands, x.ty.sized(spans));
        // `dynamic_slice` has no steps, so they are applied to its result.
        let thin: Vec<AxisSpan> =
            taken.iter().map(|taken| AxisSpan { first: Start::At(0.into()), ..taken.clone() }).collect();
        return take(e, &run, &thin);
    }
    let mut starts = Vec::with_capacity(taken.len());
    for taken in taken {
        let start = scalar(e, &taken.first)?;
        starts.push(e.reshape(&start, &[1])?);
    }
    let starts = e.concatenate(&starts, 0)?;
    let spans = e.vector(spans)?;
    let limits = e.same("add", &[&starts, &spans]);
    let steps: Vec<usize> = taken.iter().map(|taken| taken.step).collect();
    let steps = e.vector(&steps)?;
    Ok(e.op(OpKind::RealDynamicSlice, &[x, &starts, &limits, &steps], ty))
}

fn scalar(e: &mut Emitter, first: &Start) -> Result<Operand> {
    match first {
        Start::At(first) => e.number(first),
        Start::Operand(first) => Ok(first.clone()),
    }
}

impl Emitter<'_> {
    /// `len` elements along one axis, starting at `at`, an i64 scalar.
    pub(super) fn pick(&mut self, x: &Operand, axis: usize, at: &Operand, len: &SymExpr) -> Result<Operand> {
        let mut taken: Vec<AxisSpan> = x.ty.dims.iter().map(AxisSpan::whole).collect();
        if let Some(taken) = taken.get_mut(axis) {
            *taken =
                AxisSpan { first: Start::Operand(at.clone()), span: len.clone(), step: 1, len: len.clone() };
        }
        take(self, x, &taken)
    }

    /// `len` elements along one axis, starting at `first`.
    pub(super) fn part(
        &mut self,
        x: &Operand,
        axis: usize,
        first: &SymExpr,
        len: SymExpr,
    ) -> Result<Operand> {
        let mut taken: Vec<AxisSpan> = x.ty.dims.iter().map(AxisSpan::whole).collect();
        if let Some(taken) = taken.get_mut(axis) {
            *taken = AxisSpan { first: Start::At(first.clone()), span: len.clone(), step: 1, len };
        }
        take(self, x, &taken)
    }
}
