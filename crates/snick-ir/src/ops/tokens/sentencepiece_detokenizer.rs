//! SentencepieceDetokenizer, from openvino_tokenizers.

use super::detokenize::infer_detokenized;
use crate::{Arity, Facts, Infer, InferOp, OpError};

op! {
    /// Detokenizes rows of tokens (input 1) with a SentencePiece model (input 0, the content of the model
    /// file). Tokens beyond the vocabulary are skipped.
    #[op(
        "SentencepieceDetokenizer", since = [1], inputs = Arity::exactly(2), category = Text, traits = [PURE],
        name = only_extension()
    )]
    pub struct SentencepieceDetokenizer;
}

impl InferOp for SentencepieceDetokenizer {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        infer_detokenized(cx)
    }
}

eval_of_text!(SentencepieceDetokenizer);

#[cfg(feature = "tokenizers")]
mod kernel {
    use snick_tensor::Tensor;

    use super::SentencepieceDetokenizer;
    use crate::OpError;
    use crate::ops::tokens::detokenize::detokenize;

    pub(super) fn eval(op: &SentencepieceDetokenizer, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        detokenize(op, inputs, |model, tokens| {
            let known =
                tokens.iter().copied().filter(|&id| usize::try_from(id).map_or(true, |id| id < model.len()));
            Ok(model.decode(&known.collect::<Vec<_>>())?)
        })
    }
}
