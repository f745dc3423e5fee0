//! Short forms of ops that move elements.

use snick_tensor::kernels::PadMode;

use super::GraphBuilder;
use crate::ops::{Concat, Gather, GatherElements, NonZero, Pad, ScatterElementsUpdate, Tile, Transpose};
use crate::{OpError, Value};

impl GraphBuilder<'_> {
    /// Concatenates values along an axis; returns a single value unchanged.
    pub fn concat(&self, axis: i64, values: &[Value]) -> Result<Value, OpError> {
        match values {
            [single] => Ok(*single),
            _ => self.add_op(Concat { axis }, values),
        }
    }

    /// Gathers elements of `x` along an axis.
    pub fn gather(&self, x: Value, indices: Value, axis: i64) -> Result<Value, OpError> {
        let axis = self.int(axis)?;
        self.add_op(Gather::default(), &[x, indices, axis])
    }

    /// Gathers elements of `x` along an axis, with an index for each output element.
    pub fn gather_elements(&self, x: Value, indices: Value, axis: i64) -> Result<Value, OpError> {
        self.add_op(GatherElements { axis }, &[x, indices])
    }

    /// Replaces the elements of `x` at `indices` along an axis with `updates`.
    pub fn scatter_elements(
        &self,
        x: Value,
        indices: Value,
        updates: Value,
        axis: i64,
    ) -> Result<Value, OpError> {
        let axis = self.int(axis)?;
        let op = ScatterElementsUpdate::default();
        self.add_op(op, &[x, indices, updates, axis])
    }

    /// Permutes the axes of `x`.
    pub fn transpose(&self, x: Value, order: &[i64]) -> Result<Value, OpError> {
        let order = self.ints(order)?;
        self.add_op(Transpose, &[x, order])
    }

    /// Repeats `x` along each axis.
    pub fn tile(&self, x: Value, repeats: &[i64]) -> Result<Value, OpError> {
        let repeats = self.ints(repeats)?;
        self.add_op(Tile, &[x, repeats])
    }

    /// Adds `begin` elements before and `end` elements after each axis, all equal to the scalar `fill`.
    pub fn pad(&self, x: Value, begin: &[i64], end: &[i64], fill: Value) -> Result<Value, OpError> {
        let (begin, end) = (self.ints(begin)?, self.ints(end)?);
        self.pad_by(x, begin, end, fill)
    }

    /// Like [`GraphBuilder::pad`], with counts computed by the graph.
    pub fn pad_by(&self, x: Value, begin: Value, end: Value, fill: Value) -> Result<Value, OpError> {
        self.add_op(Pad { pad_mode: PadMode::Constant }, &[x, begin, end, fill])
    }

    /// The indices of the non-zero elements, one column for each element.
    pub fn non_zero(&self, x: Value) -> Result<Value, OpError> {
        self.add_op(NonZero::default(), &[x])
    }
}
