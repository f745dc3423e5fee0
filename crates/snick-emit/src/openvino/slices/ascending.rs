//! The elements of a slice in ascending order, by arithmetic, where its numbers are known only when the graph runs.

use snick_ir::ops::slice::dyn_axis_slice::{DynAxisSlice, Number};
use snick_ir::ops::slice::primitive::{Axis, Part};
use snick_ir::ops::slice::scalar::Scalar;
use snick_ir::{Attrs, OpError, Value};
use snick_tensor::ElementType;

use super::SliceReplacer;
use super::range::SliceRange;

/// No axis is longer; steps are cut to it so that sums with them stay in i64.
const FAR: i64 = 1 << 62;

/// Where a step points.
enum Way {
    Up,
    Down,
    /// Whether it is up: a value.
    Unknown(Value),
}

impl SliceReplacer<'_> {
    /// The elements of an axis in ascending order, and what turns them round if they were descending.
    pub(super) fn ascending(
        &mut self,
        axis: &Axis,
        cut: &DynAxisSlice,
    ) -> Result<(SliceRange, Option<SliceRange>), OpError> {
        let [start, len, step] = [self.wide(cut.start)?, self.wide(cut.len)?, self.wide(cut.step)?];
        let start = self.guarded_start(cut, start, len)?;
        let way = self.way(axis, step)?;
        let stride = self.stride(step, &way)?;
        let start = match way {
            Way::Up => start,
            Way::Down => self.last(start, len, step)?,
            Way::Unknown(up) => {
                let last = self.last(start, len, step)?;
                self.choose(up, start, last)?
            }
        };
        let length = self.arithmetic("Multiply", len, stride)?;
        let stop = self.arithmetic("Add", start, length)?;
        let turn = match way {
            Way::Up => None,
            Way::Down => {
                Some(SliceRange { axis: axis.axis, start: None, stop: None, step: Scalar::Number(-1) })
            }
            Way::Unknown(up) => {
                let mut choose =
                    |up_number, down| self.choose(up, Scalar::Number(up_number), Scalar::Number(down));
                Some(SliceRange {
                    axis: axis.axis,
                    start: Some(choose(0, -1)?),
                    stop: Some(choose(i64::MAX, i64::MIN)?),
                    step: choose(1, -1)?,
                })
            }
        };
        Ok((SliceRange { axis: axis.axis, start: Some(start), stop: Some(stop), step: stride }, turn))
    }

    /// A number of the primitive as i64: it may be read from a scalar of any integer type.
    fn wide(&mut self, number: Number) -> Result<Scalar, OpError> {
        let Number::Read(value, _) = number else { return Ok(number.scalar()) };
        if self.graph.fact(value).is_some_and(|fact| fact.element_type == ElementType::I64) {
            return Ok(number.scalar());
        }
        let i64s = Attrs::new().with("destination_type", "i64");
        self.add("Convert", 1, i64s, &[value]).map(Scalar::Value)
    }

    fn way(&mut self, axis: &Axis, step: Scalar) -> Result<Way, OpError> {
        let (low, high) = match axis.step {
            Part::Static(step) => (step, step),
            Part::Operand(interval) => (interval.lo(), interval.hi()),
        };
        if low >= 0 {
            return Ok(Way::Up);
        }
        if high <= 0 {
            return Ok(Way::Down);
        }
        let (step, zero) = (self.value(step)?, self.constant(&[], vec![0])?);
        Ok(Way::Unknown(self.add("Greater", 1, Attrs::new(), &[step, zero])?))
    }

    /// The step's size, at most [`FAR`]: of one element any step will do, and more have none that large.
    fn stride(&mut self, step: Scalar, way: &Way) -> Result<Scalar, OpError> {
        match (step, way) {
            (Scalar::Number(step), _) => Ok(Scalar::Number(step.saturating_abs().min(FAR))),
            (Scalar::Value(_), Way::Up) => self.arithmetic("Minimum", step, Scalar::Number(FAR)),
            (Scalar::Value(_), _) => {
                // The least integer has no size.
                let near = self.arithmetic("Maximum", step, Scalar::Number(-FAR))?;
                let near = self.value(near)?;
                let size = Scalar::Value(self.add("Abs", 1, Attrs::new(), &[near])?);
                let size = self.arithmetic("Maximum", size, Scalar::Number(1))?;
                self.arithmetic("Minimum", size, Scalar::Number(FAR))
            }
        }
    }

    /// The index of the last element: `start + (len - 1) * step`.
    fn last(&mut self, start: Scalar, len: Scalar, step: Scalar) -> Result<Scalar, OpError> {
        let before = self.arithmetic("Subtract", len, Scalar::Number(1))?;
        let distance = self.arithmetic("Multiply", before, step)?;
        self.arithmetic("Add", start, distance)
    }
}
