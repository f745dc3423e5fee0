//! Parameter-1: an input of the model.

use smallvec::smallvec;
use snick_shape::ShapeSpec;
use snick_tensor::{ElementType, Tensor};

use crate::attrs::missing;
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, OpTraits, RawNode};

/// An input of the model. Its `shape` says what may be given: dims, intervals, symbols.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    /// Element type of what is given.
    pub element_type: ElementType,
    /// Shapes that may be given.
    pub shape: ShapeSpec,
}

impl OpDef for Parameter {
    const NAMES: &'static [OpName] = &[OpName::openvino("Parameter", &[1]).in_newest()];
    const ARITY: Arity = Arity::exactly(0);
    const TRAITS: OpTraits = OpTraits::ROOT;

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        Ok(Self {
            element_type: raw.attrs.element_type("element_type")?.ok_or(missing("element_type"))?,
            shape: raw.attrs.shape("shape")?.ok_or(missing("shape"))?,
        })
    }

    fn attrs(&self) -> Attrs<'static> {
        Attrs::new().with("element_type", self.element_type).with("shape", self.shape.to_string())
    }
}

impl InferOp for Parameter {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let origin = cx.origin();
        let shape = self.shape.instantiate(cx.symbols(), origin)?;
        Ok(smallvec![Fact::new(self.element_type, shape)])
    }
}

impl EvalOp for Parameter {
    fn eval(&self, _: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Err(OpError::InputNotProvided)
    }
}
