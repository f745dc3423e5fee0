//! Short forms of reductions, matrix products, softmax and similar ops.

use snick_tensor::kernels::ReduceOp;

use super::GraphBuilder;
use crate::ops::index_type::IndexType;
use crate::ops::movement::top_k::{TopKMode, TopKSort};
use crate::ops::{CumSum, LogSoftmax, MatMul, Reduce, Softmax, TopK};
use crate::{OpError, Value};

macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident => $op:ident),* $(,)?) => {
        impl GraphBuilder<'_> {
            $($(#[$doc])*
            pub fn $name(&self, x: Value, axes: &[i64], keep_dims: bool) -> Result<Value, OpError> {
                self.reduce(ReduceOp::$op, x, axes, keep_dims)
            })*
        }
    };
}

reductions! {
    /// The sum over axes.
    reduce_sum => Sum,
    /// The mean over axes.
    reduce_mean => Mean,
    /// The product over axes.
    reduce_prod => Prod,
    /// The maximum over axes.
    reduce_max => Max,
    /// The minimum over axes.
    reduce_min => Min,
    /// The sum of absolute values over axes.
    reduce_l1 => L1,
    /// The square root of the sum of squares over axes.
    reduce_l2 => L2,
    /// Whether all elements along the axes are true.
    reduce_logical_and => LogicalAnd,
    /// Whether any element along the axes is true.
    reduce_logical_or => LogicalOr,
}

impl GraphBuilder<'_> {
    /// A reduction over axes.
    pub fn reduce(
        &self,
        function: ReduceOp,
        x: Value,
        axes: &[i64],
        keep_dims: bool,
    ) -> Result<Value, OpError> {
        let axes = self.ints(axes)?;
        self.add_op(Reduce { function, keep_dims }, &[x, axes])
    }

    /// The matrix product of the last two axes.
    pub fn matmul(&self, x: Value, y: Value) -> Result<Value, OpError> {
        self.add_op(MatMul { transpose_a: false, transpose_b: false }, &[x, y])
    }

    /// The matrix product of `x` and the transpose of `y`, over the last two axes.
    pub fn matmul_transposed(&self, x: Value, y: Value) -> Result<Value, OpError> {
        self.add_op(MatMul { transpose_a: false, transpose_b: true }, &[x, y])
    }

    /// The softmax along an axis.
    pub fn softmax(&self, x: Value, axis: i64) -> Result<Value, OpError> {
        self.add_op(Softmax { axis, ..Softmax::default() }, &[x])
    }

    /// The logarithm of the softmax along an axis.
    pub fn log_softmax(&self, x: Value, axis: i64) -> Result<Value, OpError> {
        self.add_op(LogSoftmax { axis }, &[x])
    }

    /// The cumulative sum along an axis.
    pub fn cum_sum(&self, x: Value, axis: i64) -> Result<Value, OpError> {
        let axis = self.int(axis)?;
        self.add_op(CumSum { exclusive: false, reverse: false }, &[x, axis])
    }

    /// The `k` largest or smallest elements along an axis, sorted, and their indices as i64.
    pub fn top_k(&self, x: Value, k: Value, axis: i64, mode: TopKMode) -> Result<[Value; 2], OpError> {
        let (sort, index_element_type) = (TopKSort::Value, IndexType::I64);
        let op = TopK { axis, mode, sort, index_element_type, stable: true, ..TopK::default() };
        self.add_outputs(op, &[x, k])
    }
}
