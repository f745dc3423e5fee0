//! BitwiseNot-13.

use snick_tensor::{Tensor, kernels};

use super::domain::Domain;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Bitwise complement. A boolean is a single bit.
    #[op(
        "BitwiseNot", since = [13], inputs = Arity::exactly(1),
        category = Elementwise, traits = [PURE, ELEMENTWISE]
    )]
    pub struct BitwiseNot;
}

impl InferOp for BitwiseNot {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let et = Domain::Integral.check("the input", cx.element_type(0))?;
        Ok(Facts::from(Fact::new(et, cx.shape(0).clone())))
    }
}

impl EvalOp for BitwiseNot {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Ok(vec![kernels::bitwise_not(&inputs[0])?])
    }
}
