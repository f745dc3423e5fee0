//! Questions about reals, answered by booleans: IsFinite-10, IsInf-10 (of which sign), IsNaN-10.

use smallvec::smallvec;
use snick_tensor::kernels::TestOp;
use snick_tensor::{ElementType, Tensor};

use super::domain::Domain;
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// A question about every element.
#[derive(Clone, PartialEq, Debug)]
pub struct FloatTest {
    /// Which.
    pub function: TestOp,
}

impl OpDef for FloatTest {
    const NAMES: &'static [OpName] = &[
        OpName::openvino("IsFinite", &[10]),
        OpName::openvino("IsInf", &[10]),
        OpName::openvino("IsNaN", &[10]),
    ];
    const ARITY: Arity = Arity::exactly(1);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let function = match raw.row(Self::NAMES) {
            0 => TestOp::IsFinite,
            1 => TestOp::IsInf {
                negative: raw.attrs.bool("detect_negative")?.unwrap_or(true),
                positive: raw.attrs.bool("detect_positive")?.unwrap_or(true),
            },
            _ => TestOp::IsNaN,
        };
        Ok(Self { function })
    }

    fn attrs(&self) -> Attrs<'static> {
        match self.function {
            TestOp::IsInf { negative, positive } => {
                Attrs::new().with("detect_negative", negative).with("detect_positive", positive)
            }
            _ => Attrs::new(),
        }
    }

    fn name(&self) -> &'static OpName {
        match self.function {
            TestOp::IsFinite => &Self::NAMES[0],
            TestOp::IsInf { .. } => &Self::NAMES[1],
            TestOp::IsNaN => &Self::NAMES[2],
        }
    }
}

impl InferOp for FloatTest {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        Domain::Real.check("the input", cx.element_type(0))?;
        Ok(smallvec![Fact::new(ElementType::Boolean, cx.shape(0).clone())])
    }
}

impl EvalOp for FloatTest {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Ok(vec![self.function.apply(&inputs[0])?])
    }
}
