//! Parameter-1.

use snick_shape::ShapeSpec;
use snick_tensor::{ElementType, Tensor};

use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// An input of the model.
    #[op(
        "Parameter", since = [1], inputs = Arity::exactly(0),
        category = Source, traits = [ROOT, NO_ARITHMETIC], name = in_newest()
    )]
    pub struct Parameter {
        /// The element type of the input.
        pub element_type: ElementType,
        /// The allowed shapes: dims, intervals or symbols.
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
