//! Result-1: an output of the model.

use smallvec::smallvec;
use snick_tensor::Tensor;

use crate::{Arity, Facts, Infer, OpDef, OpError, OpName, RawNode};

/// An output of the model: hands its input out unchanged.
#[derive(Clone, PartialEq, Debug)]
pub struct GraphResult;

impl OpDef for GraphResult {
    const NAMES: &'static [OpName] = &[OpName::openvino("Result", &[1])];
    const ARITY: Arity = Arity::exactly(1);

    fn parse(_: &RawNode) -> Result<Self, OpError> {
        Ok(Self)
    }

    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        Ok(smallvec![cx.input(0).clone()])
    }

    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Ok(vec![inputs[0].clone()])
    }
}
