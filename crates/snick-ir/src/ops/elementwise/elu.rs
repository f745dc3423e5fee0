//! Elu-1: `alpha (e^x - 1)` below zero.

use smallvec::smallvec;
use snick_tensor::Tensor;
use snick_tensor::kernels::{ElementFunction, UnaryOp};

use crate::{Arity, Attrs, Fact, Facts, Infer, OpDef, OpError, OpName, RawNode};

/// The exponential linear unit; any element type passes inference.
#[derive(Clone, PartialEq, Debug)]
pub struct Elu {
    /// What it tends to far below zero, with a minus; 0 if the file has none.
    pub alpha: f64,
}

impl OpDef for Elu {
    const NAMES: &'static [OpName] = &[OpName::openvino("Elu", &[1])];
    const ARITY: Arity = Arity::exactly(1);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        Ok(Self { alpha: raw.attrs.float("alpha")?.unwrap_or(0.0) })
    }

    fn attrs(&self) -> Attrs<'static> {
        Attrs::new().with("alpha", self.alpha)
    }

    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        Ok(smallvec![Fact::new(cx.element_type(0), cx.shape(0).clone())])
    }

    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Ok(vec![UnaryOp::Elu { alpha: self.alpha }.apply(&inputs[0])?])
    }

    fn element_function(&self, _: &[&Fact]) -> Option<ElementFunction> {
        Some(ElementFunction::Unary(UnaryOp::Elu { alpha: self.alpha }))
    }
}
