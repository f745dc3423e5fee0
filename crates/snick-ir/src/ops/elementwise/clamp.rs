//! Clamp-1: every element kept between two bounds. Integers take the bounds rounded inwards.

use smallvec::smallvec;
use snick_shape::SymExpr;
use snick_tensor::kernels::{BinaryOp, ElementFunction, UnaryOp};
use snick_tensor::{ElementType, Tensor};

use super::domain::Domain;
use super::known_elements::{map, type_range};
use super::known_floats;
use crate::float_bounds::{FloatBounds, round};
use crate::{Arity, Attrs, Fact, Facts, Infer, OpDef, OpError, OpName, RawNode};

/// Keeps elements between `min` and `max`; a bound the file leaves out is 0.
#[derive(Clone, PartialEq, Debug)]
pub struct Clamp {
    /// The lower bound.
    pub min: f64,
    /// The upper bound.
    pub max: f64,
}

impl OpDef for Clamp {
    const NAMES: &'static [OpName] = &[OpName::openvino("Clamp", &[1])];
    const ARITY: Arity = Arity::exactly(1);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let min = raw.attrs.float("min")?.unwrap_or(0.0);
        let max = raw.attrs.float("max")?.unwrap_or(0.0);
        if min <= max {
            return Ok(Self { min, max });
        }
        Err(raw.attrs.bad("min", &format!("a number not above `max`, which is {max}")))
    }

    fn attrs(&self) -> Attrs<'static> {
        Attrs::new().with("min", self.min).with("max", self.max)
    }

    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let et = cx.element_type(0);
        if et != ElementType::String {
            Domain::Number.check("the input", et)?;
        }
        let fact = Fact::new(et, cx.shape(0).clone());
        if !et.is_integer() {
            let reals = known_floats::map(cx, |cx, real| self.real(cx, real, et));
            return Ok(smallvec![fact.with_reals(reals)]);
        }
        let range = type_range(et);
        let within = |bound: f64| SymExpr::from((bound as i64).clamp(range.lo(), range.hi()));
        let (min, max) = (within(self.min.ceil()), within(self.max.floor()));
        let elements = map(cx, |cx, element| {
            let raised = cx.max(element, &min);
            cx.min(&raised, &max)
        });
        Ok(smallvec![fact.with_elements(elements)])
    }

    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Ok(vec![self.function().apply(&inputs[0])?])
    }

    fn element_function(&self, _: &[&Fact]) -> Option<ElementFunction> {
        Some(ElementFunction::Unary(self.function()))
    }
}

impl Clamp {
    fn function(&self) -> UnaryOp {
        UnaryOp::Clamp { min: self.min, max: self.max }
    }

    /// A real number kept between the bounds.
    fn real(&self, cx: &mut Infer, real: &FloatBounds, et: ElementType) -> FloatBounds {
        if !real.is_bounded() {
            return FloatBounds::unknown(); // and maybe NaN
        }
        let [min, max] = [self.min, self.max].map(|bound| FloatBounds::constant(et, round(et, bound)));
        let raised = known_floats::binary(BinaryOp::Max, cx, real, &min, et);
        known_floats::binary(BinaryOp::Min, cx, &raised, &max, et)
    }
}
