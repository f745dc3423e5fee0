//! Result-1: an output of the model.

use smallvec::smallvec;
use snick_tensor::Tensor;

use crate::{Arity, EvalOp, Facts, Infer, InferOp, OpDef, OpError, OpName, OpTraits, RawNode};

/// An output of the model: hands its input out unchanged.
#[derive(Clone, PartialEq, Debug)]
pub struct GraphResult;

impl OpDef for GraphResult {
    const NAMES: &'static [OpName] = &[OpName::openvino("Result", &[1])];
    const ARITY: Arity = Arity::exactly(1);
    const TRAITS: OpTraits = OpTraits::PURE.union(OpTraits::ROOT).union(OpTraits::BOUNDARY);

    fn parse(_: &RawNode) -> Result<Self, OpError> {
        Ok(Self)
    }
}

impl InferOp for GraphResult {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        Ok(smallvec![cx.input(0).clone()])
    }
}

impl EvalOp for GraphResult {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Ok(vec![inputs[0].clone()])
    }
}
