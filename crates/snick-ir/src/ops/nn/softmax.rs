//! SoftMax-1, SoftMax-8 and LogSoftmax-5: `e^x` along an axis divided by its sum, and the logarithm of that.
//!
//! From operation set 8 on the axis of SoftMax may be negative.

use smallvec::smallvec;
use snick_tensor::{Tensor, kernels};

use crate::{
    Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, OpTraits, RawNode,
    normalize_axis,
};

/// Softmax along one axis, or its logarithm.
#[derive(Clone, PartialEq, Debug)]
pub struct Softmax {
    /// Whether the logarithm is taken.
    pub log: bool,
    /// The axis, counted from either end.
    pub axis: i64,
}

const NAMES: [OpName; 2] = [OpName::openvino("SoftMax", &[1, 8]), OpName::openvino("LogSoftmax", &[5])];

impl OpDef for Softmax {
    const NAMES: &'static [OpName] = &NAMES;
    const ARITY: Arity = Arity::exactly(1);
    const TRAITS: OpTraits = OpTraits::PURE.union(OpTraits::FLOAT_FORMULA);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let axis = raw.attrs.int("axis")?.unwrap_or(1);
        if raw.since == 1 && axis < 0 {
            return Err(raw.attrs.bad("axis", "an integer that is not negative"));
        }
        Ok(Self { log: raw.op_type.eq_ignore_ascii_case(NAMES[1].name), axis })
    }

    fn attrs(&self) -> Attrs<'static> {
        Attrs::new().with("axis", self.axis)
    }

    fn name(&self) -> &'static OpName {
        &Self::NAMES[usize::from(self.log)]
    }
}

impl InferOp for Softmax {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        if let Some(rank) = cx.shape(0).rank() {
            self.position(rank)?;
        }
        Ok(smallvec![Fact::new(cx.element_type(0), cx.shape(0).clone())])
    }
}

impl EvalOp for Softmax {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data] = inputs else { return Ok(Vec::new()) };
        let axis = self.position(data.rank())?;
        // A scalar is one row of one element.
        let rows = if data.rank() == 0 { data.unsqueeze(0)? } else { data.clone() };
        let result =
            if self.log { kernels::log_softmax(&rows, axis)? } else { kernels::softmax(&rows, axis)? };
        Ok(vec![result.reshape(data.dims())?])
    }
}

impl Softmax {
    fn position(&self, rank: usize) -> Result<usize, OpError> {
        normalize_axis(self.axis, rank.max(1))
    }
}
