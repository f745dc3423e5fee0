//! The `bounds` primitive: where a slice begins and how long it is, for what only the run knows of its range.
//!
//! It is the one place where a canonical graph still clamps: `start:stop:step` against the size of an axis, by
//! [`AxisSlice::clamp`]. Formats with ranges of their own write the range again; others lower it to arithmetic.

use smallvec::smallvec;
use snick_shape::{AxisSlice, Interval, Shape, SymExpr};
use snick_tensor::{ElementType, Tensor};

use super::arithmetic::clamp_at_run_time;
use super::axis_range::{AxisRange, Index};
use super::scalar::Scalar;
use crate::attrs::missing;
use crate::rewrite::{Patch, RewriteResult};
use crate::{
    Arity, AttrValue, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode, Value,
};

/// A number of the range.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Bound {
    /// The number.
    Static(i64),
    /// An operand: a scalar integer input.
    Operand,
    /// No bound: all there is in the direction of the step. Of a start or a stop only.
    Open,
}

/// The range `start:stop:step` of an axis of `size` elements. Inputs: the operands in the order of the fields, i64
/// scalars. Outputs, i64 scalars: the index of the first element, clamped, and the number of elements.
///
/// A negative start or stop counts from the end, once. A step of 0 is an error when it runs.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Bounds {
    /// Number of elements of the axis.
    pub size: Bound,
    /// Where the range begins.
    pub start: Bound,
    /// Where it ends; not selected.
    pub stop: Bound,
    /// Distance from one element to the next.
    pub step: Bound,
}

const FIELDS: [&str; 4] = ["size", "start", "stop", "step"];
const OPERAND: &str = "in";
const OPEN: &str = "open";

impl Bounds {
    /// Size, start, stop and step.
    pub fn fields(&self) -> [Bound; 4] {
        [self.size, self.start, self.stop, self.step]
    }

    /// Each field with its operand, if that is what it is. `operands` are the inputs.
    pub fn pair<T: Clone>(&self, operands: &[T]) -> Result<[(Bound, Option<T>); 4], OpError> {
        let count = self.fields().into_iter().filter(|&field| field == Bound::Operand).count();
        Arity::exactly(count).check(operands.len())?;
        let mut operands = operands.iter();
        let mut paired = [const { (Bound::Open, None) }; 4];
        for (port, (pair, field)) in paired.iter_mut().zip(self.fields()).enumerate() {
            let operand = match field {
                Bound::Operand => Some(operands.next().cloned().ok_or(OpError::NotConnected { port })?),
                Bound::Static(_) | Bound::Open => None,
            };
            *pair = (field, operand);
        }
        Ok(paired)
    }

    /// The range, its numbers being what `facts` know of the operands; and the size, if it is known.
    fn range(&self, facts: &[&Fact]) -> Result<(Option<SymExpr>, AxisRange), OpError> {
        let mut input = 0;
        let mut fields = self.pair(facts)?.into_iter().map(|(field, fact)| match (field, fact) {
            (Bound::Static(number), _) => Index::Fixed(number),
            (_, None) => Index::Masked,
            (_, Some(fact)) => {
                input += 1;
                Index::entry(input - 1, 0, fact.elements().as_deref(), fact.element_type)
            }
        });
        let mut next = || fields.next().unwrap_or(Index::Masked);
        let size = match next() {
            Index::Fixed(size) => Some(SymExpr::from(size)),
            Index::Entry { known, .. } => known,
            Index::Masked | Index::Computed(_) => None,
        };
        Ok((size, AxisRange { axis: 0, start: next(), stop: next(), step: next(), single: false }))
    }
}

impl OpDef for Bounds {
    const NAMES: &'static [OpName] = &[OpName::snick("bounds")];
    const ARITY: Arity = Arity::between(0, 4);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let field = |i: usize| -> Result<Bound, OpError> {
            let name = FIELDS[i];
            match raw.attrs.get(name).ok_or(missing(name))? {
                AttrValue::Int(number) => Ok(Bound::Static(*number)),
                AttrValue::Text(text) if text == OPERAND => Ok(Bound::Operand),
                AttrValue::Text(text) if text == OPEN && (1..3).contains(&i) => Ok(Bound::Open),
                _ => Err(raw.attrs.bad(name, "a number, `in`, or of a start or stop `open`")),
            }
        };
        Ok(Self { size: field(0)?, start: field(1)?, stop: field(2)?, step: field(3)? })
    }

    fn attrs(&self) -> Attrs<'static> {
        let mut attrs = Attrs::new();
        for (name, field) in FIELDS.into_iter().zip(self.fields()) {
            let value = match field {
                Bound::Static(number) => AttrValue::Int(number),
                Bound::Operand => AttrValue::Text(OPERAND.into()),
                Bound::Open => AttrValue::Text(OPEN.into()),
            };
            attrs.push(name.into(), value);
        }
        attrs
    }

    /// As arithmetic, for formats that cannot say a range.
    fn lower(&self, cx: &mut Patch) -> Result<RewriteResult, OpError> {
        let facts = cx.input_facts()?;
        let (size, mut range) = self.range(&facts.iter().collect::<Vec<&Fact>>())?;
        let operands = cx.inputs_of(cx.output(0))?;
        let [dim, start, stop, step] = self.pair(&operands)?.map(|(field, operand)| match (field, operand) {
            (Bound::Static(number), _) => Some(Scalar::Number(number)),
            (_, operand) => operand.map(Scalar::Value),
        });
        for (index, scalar) in [(&mut range.start, start), (&mut range.stop, stop), (&mut range.step, step)] {
            if let (None, Some(scalar)) = (index.as_const(), scalar) {
                *index = Index::Computed(scalar);
            }
        }
        let sizes = size.as_ref().map_or(Interval::DIM, |size| cx.graph().symbols().interval(size));
        let dim = size.and_then(|size| size.as_const()).map(Scalar::Number).or(dim);
        let (start, len) = clamp_at_run_time(cx, &range, dim.unwrap_or(Scalar::Number(0)), sizes)?;
        let mut value = |scalar: Scalar| -> Result<Option<Value>, OpError> { scalar.value(cx).map(Some) };
        Ok(RewriteResult::Replaced(smallvec![value(start)?, value(len)?]))
    }
}

impl InferOp for Bounds {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        for operand in 0..cx.len() {
            cx.expect_integer(operand);
            cx.expect_rank(operand, "0", |rank| rank == 0)?;
        }
        let (size, range) = self.range(cx.inputs())?;
        let size = match size {
            Some(size) => size,
            None => cx.unknown(Interval::DIM),
        };
        if range.step.as_const() == Some(0) {
            return Err(OpError::out_of_range("step", 0, "any step but 0"));
        }
        let len = cx.range_length(&range, &size);
        let start = first(cx, &range, &size);
        let scalar =
            |expr: SymExpr| Fact::new(ElementType::I64, Shape::ranked([])).with_elements(Some(vec![expr]));
        Ok(smallvec![scalar(start), scalar(len)])
    }
}

impl EvalOp for Bounds {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let mut numbers = [None; 4];
        for (number, (field, operand)) in numbers.iter_mut().zip(self.pair(inputs)?) {
            *number = match (field, operand) {
                (Bound::Static(number), _) => Some(number),
                (_, Some(operand)) => Some(operand.to_i64(0)?),
                (_, None) => None,
            };
        }
        let [size, start, stop, step] = numbers;
        let (start, len) = AxisSlice::clamp(size.unwrap_or(0), start, stop, step.unwrap_or(0))?;
        Ok(vec![Tensor::scalar(start), Tensor::scalar(len)])
    }
}

/// The clamped start of a range, as an expression where there is one.
fn first(cx: &mut Infer, range: &AxisRange, size: &SymExpr) -> SymExpr {
    let zero = SymExpr::from(0);
    let sizes = cx.interval(size);
    let anywhere = |low: i64| Interval::new(low, sizes.hi()).unwrap_or(Interval::ANY);
    let Some(step) = range.step.as_const() else { return cx.unknown(anywhere(-1)) };
    let highest = if step > 0 { size.clone() } else { cx.sub(size, &SymExpr::from(1)) };
    let index = match &range.start {
        Index::Masked if step > 0 => return zero,
        Index::Masked => return highest,
        Index::Fixed(number) => Some(SymExpr::from(*number)),
        Index::Entry { known, .. } => known.clone(),
        Index::Computed(_) => None,
    };
    let counted = index.and_then(|index| {
        let within = cx.interval(&index);
        match (within.lo() >= 0, within.hi() < 0) {
            (true, _) => Some(index),
            (_, true) => Some(cx.add(&index, size)),
            _ => None,
        }
    });
    match counted {
        Some(index) => {
            let from_zero = cx.max(&index, &zero);
            cx.min(&from_zero, &highest)
        }
        None => cx.unknown(anywhere(if step > 0 { 0 } else { -1 })),
    }
}
