//! VocabEncoder, from openvino_tokenizers.

use std::collections::HashMap;

use snick_shape::Shape;
use snick_tensor::{ElementType, Tensor};

use crate::ops::strings::texts::{Texts, infer_texts};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Looks up the ids of texts (inputs 0 to 2) in the vocabulary of inputs 3 to 5. Input 6 holds the ids,
    /// and input 7 the id for texts that are not in the vocabulary. If the vocabulary contains duplicates,
    /// the first entry is used.
    #[op(
        "VocabEncoder", since = [1], inputs = Arity::exactly(8),
        category = Text, traits = [PURE], name = only_extension()
    )]
    pub struct VocabEncoder;
}

impl InferOp for VocabEncoder {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let texts = infer_texts(cx, 0)?;
        let vocabulary = infer_texts(cx, 3)?;
        cx.expect_index(6)?;
        cx.merge_shapes("the vocabulary is {}, its numbers {}", &vocabulary, cx.shape(6))?;
        let element_type = cx.common_type([6, 7]);
        let shape = match texts.dims() {
            Some(dims) => Shape::ranked([cx.product(dims)]),
            None => cx.unknown_dims(1),
        };
        Ok(Facts::from(Fact::new(element_type, shape)))
    }
}

impl EvalOp for VocabEncoder {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let (texts, vocabulary) = (Texts::at(inputs, 0)?, Texts::at(inputs, 3)?);
        let (numbers, default) = (inputs[6].to_i64_vec()?, inputs[7].to_i64_vec()?);
        if numbers.len() != vocabulary.len() {
            return Err(OpError::mismatch("the number of token numbers", numbers.len(), vocabulary.len()));
        }
        let default =
            *default.first().ok_or_else(|| OpError::mismatch("the default", "empty", "a number"))?;
        let mut tokens = HashMap::with_capacity(numbers.len());
        for (token, number) in vocabulary.iter().zip(numbers) {
            tokens.entry(token).or_insert(number);
        }
        let found: Vec<i64> = texts.iter().map(|text| tokens.get(text).copied().unwrap_or(default)).collect();
        let found = Tensor::from_vec(&[found.len()], found)?;
        let element_type = match inputs[6].element_type() {
            ElementType::I32 => ElementType::I32,
            _ => ElementType::I64,
        };
        Ok(vec![found.cast(element_type)?])
    }
}
