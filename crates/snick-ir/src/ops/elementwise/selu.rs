//! Selu-1.

use snick_tensor::Tensor;
use snick_tensor::kernels::{ElementFunction, UnaryOp};

use super::domain::Domain;
use super::scalar_parameters::{self as parameters, or_default};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly};

op! {
    /// The scaled exponential linear unit: `lambda x`, and `lambda alpha (e^x - 1)` below zero. Inputs: `x`,
    /// and `alpha` and `lambda`, each of one element. The output has the type and shape of `x`.
    #[op("Selu", since = [1], inputs = Arity::exactly(3), category = Activation, traits = [PURE, ELEMENTWISE])]
    pub struct Selu;
}

impl Selu {
    /// The effective `alpha`: the OpenVINO runtime replaces 0 with the default.
    pub fn alpha(given: f64) -> f64 {
        or_default(given, 1.673_263_242_354_377_2)
    }

    /// The effective `lambda`: the OpenVINO runtime replaces 0 with the default.
    pub fn lambda(given: f64) -> f64 {
        or_default(given, 1.050_700_987_355_480_5)
    }

    fn function([alpha, lambda]: [f64; 2]) -> UnaryOp {
        UnaryOp::Selu { alpha: Self::alpha(alpha), lambda: Self::lambda(lambda) }
    }
}

impl InferOp for Selu {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        parameters::infer(cx, Domain::Real)
    }
}

impl EvalOp for Selu {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x, alpha, lambda] = exactly(inputs)?;
        let parameters = [parameters::number(alpha)?, parameters::number(lambda)?];
        Ok(vec![Self::function(parameters).apply(x)?])
    }

    fn element_function(&self, inputs: &[&Fact]) -> Option<ElementFunction> {
        let parameters = [parameters::known(inputs, 1)?, parameters::known(inputs, 2)?];
        Some(ElementFunction::Unary(Self::function(parameters)))
    }
}
