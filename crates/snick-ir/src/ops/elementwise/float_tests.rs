//! IsFinite-10, IsInf-10 and IsNaN-10.

use snick_tensor::kernels::TestOp;
use snick_tensor::{ElementType, Tensor};

use super::domain::Domain;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Whether each element is finite: neither infinite nor NaN.
    #[op(
        "IsFinite", since = [10], inputs = Arity::exactly(1),
        category = Elementwise, traits = [PURE, ELEMENTWISE]
    )]
    pub struct IsFinite;
}

op! {
    /// Whether each element is infinite.
    #[op(
        "IsInf", since = [10], inputs = Arity::exactly(1),
        category = Elementwise, traits = [PURE, ELEMENTWISE]
    )]
    pub struct IsInf {
        /// Whether negative infinity counts.
        pub detect_negative: bool = true,
        /// Whether positive infinity counts.
        pub detect_positive: bool = true,
    }
}

op! {
    /// Whether each element is NaN.
    #[op(
        "IsNaN", since = [10], inputs = Arity::exactly(1),
        category = Elementwise, traits = [PURE, ELEMENTWISE]
    )]
    pub struct IsNaN;
}

macro_rules! float_test {
    ($op:ident, |$self:ident| $function:expr) => {
        impl InferOp for $op {
            fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
                Domain::Real.check("the input", cx.element_type(0))?;
                Ok(Facts::from(Fact::new(ElementType::Boolean, cx.shape(0).clone())))
            }
        }

        impl EvalOp for $op {
            fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
                let $self = self;
                Ok(vec![$function.apply(&inputs[0])?])
            }
        }
    };
}

float_test!(IsFinite, |_op| TestOp::IsFinite);
float_test!(IsInf, |op| TestOp::IsInf { negative: op.detect_negative, positive: op.detect_positive });
float_test!(IsNaN, |_op| TestOp::IsNaN);
