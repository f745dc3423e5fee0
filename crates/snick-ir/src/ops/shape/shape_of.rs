//! ShapeOf-1 and ShapeOf-3.

use snick_shape::{Interval, Shape};
use snick_tensor::Tensor;

use crate::ops::index_type::IndexType;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, Since};

op! {
    /// The dims of the input as a vector.
    #[op(
        "ShapeOf", since = [1, 3], inputs = Arity::exactly(1),
        category = Movement, traits = [PURE, NO_ARITHMETIC], name = in_newest()
    )]
    pub struct ShapeOf {
        /// The version; version 1 always returns i64.
        pub since: Since = Since(3),
        /// The element type of the output.
        #[since(3)]
        pub output_type: IndexType = IndexType::I64,
    }
}

impl InferOp for ShapeOf {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let output_type = self.output_type.element_type();
        let Some(dims) = cx.shape(0).dims() else {
            let rank = cx.unknown(Interval::DIM);
            return Ok(Facts::from(Fact::new(output_type, Shape::ranked([rank]))));
        };
        let fact = Fact::new(output_type, Shape::from([dims.len() as i64]));
        Ok(Facts::from(fact.with_elements(Some(dims))))
    }
}

impl EvalOp for ShapeOf {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let sizes = inputs[0].dims().iter().map(|&d| d as i64).collect();
        let sizes = Tensor::from_vec(&[inputs[0].rank()], sizes)?;
        Ok(vec![sizes.cast(self.output_type.element_type())?])
    }
}
