//! Numbers that the primitive refuses when the graph runs, in ops that do not.
//!
//! Of a start or a length that is too low the ops would count from the end, or take nothing. What fails here is a Concat
//! of one row with two: few ops check the shapes that they get in a run.

use snick_ir::ops::slice::dyn_axis_slice::{DynAxisSlice, Number};
use snick_ir::ops::slice::scalar::Scalar;
use snick_ir::{Attrs, Op, OpError};

use super::{SliceReplacer, range};

impl SliceReplacer<'_> {
    /// The start; where it or `len` is too low when the graph runs, no number at all but a failure, as the primitive
    /// has it.
    pub(super) fn guarded_start(
        &mut self,
        cut: &DynAxisSlice,
        start: Scalar,
        len: Scalar,
    ) -> Result<Scalar, OpError> {
        let is_clamped = |number: &Number| match number {
            Number::Known(_) => true,
            Number::Read(value, _) => matches!(self.graph.node(value.node).op, Op::Bounds(_)),
        };
        if [cut.start, cut.len].iter().all(is_clamped) {
            return Ok(start);
        }
        // Before the first element is where nothing may start, and where it may end going backwards.
        let first = match (cut.start, len) {
            (Number::Read(_, within), Scalar::Value(_)) if within.lo() < 0 => {
                let taken = self.arithmetic("Minimum", len, Scalar::Number(1))?;
                let next = self.arithmetic("Add", start, Scalar::Number(1))?;
                self.arithmetic("Subtract", next, taken)?
            }
            _ => start,
        };
        let may_be_below = |number: &Scalar| range::interval(self.graph, *number).lo() < 0;
        let suspects: Vec<Scalar> = [first, len].into_iter().filter(may_be_below).collect();
        let least = match suspects[..] {
            [] => return Ok(start),
            [one] => one,
            _ => self.arithmetic("Minimum", first, len)?,
        };
        self.unless_negative(least, start)
    }

    /// The start, where `least` is not negative when the graph runs; a Concat that fails where it is.
    fn unless_negative(&mut self, least: Scalar, start: Scalar) -> Result<Scalar, OpError> {
        let (least, zero) = (self.value(least)?, self.constant(&[], vec![0])?);
        let is_below = self.add("Less", 1, Attrs::new(), &[least, zero])?;
        let rows = self.choose(is_below, Scalar::Number(2), Scalar::Number(1))?;
        let shape = self.vector([rows, Scalar::Number(1)].into_iter())?;
        let start = self.value(start)?;
        let repeated = self.add("Broadcast", 3, Attrs::new().with("mode", "numpy"), &[start, shape])?;
        let one_row = self.constant(&[1, 1], vec![0])?;
        let both = self.add("Concat", 1, Attrs::new().with("axis", 1i64), &[repeated, one_row])?;
        let corner = self.constant(&[2], vec![0, 0])?;
        self.add("GatherND", 8, Attrs::new().with("batch_dims", 0i64), &[both, corner]).map(Scalar::Value)
    }
}
