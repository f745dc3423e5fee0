//! Short forms of slices.

use super::{GraphBuilder, StridedSliceMasks};
use crate::ops::slice::dyn_axis_slice::{AxisSlices, DynAxisSlice};
use crate::ops::{Slice, Slice8, Split, StridedSlice, VariadicSplit};
use crate::{OpError, Value};
use snick_tensor::SmallVector;

impl GraphBuilder<'_> {
    /// The `slice` primitive on distinct axes; returns `x` itself if there are no slices.
    pub fn slice(
        &self,
        x: Value,
        axes: impl IntoIterator<Item = (usize, impl Into<DynAxisSlice>)>,
    ) -> Result<Value, OpError> {
        let slices = axes.into_iter().map(|(axis, slice)| (axis, Into::<DynAxisSlice>::into(slice)));
        self.slice_axes(x, slices.collect())
    }

    /// The part of [`GraphBuilder::slice`] that is not generic, so that it is compiled only once.
    fn slice_axes(&self, x: Value, mut slices: AxisSlices) -> Result<Value, OpError> {
        slices.sort_by_key(|&(axis, _)| axis);
        let mut op = Slice { axes: SmallVector::new() };
        let mut inputs: SmallVector<Value, 5> = SmallVector::from([x]);
        for (axis, slice) in slices {
            let (slice, operands) = slice.unbind();
            op.axes.push((axis, slice));
            inputs.extend(operands);
        }
        if op.axes.is_empty() { Ok(x) } else { self.add_op(op, &inputs) }
    }

    /// Slice-8: `x[start:stop:step]` on listed axes.
    pub fn slice8(
        &self,
        x: Value,
        start: &[i64],
        stop: &[i64],
        step: &[i64],
        axes: &[i64],
    ) -> Result<Value, OpError> {
        let inputs = [x, self.ints(start)?, self.ints(stop)?, self.ints(step)?, self.ints(axes)?];
        self.add_op(Slice8, &inputs)
    }

    /// `x[start:stop]` on one axis.
    pub fn slice_range(&self, x: Value, axis: i64, start: i64, stop: i64) -> Result<Value, OpError> {
        self.slice8(x, &[start], &[stop], &[1], &[axis])
    }

    /// StridedSlice-1: `x[begin:end:stride]` with masks.
    pub fn strided_slice(
        &self,
        x: Value,
        begin: &[i64],
        end: &[i64],
        stride: &[i64],
        masks: StridedSliceMasks,
    ) -> Result<Value, OpError> {
        let inputs = [x, self.ints(begin)?, self.ints(end)?, self.ints(stride)?];
        self.add_op(StridedSlice::from(masks), &inputs)
    }

    /// Splits `x` into equal parts along an axis.
    pub fn split(&self, x: Value, axis: i64, parts: usize) -> Result<Vec<Value>, OpError> {
        let axis = self.int(axis)?;
        self.add_op_with_outputs(Split { num_splits: parts as i64 }, &[x, axis], parts)
    }

    /// Splits `x` into parts of these sizes along an axis.
    pub fn variadic_split(&self, x: Value, axis: i64, sizes: &[i64]) -> Result<Vec<Value>, OpError> {
        let inputs = [x, self.int(axis)?, self.ints(sizes)?];
        self.add_op_with_outputs(VariadicSplit, &inputs, sizes.len())
    }
}
