//! The `bounds` primitive: start and length of a slice whose range is known only at run time.
//!
//! In a canonical graph, only this op clamps: it applies `start:stop:step` to an axis, using
//! [`AxisSlice::clamp`]. Formats that have ranges express it as a range; for other formats it becomes
//! arithmetic.

use snick_shape::{AxisSlice, Interval, Shape, SymExpr};
use snick_tensor::{ElementType, Tensor};

use super::axis_range::AxisRange;
use crate::attrs::missing;
use crate::{
    Arity, AttrSpec, AttrValue, Attrs, Category, EvalOp, Fact, Facts, Infer, InferOp, IntOrValue, OpDef,
    OpError, OpName, RawNode,
};

/// The range `start:stop:step` on an axis with `size` elements. Inputs: the operands as i64 scalars, in the
/// order of the fields. Outputs: the clamped index of the first element, and the number of elements, both i64
/// scalars.
///
/// A negative start or stop counts from the end. A step of 0 is an error at run time.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Bounds {
    /// Number of elements of the axis.
    pub size: IntOrValue<()>,
    /// Start of the range; `None` for the first element in the direction of the step.
    pub start: Option<IntOrValue<()>>,
    /// End of the range, exclusive; `None` to continue to the last element in the direction of the step.
    pub stop: Option<IntOrValue<()>>,
    /// Distance from one element to the next.
    pub step: IntOrValue<()>,
}

const FIELDS: [&str; 4] = ["size", "start", "stop", "step"];
const OPERAND: &str = "in";
const OPEN: &str = "open";

/// An operand with no known interval.
const ANY_OPERAND: IntOrValue<()> = IntOrValue::Value((), Interval::ANY);

impl Bounds {
    /// Size, start, stop and step.
    pub fn fields(&self) -> [Option<IntOrValue<()>>; 4] {
        [Some(self.size), self.start, self.stop, Some(self.step)]
    }

    /// Size, start, stop and step, with each `()` replaced by the next of the `operands`.
    pub fn bind<V: Clone>(&self, operands: &[V]) -> Result<[Option<IntOrValue<V>>; 4], OpError> {
        let count = self.fields().into_iter().flatten().filter(|field| field.as_int().is_none()).count();
        Arity::exactly(count).check(operands.len())?;
        let mut operands = operands.iter().cloned();
        Ok(self.fields().map(|field| field?.rename(|()| operands.next())))
    }

    /// The size, if known, and the range, using the facts of the operands.
    fn range(&self, facts: &[&Fact]) -> Result<(Option<SymExpr>, AxisRange), OpError> {
        let numbered: Vec<(usize, &Fact)> = facts.iter().copied().enumerate().collect();
        let [size, start, stop, step] = self.bind(&numbered)?.map(|field| {
            Some(match field? {
                IntOrValue::Int(int) => IntOrValue::Int(int),
                IntOrValue::Value((input, fact), _) => {
                    let expr = fact.elements().and_then(|elements| elements.into_iter().next());
                    IntOrValue::entry(input, 0, expr, fact.element_type)
                }
            })
        });
        let step = step.unwrap_or(IntOrValue::Int(1));
        let range = AxisRange { axis: 0, entry: 0, start, stop, step, single: false };
        Ok((size.and_then(|size| size.as_expr()), range))
    }
}

impl OpDef for Bounds {
    const NAMES: &'static [OpName] = &[OpName::snick("bounds", Category::Slice).doc(
        "The first index and the length of the range `start:stop:step` on an axis of `size` elements, for a `slice`. \
         Numbers written `in` are i64 scalar inputs, in the order of the attributes.",
    )];
    const ARITY: Arity = Arity::between(0, 4);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let bound = |name: &'static str| match raw.attrs.get(name).ok_or(missing(name))? {
            AttrValue::Int(int) => Ok(Some(IntOrValue::Int(*int))),
            AttrValue::Text(text) if text == OPERAND => Ok(Some(ANY_OPERAND)),
            AttrValue::Text(text) if text == OPEN => Ok(None),
            _ => Err(raw.attrs.bad(name, "an integer, `in`, or for `start` and `stop` `open`")),
        };
        let number = |name| bound(name)?.ok_or_else(|| raw.attrs.bad(name, "an integer or `in`"));
        let [size, start, stop, step] = FIELDS;
        Ok(Self { size: number(size)?, start: bound(start)?, stop: bound(stop)?, step: number(step)? })
    }

    fn attrs(&self) -> Attrs<'static> {
        let mut attrs = Attrs::new();
        for (name, field) in FIELDS.into_iter().zip(self.fields()) {
            let value = match field {
                Some(IntOrValue::Int(int)) => AttrValue::Int(int),
                Some(IntOrValue::Value(..)) => AttrValue::Text(OPERAND.into()),
                None => AttrValue::Text(OPEN.into()),
            };
            attrs.push(name.into(), value);
        }
        attrs
    }

    fn attr_specs() -> Vec<AttrSpec> {
        let spec = |name, kind: &'static str, doc| AttrSpec::required(name, kind.into(), doc);
        vec![
            spec("size", "integer or `in`", "Number of elements of the axis."),
            spec(
                "start",
                "integer, `in` or `open`",
                "The first element; negative numbers count from the end.",
            ),
            spec(
                "stop",
                "integer, `in` or `open`",
                "The end, exclusive; negative numbers count from the end.",
            ),
            spec("step", "integer or `in`", "Distance from one element to the next; never 0."),
        ]
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
        if range.step.as_int() == Some(0) {
            return Err(OpError::out_of_range("step", 0, "any step but 0"));
        }
        let len = cx.range_length(&range, &size);
        let start = first(cx, &range, &size);
        let scalar =
            |expr: SymExpr| Fact::new(ElementType::I64, Shape::ranked([])).with_elements(Some(vec![expr]));
        Ok(Facts::from([scalar(start), scalar(len)]))
    }
}

impl EvalOp for Bounds {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let mut numbers = [None; 4];
        for (number, field) in numbers.iter_mut().zip(self.bind(inputs)?) {
            *number = match field {
                Some(IntOrValue::Int(int)) => Some(int),
                Some(IntOrValue::Value(operand, _)) => Some(operand.to_i64(0)?),
                None => None,
            };
        }
        let [size, start, stop, step] = numbers;
        let (start, len) = AxisSlice::clamp(size.unwrap_or(0), start, stop, step.unwrap_or(0))?;
        Ok(vec![Tensor::scalar(start), Tensor::scalar(len)])
    }
}

/// The clamped start of a range, as an expression if possible.
fn first(cx: &mut Infer, range: &AxisRange, size: &SymExpr) -> SymExpr {
    let zero = SymExpr::from(0);
    let sizes = cx.interval(size);
    let anywhere = |low: i64| Interval::new(low, sizes.hi()).unwrap_or(Interval::ANY);
    let Some(step) = range.step.as_int() else { return cx.unknown(anywhere(-1)) };
    let highest = if step > 0 { size.clone() } else { cx.sub(size, &SymExpr::from(1)) };
    let Some(start) = &range.start else { return if step > 0 { zero } else { highest } };
    let counted = start.as_expr().and_then(|index| {
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
