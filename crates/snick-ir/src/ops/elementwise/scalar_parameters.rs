//! Functions of one real number whose parameters are inputs of one element.
//!
//! HardSigmoid-1 (`alpha`, `beta`: scalars), Selu-1 (`alpha`, `lambda`), Swish-4 (`beta`: a scalar, 1 if it is not
//! there). The type and the shape of input 0 stay.

use smallvec::smallvec;
use snick_tensor::Tensor;
use snick_tensor::kernels::{ElementFunction, UnaryOp};

use super::domain::Domain;
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

macro_rules! op {
    ($(#[$doc:meta])* $op:ident, $since:literal, $arity:expr, $domain:expr, scalars: $scalars:literal,
     |$parameters:ident| $function:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Debug)]
        pub struct $op;

        impl OpDef for $op {
            const NAMES: &'static [OpName] = &[OpName::openvino(stringify!($op), &[$since])];
            const ARITY: Arity = $arity;

            fn parse(_: &RawNode) -> Result<Self, OpError> {
                Ok(Self)
            }

            fn attrs(&self) -> Attrs<'static> {
                Attrs::new()
            }
        }

        impl InferOp for $op {
            fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
                let et = $domain.check("the inputs", cx.common_type(0..cx.len()))?;
                if $scalars {
                    for i in 1..cx.len() {
                        cx.expect_rank(i, "0", |rank| rank == 0)?;
                    }
                }
                Ok(smallvec![Fact::new(et, cx.shape(0).clone())])
            }
        }

        impl EvalOp for $op {
            fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
                let mut $parameters = Vec::with_capacity(inputs.len());
                for input in &inputs[1..] {
                    $parameters.push(number(input)?);
                }
                let function: UnaryOp = $function;
                Ok(vec![function.apply(&inputs[0])?])
            }

            fn element_function(&self, inputs: &[&Fact]) -> Option<ElementFunction> {
                let parameters = inputs.iter().skip(1).map(|fact| number(fact.as_tensor()?).ok());
                let $parameters: Vec<f64> = parameters.collect::<Option<_>>()?;
                Some(ElementFunction::Unary($function))
            }
        }
    };
}

op! {
    /// `alpha x + beta`, kept within 0..1.
    HardSigmoid, 1, Arity::exactly(3), Domain::Any, scalars: true,
    |p| UnaryOp::HardSigmoid { alpha: HardSigmoid::alpha(p[0]), beta: HardSigmoid::beta(p[1]) }
}

impl HardSigmoid {
    /// The slope that `given` means: zero stands for the usual 0.2.
    pub fn alpha(given: f64) -> f64 {
        or_usual(given, 0.2)
    }

    /// The shift that `given` means: zero stands for the usual 0.5.
    pub fn beta(given: f64) -> f64 {
        or_usual(given, 0.5)
    }
}

op! {
    /// `lambda x`, or `lambda alpha (e^x - 1)` below zero.
    Selu, 1, Arity::exactly(3), Domain::Real, scalars: false,
    |p| UnaryOp::Selu { alpha: Selu::alpha(p[0]), lambda: Selu::lambda(p[1]) }
}

impl Selu {
    /// The `alpha` that `given` means: zero stands for the usual one.
    pub fn alpha(given: f64) -> f64 {
        or_usual(given, 1.673_263_242_354_377_2)
    }

    /// The `lambda` that `given` means: zero stands for the usual one.
    pub fn lambda(given: f64) -> f64 {
        or_usual(given, 1.050_700_987_355_480_5)
    }
}

/// A parameter of zero, with which a function would be no activation, stands for the usual one: so what runs models
/// takes it.
fn or_usual(given: f64, usual: f64) -> f64 {
    if given == 0.0 { usual } else { given }
}

op! {
    /// `x / (1 + e^(-beta x))`.
    Swish, 4, Arity::between(1, 2), Domain::Real, scalars: true,
    |p| UnaryOp::Swish { beta: p.first().copied().unwrap_or(1.0) }
}

/// The only element.
fn number(input: &Tensor) -> Result<f64, OpError> {
    match input.to_f64_vec()?.as_slice() {
        [number] => Ok(*number),
        all => Err(OpError::mismatch("the number of elements of a parameter", all.len(), 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_zero_are_the_usual_ones() {
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
