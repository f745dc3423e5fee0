//! HardSigmoid-1.

use snick_tensor::Tensor;
use snick_tensor::kernels::{ElementFunction, UnaryOp};

use super::domain::Domain;
use super::scalar_parameters::{self as parameters, or_default};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly};

op! {
    /// `alpha x + beta`, clamped to `0..=1`. Inputs: `x`, and the scalars `alpha` and `beta`. The output has
    /// the type and shape of `x`.
    #[op(
        "HardSigmoid", since = [1], inputs = Arity::exactly(3),
        category = Activation, traits = [PURE, ELEMENTWISE]
    )]
    pub struct HardSigmoid;
}

impl HardSigmoid {
    /// The effective slope: the OpenVINO runtime replaces 0 with the default of 0.2.
    pub fn alpha(given: f64) -> f64 {
        or_default(given, 0.2)
    }

    /// The effective shift: the OpenVINO runtime replaces 0 with the default of 0.5.
    pub fn beta(given: f64) -> f64 {
        or_default(given, 0.5)
    }

    fn function([alpha, beta]: [f64; 2]) -> UnaryOp {
        UnaryOp::HardSigmoid { alpha: Self::alpha(alpha), beta: Self::beta(beta) }
    }
}

impl InferOp for HardSigmoid {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        parameters::expect_scalars(cx)?;
        parameters::infer(cx, Domain::Any)
    }
}

impl EvalOp for HardSigmoid {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x, alpha, beta] = exactly(inputs)?;
        let parameters = [parameters::number(alpha)?, parameters::number(beta)?];
        Ok(vec![Self::function(parameters).apply(x)?])
    }

    fn element_function(&self, inputs: &[&Fact]) -> Option<ElementFunction> {
        let parameters = [parameters::known(inputs, 1)?, parameters::known(inputs, 2)?];
        Some(ElementFunction::Unary(Self::function(parameters)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_zero_mean_the_defaults() {
        let x = Tensor::from_vec(&[2], vec![-1f32, 2.0]).unwrap();
        let of = |alpha, beta| {
            let [alpha, beta] = [alpha, beta].map(|number| Tensor::full::<f32>(&[], number).unwrap());
            HardSigmoid.eval(&[x.clone(), alpha, beta]).unwrap()[0].to_f32_vec().unwrap()
        };
        assert_eq!(of(0.25, 0.5), [0.25, 1.0]);
        assert_eq!(of(0.0, 0.0), of(0.2, 0.5));
        assert_eq!(of(0.25, 0.0), of(0.25, 0.5));
        assert_eq!(of(0.0, 0.25), of(0.2, 0.25));
    }
}
