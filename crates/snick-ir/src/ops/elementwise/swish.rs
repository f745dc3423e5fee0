//! Swish-4.

use snick_tensor::Tensor;
use snick_tensor::kernels::{ElementFunction, UnaryOp};

use super::domain::Domain;
use super::scalar_parameters as parameters;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// `x / (1 + e^(-beta x))`. Inputs: `x`, and optionally the scalar `beta`, which defaults to 1. The
    /// output has the type and shape of `x`.
    #[op(
        "Swish", since = [4], inputs = Arity::between(1, 2),
        category = Activation, traits = [PURE, ELEMENTWISE]
    )]
    pub struct Swish;
}

impl InferOp for Swish {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let facts = parameters::infer(cx, Domain::Real)?;
        parameters::expect_scalars(cx)?;
        Ok(facts)
    }
}

impl EvalOp for Swish {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let beta = inputs.get(1).map_or(Ok(1.0), parameters::number)?;
        Ok(vec![UnaryOp::Swish { beta }.apply(&inputs[0])?])
    }

    fn element_function(&self, inputs: &[&Fact]) -> Option<ElementFunction> {
        let beta = if inputs.len() > 1 { parameters::known(inputs, 1)? } else { 1.0 };
        Some(ElementFunction::Unary(UnaryOp::Swish { beta }))
    }
}
