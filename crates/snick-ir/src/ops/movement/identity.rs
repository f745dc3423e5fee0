//! Identity-16: its input, unchanged.

use smallvec::smallvec;
use snick_tensor::Tensor;

use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// Gives its input back.
#[derive(Clone, PartialEq, Debug)]
pub struct Identity;

impl OpDef for Identity {
    const NAMES: &'static [OpName] = &[OpName::openvino("Identity", &[16])];
    const ARITY: Arity = Arity::exactly(1);

    fn parse(_: &RawNode) -> Result<Self, OpError> {
        Ok(Self)
    }
}

impl InferOp for Identity {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let fact: Fact = cx.input(0).clone();
        Ok(smallvec![fact])
    }
}

impl EvalOp for Identity {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Ok(vec![inputs[0].clone()])
    }
}
