//! GRUCell-3.

use snick_tensor::Tensor;

use super::cell::GruAttrs;
use super::step::{eval_step, infer_step};
use crate::{Arity, EvalOp, Facts, Infer, InferOp, OpError};

op! {
    /// One step of a gated recurrent unit. Inputs: X `[batch, input]`, state H `[batch, hidden]`, W
    /// `[3 * hidden, input]`, R `[3 * hidden, hidden]` and B `[3 * hidden]` (`[4 * hidden]` with
    /// `linear_before_reset`), with gates in the order z, r, h. Output: the next H.
    #[op(
        "GRUCell", since = [3], inputs = Arity::exactly(5), category = Product, traits = [PURE, CONTRACTION],
        weights = [2, 3], name = was_extension()
    )]
    pub struct GruCell {
        /// The cell.
        pub gru: GruAttrs = GruAttrs::default(),
    }
}

impl InferOp for GruCell {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        infer_step(cx, self.gru.cell().kind)
    }
}

impl EvalOp for GruCell {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        eval_step(&self.gru.cell(), inputs)
    }
}
