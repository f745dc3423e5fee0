//! LogSoftmax-5.

use snick_tensor::{Tensor, kernels};

use super::softmax::{eval_along, infer_along};
use crate::{Arity, AxisMap, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// The logarithm of the softmax along an axis.
    #[op(
        "LogSoftmax", since = [5], inputs = Arity::exactly(1),
        category = Activation, traits = [PURE, FLOAT_FORMULA]
    )]
    pub struct LogSoftmax {
        /// The axis; negative axes count from the end.
        pub axis: i64 = 1,
    }
}

impl InferOp for LogSoftmax {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        infer_along(cx, self.axis)
    }

    fn axis_map(&self, inputs: &[&Fact], _: &Fact) -> Option<AxisMap> {
        Some(AxisMap::rows_but(inputs[0], &[self.axis])?.rounding(true))
    }
}

impl EvalOp for LogSoftmax {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        eval_along(&inputs[0], self.axis, kernels::log_softmax)
    }
}
