//! Parameter-1.

use snick_shape::ShapeSpec;
use snick_tensor::{ElementType, Tensor};

use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// An input of the model.
    #[op("Parameter", since = [1], inputs = Arity::exactly(0), traits = [ROOT], name = in_newest())]
    pub struct Parameter {
        /// The element type of what is given.
        pub element_type: ElementType,
        /// The shapes that may be given: dims, intervals, symbols.
        pub shape: ShapeSpec,
    }
}

impl InferOp for Parameter {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let origin = cx.origin();
        let shape = self.shape.instantiate(cx.symbols(), origin)?;
        Ok(Facts::from(Fact::new(self.element_type, shape)))
    }
}

impl EvalOp for Parameter {
    fn eval(&self, _: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Err(OpError::InputNotProvided)
    }
}
