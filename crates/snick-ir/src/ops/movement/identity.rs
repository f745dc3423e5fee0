//! Identity-16.

use snick_tensor::Tensor;

use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Returns the input unchanged.
    #[op("Identity", since = [16], inputs = Arity::exactly(1), category = Movement, traits = [PURE, VIEW])]
    pub struct Identity;
}

impl InferOp for Identity {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let fact: Fact = cx.input(0).clone();
        Ok(Facts::from(fact))
    }
}

impl EvalOp for Identity {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Ok(vec![inputs[0].clone()])
    }
}
