//! BitwiseNot-13: every bit of an integer turned; booleans are one bit.

use smallvec::smallvec;
use snick_tensor::{Tensor, kernels};

use super::domain::Domain;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// Turns every bit.
#[derive(Clone, PartialEq, Debug)]
pub struct BitwiseNot;

impl OpDef for BitwiseNot {
    const NAMES: &'static [OpName] = &[OpName::openvino("BitwiseNot", &[13])];
    const ARITY: Arity = Arity::exactly(1);

    fn parse(_: &RawNode) -> Result<Self, OpError> {
        Ok(Self)
    }
}

impl InferOp for BitwiseNot {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let et = Domain::Integral.check("the input", cx.element_type(0))?;
        Ok(smallvec![Fact::new(et, cx.shape(0).clone())])
    }
}

impl EvalOp for BitwiseNot {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Ok(vec![kernels::bitwise_not(&inputs[0])?])
    }
}
