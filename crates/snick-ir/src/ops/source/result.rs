//! Result-1.

use snick_tensor::Tensor;

use crate::{Arity, EvalOp, Facts, Infer, InferOp, OpError};

op! {
    /// An output of the model, which returns its input unchanged.
    #[op(
        "Result", since = [1], inputs = Arity::exactly(1),
        category = Source, traits = [PURE, ROOT, BOUNDARY, VIEW]
    )]
    pub struct GraphResult;
}

impl InferOp for GraphResult {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        Ok(Facts::from(cx.input(0).clone()))
    }
}

impl EvalOp for GraphResult {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Ok(vec![inputs[0].clone()])
    }
}
