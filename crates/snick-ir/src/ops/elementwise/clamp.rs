//! Clamp-1.

use snick_shape::SymExpr;
use snick_tensor::kernels::{BinaryOp, ElementFunction, UnaryOp};
use snick_tensor::{ElementType, Tensor};

use super::domain::Domain;
use super::known_elements::{map, type_range};
use super::known_floats;
use crate::float_bounds::{FloatBounds, round};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, RawNode};

op! {
    /// Limits every element to `min..=max`. For integers, the bounds are rounded inwards.
    #[op(
        "Clamp", since = [1], inputs = Arity::exactly(1), category = Activation, traits = [PURE, ELEMENTWISE],
        check = Self::check_bounds
    )]
    pub struct Clamp {
        /// The lower bound.
        pub min: f64 = 0.0,
        /// The upper bound.
        pub max: f64 = 0.0,
    }
}

impl InferOp for Clamp {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let et = cx.element_type(0);
        if et != ElementType::String {
            Domain::Number.check("the input", et)?;
        }
        let fact = Fact::new(et, cx.shape(0).clone());
        if !et.is_integer() {
            let reals = known_floats::map(cx, |cx, real| self.real(cx, real, et));
            return Ok(Facts::from(fact.with_reals(reals)));
        }
        let range = type_range(et);
        let within = |bound: f64| SymExpr::from((bound as i64).clamp(range.lo(), range.hi()));
        let (min, max) = (within(self.min.ceil()), within(self.max.floor()));
        let elements = map(cx, |cx, element| {
            let raised = cx.max(element, &min);
            cx.min(&raised, &max)
        });
        Ok(Facts::from(fact.with_elements(elements)))
    }
}

impl EvalOp for Clamp {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Ok(vec![self.function().apply(&inputs[0])?])
    }

    fn element_function(&self, _: &[&Fact]) -> Option<ElementFunction> {
        Some(ElementFunction::Unary(self.function()))
    }
}

impl Clamp {
    fn check_bounds(&self, raw: &RawNode) -> Result<(), OpError> {
        match self.min <= self.max {
            true => Ok(()),
            false => Err(raw.attrs.bad("min", &format!("a number not above `max`, which is {}", self.max))),
        }
    }

    fn function(&self) -> UnaryOp {
        UnaryOp::Clamp { min: self.min, max: self.max }
    }

    /// The bounds of a real number after clamping.
    fn real(&self, cx: &mut Infer, real: &FloatBounds, et: ElementType) -> FloatBounds {
        if !real.is_bounded() {
            return FloatBounds::unknown(); // possibly NaN
        }
        let [min, max] = [self.min, self.max].map(|bound| FloatBounds::constant(et, round(et, bound)));
        let raised = known_floats::binary(BinaryOp::Max, cx, real, &min, et);
        known_floats::binary(BinaryOp::Min, cx, &raised, &max, et)
    }
}
