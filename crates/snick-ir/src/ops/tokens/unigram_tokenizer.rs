//! UnigramTokenizer, from openvino_tokenizers.

use super::vocabulary::infer_tokens;
use crate::{Arity, Facts, Infer, InferOp, OpError};

op! {
    /// Finds the most probable tokens of ragged texts (inputs 0 to 4), using a vocabulary (inputs 5 to 7)
    /// with scores in input 8.
    #[op(
        "UnigramTokenizer", since = [1], inputs = Arity::exactly(9),
        category = Text, traits = [PURE], name = only_extension()
    )]
    pub struct UnigramTokenizer {
        /// Written by converters; ignored, since the vocabulary contains the byte tokens.
        pub byte_fallback: bool = false,
        /// The id of the token for unknown characters.
        pub unk_token_id: i64 = 0,
        /// Written by converters; ignored, since adjacent unknown tokens are always merged.
        pub fuse_unk: bool = false,
        /// Written by converters; ignored.
        pub min_score: f64 = f64::INFINITY,
    }
}

impl InferOp for UnigramTokenizer {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_real(8)?;
        let (facts, vocabulary) = infer_tokens(cx)?;
        cx.merge_shapes("the vocabulary is {}, scores {}", &vocabulary, cx.shape(8))?;
        Ok(facts)
    }
}

eval_of_text!(UnigramTokenizer);

#[cfg(feature = "tokenizers")]
mod kernel {
    use snick_tensor::Tensor;
    use snick_text::Unigram;

    use super::UnigramTokenizer;
    use crate::OpError;
    use crate::ops::strings::texts::Texts;
    use crate::ops::tokens::vocabulary::{of_inputs, tokenize};

    pub(super) fn eval(op: &UnigramTokenizer, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let unigram = of_inputs(op, &inputs[5..], || {
            let vocabulary = Texts::at(inputs, 5)?;
            let scores = inputs[8].values::<f32>()?;
            if scores.len() != vocabulary.len() {
                return Err(OpError::mismatch("the number of scores", scores.len(), vocabulary.len()));
            }
            let unk = i32::try_from(op.unk_token_id);
            let unk =
                unk.map_err(|_| OpError::out_of_range("unk_token_id", op.unk_token_id, "a number of i32"))?;
            Ok(Unigram::new(vocabulary.iter().zip(scores.iter().copied()), unk))
        })?;
        tokenize(inputs, |text, tokens| unigram.encode(text, tokens))
    }
}
