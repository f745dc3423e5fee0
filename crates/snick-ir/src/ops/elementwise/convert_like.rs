//! ConvertLike-1.

use snick_tensor::Tensor;

use super::convert::converted;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Converts input 0 to the element type of input 1, like Convert.
    #[op(
        "ConvertLike", since = [1], inputs = Arity::exactly(2),
        category = Elementwise, traits = [PURE, NO_ARITHMETIC]
    )]
    pub struct ConvertLike;
}

impl InferOp for ConvertLike {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let et = cx.element_type(1);
        let fact = Fact::new(et, cx.shape(0).clone());
        converted(cx, fact).map(Facts::from)
    }
}

impl EvalOp for ConvertLike {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Ok(vec![inputs[0].cast(inputs[1].element_type())?])
    }
}
