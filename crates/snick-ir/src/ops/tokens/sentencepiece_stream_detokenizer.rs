//! SentencepieceStreamDetokenizer, from openvino_tokenizers.

use super::detokenize::infer_detokenized;
use crate::{Arity, Facts, Infer, InferOp, OpError};

op! {
    /// Concatenates the vocabulary entries of each row of tokens (input 1). The vocabulary belongs to a
    /// SentencePiece model (input 0, the content of the model file). Byte tokens are decoded, but the marks
    /// for spaces are kept.
    #[op(
        "SentencepieceStreamDetokenizer", since = [1], inputs = Arity::exactly(2),
        category = Text, traits = [PURE],
        name = only_extension()
    )]
    pub struct SentencepieceStreamDetokenizer;
}

impl InferOp for SentencepieceStreamDetokenizer {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        infer_detokenized(cx)
    }
}

eval_of_text!(SentencepieceStreamDetokenizer);

#[cfg(feature = "tokenizers")]
mod kernel {
    use snick_tensor::Tensor;

    use super::SentencepieceStreamDetokenizer;
    use crate::OpError;
    use crate::ops::tokens::detokenize::detokenize;

    pub(super) fn eval(
        op: &SentencepieceStreamDetokenizer,
        inputs: &[Tensor],
    ) -> Result<Vec<Tensor>, OpError> {
        detokenize(op, inputs, |model, tokens| Ok(model.decode_stream(tokens)))
    }
}
