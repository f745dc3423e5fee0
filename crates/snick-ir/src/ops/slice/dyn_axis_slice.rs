//! The slice of one axis as rewrites handle it: the numbers of the primitive, with the values that they are read from.

use smallvec::SmallVec;
use snick_shape::{AxisSlice, Interval};

use super::primitive::{Axis, Part};
use super::scalar::Scalar;
use crate::Value;

/// A number of a slice.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Number {
    /// It is known.
    Known(i64),
    /// Read from this value, an integer scalar, when the graph runs; within the interval.
    Read(Value, Interval),
}

impl Number {
    /// A scalar that lies within the interval.
    pub(super) fn of(scalar: Scalar, within: Interval) -> Self {
        match scalar {
            Scalar::Number(number) => Self::Known(number),
            Scalar::Value(value) => Self::Read(value, within),
        }
    }

    /// The number, without what is known of where it lies.
    pub fn scalar(self) -> Scalar {
        match self {
            Self::Known(number) => Scalar::Number(number),
            Self::Read(value, _) => Scalar::Value(value),
        }
    }
}

/// A slice of one axis, some numbers of which may be known only when the graph runs.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct DynAxisSlice {
    /// Index of the first element.
    pub start: Number,
    /// Number of elements.
    pub len: Number,
    /// Distance from one element to the next; never 0.
    pub step: Number,
}

impl DynAxisSlice {
    /// The slice of an axis of the primitive: takes the operands that it reads off the front of `operands`; `None` if
    /// there are too few.
    pub fn of(axis: &Axis, operands: &mut impl Iterator<Item = Value>) -> Option<Self> {
        let mut number = |part| match part {
            Part::Static(number) => Some(Number::Known(number)),
            Part::Operand(interval) => operands.next().map(|value| Number::Read(value, interval)),
        };
        Some(Self { start: number(axis.start)?, len: number(axis.len)?, step: number(axis.step)? })
    }

    /// An axis of the primitive, with the operands that it reads, in order.
    pub fn on_axis(&self, axis: usize) -> (Axis, SmallVec<[Value; 3]>) {
        let mut operands = SmallVec::new();
        let [start, len, step] = self.normal().numbers().map(|number| match number {
            Number::Known(number) => Part::Static(number),
            Number::Read(value, interval) => {
                operands.push(value);
                Part::Operand(interval)
            }
        });
        (Axis { axis, start, len, step }, operands)
    }

    /// A single element has step 1, and an empty slice starts at 0, whatever was said.
    fn normal(self) -> Self {
        match self.len {
            Number::Known(0) => Self { start: Number::Known(0), step: Number::Known(1), ..self },
            Number::Known(1) => Self { step: Number::Known(1), ..self },
            _ => self,
        }
    }

    /// It in numbers, if it reads nothing.
    pub fn as_static(&self) -> Option<AxisSlice> {
        match self.numbers() {
            [Number::Known(start), Number::Known(len), Number::Known(step)] => {
                Some(AxisSlice { start, len, step })
            }
            _ => None,
        }
    }

    /// The slice that takes what `next` takes of what this takes. `None` if that needs a sum or a product of numbers
    /// that are not known.
    pub fn then(&self, next: &Self) -> Option<Self> {
        use Number::Known;
        if let (Some(first), Some(next)) = (self.as_static(), next.as_static()) {
            return Some(first.then(&next).into());
        }
        let start = match (self.start, self.step, next.start) {
            (Known(start), Known(step), Known(at)) => Known(start.checked_add(at.checked_mul(step)?)?),
            (start, _, Known(0)) => start,
            (Known(0), Known(1), start) => start,
            _ => return None,
        };
        let step = match (self.step, next.step) {
            (Known(a), Known(b)) => Known(a.checked_mul(b)?),
            (Known(1), step) | (step, Known(1)) => step,
            _ => return None,
        };
        Some(Self { start, len: next.len, step }.normal())
    }

    fn numbers(&self) -> [Number; 3] {
        [self.start, self.len, self.step]
    }
}

impl From<AxisSlice> for DynAxisSlice {
    fn from(AxisSlice { start, len, step }: AxisSlice) -> Self {
        Self { start: Number::Known(start), len: Number::Known(len), step: Number::Known(step) }
    }
}
