//! ConvertLike-1: the same numbers in the element type of another input.

use smallvec::smallvec;
use snick_tensor::Tensor;

use super::convert::converted;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// Converts input 0 to the element type of input 1, as Convert does.
#[derive(Clone, PartialEq, Debug)]
pub struct ConvertLike;

impl OpDef for ConvertLike {
    const NAMES: &'static [OpName] = &[OpName::openvino("ConvertLike", &[1])];
    const ARITY: Arity = Arity::exactly(2);

    fn parse(_: &RawNode) -> Result<Self, OpError> {
        Ok(Self)
    }
}

impl InferOp for ConvertLike {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let et = cx.element_type(1);
        let fact = Fact::new(et, cx.shape(0).clone());
        Ok(smallvec![converted(cx, fact)])
    }
}

impl EvalOp for ConvertLike {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Ok(vec![inputs[0].cast(inputs[1].element_type())?])
    }
}
