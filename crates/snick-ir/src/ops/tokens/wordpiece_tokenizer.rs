//! WordpieceTokenizer, from openvino_tokenizers.

use super::vocabulary::infer_tokens;
use crate::{Arity, Facts, Infer, InferOp, OpError};

op! {
    /// Tokenizes ragged words (inputs 0 to 4) by the longest matches in the vocabulary (inputs 5 to 7); input
    /// 8 is the id of unknown words.
    #[op(
        "WordpieceTokenizer", since = [1], inputs = Arity::exactly(9),
        category = Text, traits = [PURE], name = only_extension()
    )]
    pub struct WordpieceTokenizer {
        /// Prefix of tokens that continue a word.
        pub suffix_indicator: String = "##".to_string(),
        /// Maximum size of a word in bytes; longer words are unknown.
        pub max_bytes_per_word: i64 = 100,
    }
}

impl InferOp for WordpieceTokenizer {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_index(8)?;
        Ok(infer_tokens(cx)?.0)
    }
}

eval_of_text!(WordpieceTokenizer);

#[cfg(feature = "tokenizers")]
mod kernel {
    use snick_tensor::Tensor;
    use snick_text::WordPiece;

    use super::WordpieceTokenizer;
    use crate::OpError;
    use crate::ops::strings::texts::Texts;
    use crate::ops::tokens::vocabulary::{of_inputs, tokenize};

    pub(super) fn eval(op: &WordpieceTokenizer, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let pieces = of_inputs(op, &inputs[5..8], || {
            let most = usize::try_from(op.max_bytes_per_word).unwrap_or(0);
            let vocabulary = Texts::at(inputs, 5)?;
            Ok(WordPiece::new(vocabulary.iter().zip(0..), op.suffix_indicator.as_bytes(), most))
        })?;
        let unk = inputs[8].to_i64_vec()?;
        let unk = unk.first().and_then(|&unk| i32::try_from(unk).ok());
        let unk = unk.ok_or_else(|| OpError::mismatch("the unknown token", "no number of i32", "one"))?;
        tokenize(inputs, |word, tokens| pieces.encode(word, unk, tokens))
    }
}
