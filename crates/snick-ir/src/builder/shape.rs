//! Short forms of ops on shapes.

use snick_tensor::ElementType;

use super::GraphBuilder;
use crate::ops::shape::broadcast::BroadcastMode;
use crate::ops::{Broadcast, Range, Reshape, ShapeOf, Squeeze, Unsqueeze};
use crate::{OpError, Value};

impl GraphBuilder<'_> {
    /// The shape of `x` as a vector of i64.
    pub fn shape_of(&self, x: Value) -> Result<Value, OpError> {
        self.add_op(ShapeOf::default(), &[x])
    }

    /// The size of an axis of `x` as a vector with one i64.
    pub fn size_of(&self, x: Value, axis: i64) -> Result<Value, OpError> {
        let (shape, axis) = (self.shape_of(x)?, self.ints(&[axis])?);
        self.gather(shape, axis, 0)
    }

    /// Reshapes `x` to these sizes; one of them may be -1.
    pub fn reshape(&self, x: Value, sizes: &[i64]) -> Result<Value, OpError> {
        let sizes = self.ints(sizes)?;
        self.reshape_to(x, sizes)
    }

    /// Reshapes `x` to sizes computed by the graph.
    pub fn reshape_to(&self, x: Value, sizes: Value) -> Result<Value, OpError> {
        self.add_op(Reshape { special_zero: false }, &[x, sizes])
    }

    /// The only element of `x` as a scalar.
    pub fn to_scalar(&self, x: Value) -> Result<Value, OpError> {
        if self.with_fact(x, |fact| fact.shape.rank())? == Some(0) { Ok(x) } else { self.reshape(x, &[]) }
    }

    /// Removes these axes of size 1 from `x`.
    pub fn squeeze(&self, x: Value, axes: &[i64]) -> Result<Value, OpError> {
        let axes = self.ints(axes)?;
        self.add_op(Squeeze::default(), &[x, axes])
    }

    /// Inserts axes of size 1 at these positions of the output.
    pub fn unsqueeze(&self, x: Value, axes: &[i64]) -> Result<Value, OpError> {
        let axes = self.ints(axes)?;
        self.add_op(Unsqueeze, &[x, axes])
    }

    /// Broadcasts `x` to these sizes, aligned at the last axis.
    pub fn broadcast(&self, x: Value, sizes: &[i64]) -> Result<Value, OpError> {
        let sizes = self.ints(sizes)?;
        self.broadcast_to(x, sizes)
    }

    /// Broadcasts `x` in both directions with sizes computed by the graph: where `x` or `sizes` has size 1,
    /// the output takes the size of the other.
    pub fn broadcast_both(&self, x: Value, sizes: Value) -> Result<Value, OpError> {
        self.add_op(
            Broadcast { mode: Some(BroadcastMode::Bidirectional), ..Broadcast::default() },
            &[x, sizes],
        )
    }

    /// Broadcasts `x` to sizes computed by the graph, aligned at the last axis.
    pub fn broadcast_to(&self, x: Value, sizes: Value) -> Result<Value, OpError> {
        self.add_op(Broadcast { mode: Some(BroadcastMode::Numpy), ..Broadcast::default() }, &[x, sizes])
    }

    /// `start, start + step, ..` up to but excluding `stop`; all three are scalars.
    pub fn range(
        &self,
        start: Value,
        stop: Value,
        step: Value,
        element_type: ElementType,
    ) -> Result<Value, OpError> {
        self.add_op(Range { output_type: element_type, ..Range::default() }, &[start, stop, step])
    }

    /// `0, 1, ..` up to but excluding the only element of `stop`, as i64.
    pub fn count_to(&self, stop: Value) -> Result<Value, OpError> {
        let (start, stop, step) = (self.int(0)?, self.to_scalar(stop)?, self.int(1)?);
        self.range(start, stop, step, ElementType::I64)
    }
}
