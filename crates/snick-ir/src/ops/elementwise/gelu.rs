//! Gelu-2 and Gelu-7: the Gaussian error linear unit. Gelu-7 may approximate it by tanh.

use smallvec::smallvec;
use snick_tensor::Tensor;
use snick_tensor::kernels::{ElementFunction, UnaryOp};

use super::domain::Domain;
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// How Gelu is computed.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Approximation {
    /// By the error function.
    Erf,
    /// By tanh.
    Tanh,
}

/// `x / 2 (1 + erf(x / sqrt 2))`.
#[derive(Clone, PartialEq, Debug)]
pub struct Gelu {
    /// How it is computed; Gelu-2 has no choice.
    pub approximation_mode: Option<Approximation>,
}

const MODES: &[(&str, Approximation)] = &[("ERF", Approximation::Erf), ("TANH", Approximation::Tanh)];

impl OpDef for Gelu {
    const NAMES: &'static [OpName] = &[OpName::openvino("Gelu", &[2, 7])];
    const ARITY: Arity = Arity::exactly(1);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let approximation_mode = match raw.since {
            2 => None,
            _ => Some(raw.attrs.choice("approximation_mode", MODES)?.unwrap_or(Approximation::Erf)),
        };
        Ok(Self { approximation_mode })
    }

    fn attrs(&self) -> Attrs<'static> {
        match self.approximation_mode {
            None => Attrs::new(),
            Some(Approximation::Erf) => Attrs::new().with("approximation_mode", "ERF"),
            Some(Approximation::Tanh) => Attrs::new().with("approximation_mode", "TANH"),
        }
    }
}

impl InferOp for Gelu {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let et = Domain::Real.check("the input", cx.element_type(0))?;
        Ok(smallvec![Fact::new(et, cx.shape(0).clone())])
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
            Some(Approximation::Tanh) => UnaryOp::GeluTanh,
            _ => UnaryOp::GeluErf,
        }
    }
}
