//! Assign-3 and Assign-6.

use snick_tensor::Tensor;

use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Stores its input in a variable for the next run, and returns it.
    #[op(
        "Assign", since = [3, 6], inputs = Arity::exactly(1),
        category = State, traits = [STATEFUL, ROOT, BOUNDARY, VIEW]
    )]
    pub struct Assign {
        /// The name of the variable.
        pub variable_id: String,
    }
}

impl InferOp for Assign {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        Ok(Facts::from(Fact::new(cx.element_type(0), cx.shape(0).clone())))
    }
}

impl EvalOp for Assign {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Ok(inputs.to_vec())
    }
}
