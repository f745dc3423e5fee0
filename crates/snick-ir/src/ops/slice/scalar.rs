//! i64 scalars of a graph under construction: numbers as long as they are known, values from then on.

use snick_shape::SymExpr;
use snick_tensor::ElementType;

use crate::rewrite::Patch;
use crate::{Attrs, OpError, Value};

/// A number, or a scalar value of the graph.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Scalar {
    /// It is known.
    Number(i64),
    /// An integer, known when the graph runs.
    Value(Value),
}

impl Scalar {
    /// The number, if it is known.
    pub fn known(self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(number),
            Self::Value(_) => None,
        }
    }

    /// The size of an axis when the graph runs.
    pub(super) fn dim(cx: &mut Patch, data: Value, axis: usize) -> Result<Self, OpError> {
        let shape = cx.make("ShapeOf", Attrs::new().with("output_type", "i64"), &[data])?;
        Self::pick(cx, shape, axis)
    }

    /// Element `at` of an index input, as i64.
    pub(super) fn element(cx: &mut Patch, entries: Value, at: usize) -> Result<Self, OpError> {
        let wide = Self::widened(cx, entries)?;
        Self::pick(cx, wide, at)
    }

    /// All elements of an index input, as i64.
    pub(super) fn entries(cx: &mut Patch, input: usize, element_type: ElementType) -> Result<Value, OpError> {
        let mut entries = cx.input(input)?;
        if element_type == ElementType::U64 {
            // Above what i64 holds an index means the end, not a negative one.
            entries = Self::saturate_u64(cx, entries)?;
        }
        Self::widened(cx, entries)
    }

    fn widened(cx: &mut Patch, entries: Value) -> Result<Value, OpError> {
        cx.make("Convert", Attrs::new().with("destination_type", "i64"), &[entries])
    }

    /// Element `at` of an i64 vector.
    pub(super) fn pick(cx: &mut Patch, vector: Value, at: usize) -> Result<Self, OpError> {
        let (at, axis) = (cx.int(at as i64)?, cx.int(0)?);
        cx.make("Gather", Attrs::new(), &[vector, at, axis]).map(Self::Value)
    }

    /// u64 entries, those that i64 cannot hold replaced by the largest it can.
    fn saturate_u64(cx: &mut Patch, entries: Value) -> Result<Value, OpError> {
        let most = cx.int(i64::MAX)?;
        let most = cx.make("Convert", Attrs::new().with("destination_type", "u64"), &[most])?;
        cx.make("Minimum", Attrs::new(), &[entries, most])
    }

    pub(super) fn add(self, cx: &mut Patch, other: Self) -> Result<Self, OpError> {
        self.binary(cx, "Add", other, i64::checked_add)
    }

    pub(super) fn sub(self, cx: &mut Patch, other: Self) -> Result<Self, OpError> {
        self.binary(cx, "Subtract", other, i64::checked_sub)
    }

    pub(super) fn mul(self, cx: &mut Patch, other: Self) -> Result<Self, OpError> {
        self.binary(cx, "Multiply", other, i64::checked_mul)
    }

    /// Division of what is not negative.
    pub(super) fn div(self, cx: &mut Patch, other: Self) -> Result<Self, OpError> {
        self.binary(cx, "Divide", other, i64::checked_div)
    }

    pub(super) fn min(self, cx: &mut Patch, other: Self) -> Result<Self, OpError> {
        self.binary(cx, "Minimum", other, |a, b| Some(a.min(b)))
    }

    pub(super) fn max(self, cx: &mut Patch, other: Self) -> Result<Self, OpError> {
        self.binary(cx, "Maximum", other, |a, b| Some(a.max(b)))
    }

    /// Whether this is below the other; a condition for [`Scalar::select`].
    pub(super) fn less(self, cx: &mut Patch, other: Self) -> Result<Self, OpError> {
        self.binary(cx, "Less", other, |a, b| Some(i64::from(a < b)))
    }

    /// Whether this is the other; a condition for [`Scalar::select`].
    pub(super) fn equals(self, cx: &mut Patch, other: Self) -> Result<Self, OpError> {
        self.binary(cx, "Equal", other, |a, b| Some(i64::from(a == b)))
    }

    /// `then` where this condition holds, else `other`.
    pub(super) fn select(self, cx: &mut Patch, then: Self, other: Self) -> Result<Self, OpError> {
        match self {
            Self::Number(condition) => Ok(if condition != 0 { then } else { other }),
            Self::Value(_) if then == other => Ok(then),
            Self::Value(condition) => {
                let (then, other) = (then.value(cx)?, other.value(cx)?);
                cx.make("Select", Attrs::new(), &[condition, then, other]).map(Self::Value)
            }
        }
    }

    /// This start of a slice, unless `fault` is above 0: then a number below 0, at which no slice may start. The
    /// start lies beyond `size` by no more than the fault.
    pub(super) fn unless(self, cx: &mut Patch, fault: Self, size: Self) -> Result<Self, OpError> {
        let far = size.add(cx, Self::Number(2))?;
        let back = fault.mul(cx, far)?;
        self.sub(cx, back)
    }

    pub(super) fn value(self, cx: &mut Patch) -> Result<Value, OpError> {
        match self {
            Self::Number(number) => cx.int(number),
            Self::Value(value) => Ok(value),
        }
    }

    fn binary(
        self,
        cx: &mut Patch,
        op: &'static str,
        other: Self,
        known: fn(i64, i64) -> Option<i64>,
    ) -> Result<Self, OpError> {
        match (op, self, other) {
            (_, Self::Number(a), Self::Number(b)) => {
                let value = known(a, b);
                return value.map(Self::Number).ok_or_else(|| OpError::unsupported("so large an index"));
            }
            ("Add" | "Subtract", x, Self::Number(0)) | ("Add", Self::Number(0), x) => return Ok(x),
            ("Multiply" | "Divide", x, Self::Number(1)) => return Ok(x),
            ("Multiply", _, Self::Number(0)) | ("Multiply", Self::Number(0), _) => {
                return Ok(Self::Number(0));
            }
            _ => {}
        }
        let (a, b) = (self.value(cx)?, other.value(cx)?);
        let made = cx.make(op, Attrs::new(), &[a, b])?;
        if matches!(op, "Less" | "Equal") {
            return Ok(Self::Value(made));
        }
        // What inference knows to be a number, or one of the two, needs no reading at run time.
        let Some(known) = known_scalar(cx, made)? else { return Ok(Self::Value(made)) };
        if let Some(number) = known.as_const() {
            return Ok(Self::Number(number));
        }
        for same in [a, b] {
            if known_scalar(cx, same)?.as_ref() == Some(&known) {
                return Ok(Self::Value(same));
            }
        }
        Ok(Self::Value(made))
    }
}

/// What is known of a scalar.
pub(super) fn known_scalar(cx: &Patch, value: Value) -> Result<Option<SymExpr>, OpError> {
    Ok(cx.fact(value)?.elements().and_then(|elements| elements.into_iter().next()))
}
