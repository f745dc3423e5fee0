//! RNNCell-1.

use snick_tensor::Tensor;

use super::cell::{CellKind, RnnAttrs};
use super::step::{eval_step, infer_step};
use crate::{Arity, EvalOp, Facts, Infer, InferOp, OpError};

op! {
    /// One step of a simple recurrent network: `f(X W^T + H R^T + B)`. Inputs: X `[batch, input]`, state H
    /// `[batch, hidden]`, W `[hidden, input]`, R `[hidden, hidden]` and B `[hidden]`. Output: the next H.
    #[op(
        "RNNCell", since = [1], inputs = Arity::exactly(5), category = Product, traits = [PURE, CONTRACTION],
        weights = [2, 3], name = missing_in(2, 2).was_extension()
    )]
    pub struct RnnCell {
        /// The cell.
        pub rnn: RnnAttrs = RnnAttrs::default(),
    }
}

impl InferOp for RnnCell {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        infer_step(cx, CellKind::Rnn)
    }
}

impl EvalOp for RnnCell {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        eval_step(&self.rnn.cell(), inputs)
    }
}
