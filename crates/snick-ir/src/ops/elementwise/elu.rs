//! Elu-1.

use snick_tensor::Tensor;
use snick_tensor::kernels::{ElementFunction, UnaryOp};

use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// The exponential linear unit: `alpha (e^x - 1)` below zero, `x` elsewhere. Inference accepts any
    /// element type.
    #[op(
        "Elu", since = [1], inputs = Arity::exactly(1),
        category = Activation, traits = [PURE, ELEMENTWISE, FLOAT_FORMULA]
    )]
    pub struct Elu {
        /// The output approaches `-alpha` for large negative inputs.
        pub alpha: f64 = 0.0,
    }
}

impl InferOp for Elu {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        Ok(Facts::from(Fact::new(cx.element_type(0), cx.shape(0).clone())))
    }
}

impl EvalOp for Elu {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Ok(vec![UnaryOp::Elu { alpha: self.alpha }.apply(&inputs[0])?])
    }

    fn element_function(&self, _: &[&Fact]) -> Option<ElementFunction> {
        Some(ElementFunction::Unary(UnaryOp::Elu { alpha: self.alpha }))
    }
}
