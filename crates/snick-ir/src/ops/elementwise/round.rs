//! Round-5: to the nearest integer; the mode says where halves go.

use smallvec::smallvec;
use snick_tensor::Tensor;
use snick_tensor::kernels::{ElementFunction, UnaryOp};

use super::known_elements::map;
use super::known_floats;
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// The nearest integer; any element type passes inference.
#[derive(Clone, PartialEq, Debug)]
pub struct Round {
    /// Halves go away from zero, and not to the even neighbour.
    pub half_away_from_zero: bool,
}

const MODES: &[(&str, bool)] = &[("half_to_even", false), ("half_away_from_zero", true)];

impl OpDef for Round {
    const NAMES: &'static [OpName] = &[OpName::openvino("Round", &[5])];
    const ARITY: Arity = Arity::exactly(1);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        Ok(Self { half_away_from_zero: raw.attrs.choice("mode", MODES)?.unwrap_or(false) })
    }

    fn attrs(&self) -> Attrs<'static> {
        Attrs::new().with("mode", MODES[usize::from(self.half_away_from_zero)].0)
    }
}

impl InferOp for Round {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let fact = Fact::new(cx.element_type(0), cx.shape(0).clone());
        let elements = map(cx, |_, element| element.clone());
        let et = cx.element_type(0);
        let reals = known_floats::map(cx, |cx, real| known_floats::unary(self.function(), cx, real, et));
        Ok(smallvec![fact.with_reals(reals).with_elements(elements)])
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
        match self.half_away_from_zero {
            true => UnaryOp::RoundHalfAwayFromZero,
            false => UnaryOp::RoundHalfToEven,
        }
    }
}
