//! Convert-1: the same numbers in another element type.

use smallvec::smallvec;
use snick_tensor::{ElementType, Tensor};

use super::known_elements::converted;
use crate::{Arity, Attrs, Fact, Facts, Infer, OpDef, OpError, OpName, RawNode};

/// Converts every element to another type, as OpenVINO's Convert-1 does: reals are cut to integers, integers wrap.
#[derive(Clone, PartialEq, Debug)]
pub struct Convert {
    /// The type of the output; `Dynamic` if the file does not say, which can be inferred and not run.
    pub destination_type: ElementType,
}

impl OpDef for Convert {
    const NAMES: &'static [OpName] = &[OpName::openvino("Convert", &[1])];
    const ARITY: Arity = Arity::exactly(1);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let destination_type = raw.attrs.element_type("destination_type")?;
        Ok(Self { destination_type: destination_type.unwrap_or(ElementType::Dynamic) })
    }

    fn attrs(&self) -> Attrs<'static> {
        Attrs::new().with("destination_type", self.destination_type)
    }

    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let fact = Fact::new(self.destination_type, cx.shape(0).clone());
        let elements = converted(cx, self.destination_type);
        Ok(smallvec![fact.with_elements(elements)])
    }

    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Ok(vec![inputs[0].cast(self.destination_type)?])
    }
}
