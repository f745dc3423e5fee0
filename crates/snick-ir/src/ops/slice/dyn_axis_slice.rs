//! A normalised slice of one axis, whose start, length and step may be values of the graph.

use snick_shape::AxisSlice;
use snick_tensor::SmallVector;

use crate::{IntOrValue, Value};

/// Element `k` of the slice is element `start + k * step` of the axis. In the `slice` primitive, `V` is `()`,
/// which stands for the next operand, in the order `start`, `len`, `step`.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct DynAxisSlice<V = Value> {
    /// Index of the first element.
    pub start: IntOrValue<V>,
    /// Number of elements.
    pub len: IntOrValue<V>,
    /// Distance from one element to the next; never 0.
    pub step: IntOrValue<V>,
}

/// Slices by ascending axis.
pub type AxisSlices<V = Value> = SmallVector<(usize, DynAxisSlice<V>), 2>;

use IntOrValue::Int;

impl<V: Copy> DynAxisSlice<V> {
    /// Start, length and step.
    pub fn numbers(&self) -> [IntOrValue<V>; 3] {
        [self.start, self.len, self.step]
    }

    /// The slice, if start, length and step are all integers.
    pub fn as_static(&self) -> Option<AxisSlice> {
        match self.numbers() {
            [Int(start), Int(len), Int(step)] => Some(AxisSlice { start, len, step }),
            _ => None,
        }
    }

    /// Normalises the slice: a single element has step 1, and an empty slice starts at 0.
    fn normal(self) -> Self {
        match self.len {
            Int(0) => Self { start: Int(0), step: Int(1), ..self },
            Int(1) => Self { step: Int(1), ..self },
            _ => self,
        }
    }
}

impl DynAxisSlice<()> {
    /// Replaces each `()` with the next of the `operands`; `None` if there are too few of them.
    pub fn bind<V>(&self, operands: &mut impl Iterator<Item = V>) -> Option<DynAxisSlice<V>> {
        let mut number = |number: IntOrValue<()>| number.rename(|()| operands.next());
        Some(DynAxisSlice { start: number(self.start)?, len: number(self.len)?, step: number(self.step)? })
    }
}

impl DynAxisSlice {
    /// Splits the slice into its form in the primitive and its operands, in order.
    pub fn unbind(&self) -> (DynAxisSlice<()>, SmallVector<Value, 3>) {
        let mut operands = SmallVector::new();
        let [start, len, step] = self.normal().numbers().map(|number| match number {
            Int(int) => Int(int),
            IntOrValue::Value(value, interval) => {
                operands.push(value);
                IntOrValue::Value((), interval)
            }
        });
        (DynAxisSlice { start, len, step }, operands)
    }

    /// The composition of `self` and then `next`; `None` if the composition needs a sum or product of values.
    pub fn then(&self, next: &Self) -> Option<Self> {
        if let (Some(first), Some(next)) = (self.as_static(), next.as_static()) {
            return Some(first.then(&next).into());
        }
        let start = match (self.start, self.step, next.start) {
            (Int(start), Int(step), Int(at)) => Int(start.checked_add(at.checked_mul(step)?)?),
            (start, _, Int(0)) => start,
            (Int(0), Int(1), start) => start,
            _ => return None,
        };
        let step = match (self.step, next.step) {
            (Int(a), Int(b)) => Int(a.checked_mul(b)?),
            (Int(1), step) | (step, Int(1)) => step,
            _ => return None,
        };
        Some(Self { start, len: next.len, step }.normal())
    }
}

impl<V> From<AxisSlice> for DynAxisSlice<V> {
    fn from(AxisSlice { start, len, step }: AxisSlice) -> Self {
        Self { start: Int(start), len: Int(len), step: Int(step) }
    }
}

#[cfg(test)]
mod tests {
    use snick_shape::Interval;
    use snick_tensor::ElementType;

    use super::DynAxisSlice;
    use crate::{GraphBuilder, IntOrValue};

    #[test]
    fn a_slice_of_a_slice_is_one_slice_where_that_needs_no_arithmetic() {
        let b = GraphBuilder::new("g");
        let value = b.parameter("n", ElementType::I64, "").unwrap();
        let (n, int) = (IntOrValue::Value(value, Interval::DIM), IntOrValue::Int);
        let slice = |start, len, step| DynAxisSlice { start, len, step };
        let first = slice(int(2), n, int(3));
        assert_eq!(first.then(&slice(int(1), n, int(2))), Some(slice(int(5), n, int(6))));
        assert_eq!(first.then(&slice(int(1), int(1), int(1))), Some(slice(int(5), int(1), int(1))));
        assert_eq!(first.then(&slice(n, int(4), int(1))), None);
        assert_eq!(slice(n, n, int(3)).then(&slice(int(0), n, n)), None);
        assert_eq!(slice(n, n, int(1)).then(&slice(int(0), n, n)), Some(slice(n, n, n)));
        assert_eq!(slice(int(0), n, int(1)).then(&slice(n, n, int(2))), Some(slice(n, n, int(2))));
        assert_eq!(slice(n, n, n).then(&slice(int(0), int(0), int(2))), None);
    }
}
