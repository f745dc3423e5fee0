//! LogicalNot-1.

use snick_shape::SymExpr;
use snick_tensor::{ElementType, Tensor, kernels};

use super::known_elements::{map, type_range};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Logical negation. Inference also accepts types other than boolean, because existing files rely on it.
    #[op(
        "LogicalNot", since = [1], inputs = Arity::exactly(1),
        category = Elementwise, traits = [PURE, ELEMENTWISE]
    )]
    pub struct LogicalNot;
}

impl InferOp for LogicalNot {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let et = cx.element_type(0);
        let answers = if et == ElementType::Boolean {
            map(cx, |cx, element| match cx.interval(element).is_exact() {
                Some(value) => SymExpr::from(i64::from(value == 0)),
                None => cx.unknown(type_range(et)),
            })
        } else {
            None
        };
        Ok(Facts::from(Fact::new(et, cx.shape(0).clone()).with_elements(answers)))
    }
}

impl EvalOp for LogicalNot {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let et = inputs[0].element_type();
        Ok(vec![kernels::logical_not(&inputs[0].cast(ElementType::Boolean)?)?.cast(et)?])
    }
}
