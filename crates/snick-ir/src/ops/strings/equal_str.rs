//! EqualStr, from openvino_tokenizers.

use snick_shape::Shape;
use snick_tensor::{ElementType, Tensor};

use super::texts::{Texts, infer_texts};
use crate::ops::ragged::rows::data_fact;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Compares the texts in inputs 0 to 2 with the texts in inputs 3 to 5: 1 if equal, 0 otherwise. The
    /// shorter list is padded with its first text; if either list is empty, so is the output.
    #[op(
        "EqualStr", since = [1], inputs = Arity::exactly(6),
        category = Text, traits = [PURE], name = only_extension()
    )]
    pub struct EqualStr;
}

impl InferOp for EqualStr {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let (left, right) = (infer_texts(cx, 0)?, infer_texts(cx, 3)?);
        let counts = [left, right].map(|shape| shape.dims().map(|dims| cx.product(dims)));
        let same = match counts {
            [Some(left), Some(right)] => (left == right).then_some(left),
            _ => None,
        };
        Ok(Facts::from(match same {
            Some(count) => Fact::new(ElementType::I32, Shape::ranked([count])),
            None => data_fact(cx, ElementType::I32),
        }))
    }
}

impl EvalOp for EqualStr {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let (left, right) = (Texts::at(inputs, 0)?, Texts::at(inputs, 3)?);
        let count = if left.len().min(right.len()) == 0 { 0 } else { left.len().max(right.len()) };
        let text = |texts: &Texts, i: usize| texts.get(if i < texts.len() { i } else { 0 }).to_vec();
        let equal = (0..count).map(|i| i32::from(text(&left, i) == text(&right, i))).collect();
        Ok(vec![Tensor::from_vec(&[count], equal)?])
    }
}
