//! LogicalNot-1: the opposite of every truth value. Other types pass inference, as files rely on it.

use smallvec::smallvec;
use snick_shape::SymExpr;
use snick_tensor::{ElementType, Tensor, kernels};

use super::known_elements::{map, type_range};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// True where the input is false.
#[derive(Clone, PartialEq, Debug)]
pub struct LogicalNot;

impl OpDef for LogicalNot {
    const NAMES: &'static [OpName] = &[OpName::openvino("LogicalNot", &[1])];
    const ARITY: Arity = Arity::exactly(1);

    fn parse(_: &RawNode) -> Result<Self, OpError> {
        Ok(Self)
    }
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
        Ok(smallvec![Fact::new(et, cx.shape(0).clone()).with_elements(answers)])
    }
}

impl EvalOp for LogicalNot {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let et = inputs[0].element_type();
        Ok(vec![kernels::logical_not(&inputs[0].cast(ElementType::Boolean)?)?.cast(et)?])
    }
}
