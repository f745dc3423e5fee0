//! Short forms of ops on shapes.

use snick_tensor::ElementType;

use super::GraphBuilder;
use crate::ops::shape::broadcast::BroadcastMode;
use crate::ops::{Broadcast, Range, Reshape, ShapeOf, Squeeze, Unsqueeze};
use crate::{OpError, Value};

impl GraphBuilder<'_> {
    /// The sizes of `x` as a vector of i64.
    pub fn shape_of(&mut self, x: Value) -> Result<Value, OpError> {
        self.add_op(ShapeOf::default(), &[x])
    }

    /// The size of `x` along an axis as a vector of one i64.
    pub fn size_of(&mut self, x: Value, axis: i64) -> Result<Value, OpError> {
        let (shape, axis) = (self.shape_of(x)?, self.ints(&[axis])?);
        self.gather(shape, axis, 0)
    }

    /// The elements of `x` under these sizes, one of which may be -1.
    pub fn reshape(&mut self, x: Value, sizes: &[i64]) -> Result<Value, OpError> {
        let sizes = self.ints(sizes)?;
        self.reshape_to(x, sizes)
    }

    /// The elements of `x` under sizes that another value holds.
    pub fn reshape_to(&mut self, x: Value, sizes: Value) -> Result<Value, OpError> {
        self.add_op(Reshape { special_zero: false }, &[x, sizes])
    }

    /// The one element of `x` as a scalar.
    pub fn to_scalar(&mut self, x: Value) -> Result<Value, OpError> {
        if self.fact(x)?.shape.rank() == Some(0) { Ok(x) } else { self.reshape(x, &[]) }
    }

    /// `x` without these axes, which have size 1.
    pub fn squeeze(&mut self, x: Value, axes: &[i64]) -> Result<Value, OpError> {
        let axes = self.ints(axes)?;
        self.add_op(Squeeze::default(), &[x, axes])
    }

    /// `x` with new axes of size 1 at these positions of the output.
    pub fn unsqueeze(&mut self, x: Value, axes: &[i64]) -> Result<Value, OpError> {
        let axes = self.ints(axes)?;
        self.add_op(Unsqueeze, &[x, axes])
    }

    /// `x` repeated to these sizes, axes aligned at the last one.
    pub fn broadcast(&mut self, x: Value, sizes: &[i64]) -> Result<Value, OpError> {
        let sizes = self.ints(sizes)?;
        self.broadcast_to(x, sizes)
    }

    /// `x` and the sizes that another value holds, broadcast to each other: axes of size 1 of either one repeat.
    pub fn broadcast_both(&mut self, x: Value, sizes: Value) -> Result<Value, OpError> {
        self.add_op(
            Broadcast { mode: Some(BroadcastMode::Bidirectional), ..Broadcast::default() },
            &[x, sizes],
        )
    }

    /// `x` repeated to the sizes that another value holds, axes aligned at the last one.
    pub fn broadcast_to(&mut self, x: Value, sizes: Value) -> Result<Value, OpError> {
        self.add_op(Broadcast { mode: Some(BroadcastMode::Numpy), ..Broadcast::default() }, &[x, sizes])
    }

    /// `start, start + step, ..` up to, not including, `stop`, three scalars; of an element type.
    pub fn range(
        &mut self,
        start: Value,
        stop: Value,
        step: Value,
        element_type: ElementType,
    ) -> Result<Value, OpError> {
        self.add_op(Range { output_type: element_type, ..Range::default() }, &[start, stop, step])
    }

    /// `0, 1, ..` up to, not including, the one element of `stop`; of i64.
    pub fn count_to(&mut self, stop: Value) -> Result<Value, OpError> {
        let (start, stop, step) = (self.int(0)?, self.to_scalar(stop)?, self.int(1)?);
        self.range(start, stop, step, ElementType::I64)
    }
}
