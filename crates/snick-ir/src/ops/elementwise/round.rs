//! Round-5.

use snick_tensor::Tensor;
use snick_tensor::kernels::{ElementFunction, UnaryOp};

use super::known_elements::map;
use super::known_floats;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Rounds to the nearest integer. Inference accepts any element type.
    #[op(
        "Round", since = [5], inputs = Arity::exactly(1),
        category = Elementwise, traits = [PURE, ELEMENTWISE]
    )]
    pub struct Round {
        /// How halves are rounded.
        pub mode: RoundMode = RoundMode::HalfToEven,
    }
}

/// How halves are rounded.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum RoundMode {
    /// To the even neighbour.
    HalfToEven,
    /// Away from zero.
    HalfAwayFromZero,
}

attr_words!(RoundMode { HalfToEven = "half_to_even", HalfAwayFromZero = "half_away_from_zero" });

impl InferOp for Round {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let fact = Fact::new(cx.element_type(0), cx.shape(0).clone());
        let elements = map(cx, |_, element| element.clone());
        let et = cx.element_type(0);
        let reals = known_floats::map(cx, |cx, real| known_floats::unary(self.function(), cx, real, et));
        Ok(Facts::from(fact.with_reals(reals).with_elements(elements)))
    }
}

impl EvalOp for Round {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        match inputs[0].element_type().is_float() {
            true => Ok(vec![self.function().apply(&inputs[0])?]),
            false => Ok(vec![inputs[0].clone()]),
        }
    }

    fn element_function(&self, _: &[&Fact]) -> Option<ElementFunction> {
        Some(ElementFunction::Unary(self.function()))
    }
}

impl Round {
    fn function(&self) -> UnaryOp {
        match self.mode {
            RoundMode::HalfAwayFromZero => UnaryOp::RoundHalfAwayFromZero,
            RoundMode::HalfToEven => UnaryOp::RoundHalfToEven,
        }
    }
}
