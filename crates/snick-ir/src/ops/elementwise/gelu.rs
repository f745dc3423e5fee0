//! Gelu-2 and Gelu-7.

use snick_tensor::Tensor;
use snick_tensor::kernels::{ElementFunction, UnaryOp};

use super::domain::Domain;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, Since};

/// How Gelu is computed.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Approximation {
    /// With the error function.
    Erf,
    /// With tanh.
    Tanh,
}

op! {
    /// The Gaussian error linear unit: `x / 2 * (1 + erf(x / sqrt(2)))`.
    #[op(
        "Gelu", since = [2, 7], inputs = Arity::exactly(1),
        category = Activation, traits = [PURE, ELEMENTWISE]
    )]
    pub struct Gelu {
        /// The version.
        pub since: Since = Since(7),
        /// How to compute the function.
        #[since(7)]
        pub approximation_mode: Approximation = Approximation::Erf,
    }
}

attr_words!(Approximation { Erf = "ERF", Tanh = "TANH" });

impl InferOp for Gelu {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let et = Domain::Real.check("the input", cx.element_type(0))?;
        Ok(Facts::from(Fact::new(et, cx.shape(0).clone())))
    }
}

impl EvalOp for Gelu {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Ok(vec![self.function().apply(&inputs[0])?])
    }

    fn element_function(&self, _: &[&Fact]) -> Option<ElementFunction> {
        Some(ElementFunction::Unary(self.function()))
    }
}

impl Gelu {
    fn function(&self) -> UnaryOp {
        match self.approximation_mode {
            Approximation::Tanh => UnaryOp::GeluTanh,
            Approximation::Erf => UnaryOp::GeluErf,
        }
    }
}
