//! Assign-3, Assign-6: gives a variable its next value.

use smallvec::smallvec;
use snick_tensor::Tensor;

use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, OpTraits, RawNode};

/// Stores its input in a variable, for the next run, and passes it on.
#[derive(Clone, PartialEq, Debug)]
pub struct Assign {
    /// Which variable.
    pub variable_id: String,
}

impl OpDef for Assign {
    const NAMES: &'static [OpName] = &[OpName::openvino("Assign", &[3, 6])];
    const ARITY: Arity = Arity::exactly(1);
    const TRAITS: OpTraits = OpTraits::STATEFUL.union(OpTraits::ROOT).union(OpTraits::BOUNDARY);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        Ok(Self { variable_id: super::variable_id(raw)? })
    }

    fn attrs(&self) -> Attrs<'static> {
        Attrs::new().with("variable_id", self.variable_id.clone())
    }
}

impl InferOp for Assign {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        Ok(smallvec![Fact::new(cx.element_type(0), cx.shape(0).clone())])
    }
}

impl EvalOp for Assign {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Ok(inputs.to_vec())
    }
}
