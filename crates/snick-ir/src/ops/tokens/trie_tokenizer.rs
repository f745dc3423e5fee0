//! TrieTokenizer, from openvino_tokenizers.

use super::vocabulary::infer_tokens;
use crate::{Arity, Facts, Infer, InferOp, OpError};

op! {
    /// Tokenizes ragged texts (inputs 0 to 4) by the longest match in the vocabulary (inputs 5 to 7). Input 8
    /// holds the ids of the vocabulary entries.
    #[op(
        "TrieTokenizer", since = [1], inputs = Arity::exactly(9),
        category = Text, traits = [PURE], name = only_extension()
    )]
    pub struct TrieTokenizer;
}

impl InferOp for TrieTokenizer {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_index(8)?;
        let (facts, vocabulary) = infer_tokens(cx)?;
        cx.merge_shapes("the vocabulary is {}, its numbers {}", &vocabulary, cx.shape(8))?;
        Ok(facts)
    }
}

eval_of_text!(TrieTokenizer);

#[cfg(feature = "tokenizers")]
mod kernel {
    use snick_tensor::Tensor;
    use snick_text::Trie;

    use super::TrieTokenizer;
    use crate::OpError;
    use crate::ops::strings::texts::{RaggedTexts, Texts};
    use crate::ops::tokens::bpe_tokenizer::numbers;
    use crate::ops::tokens::vocabulary::{TokenWriter, of_inputs};

    pub(super) fn eval(op: &TrieTokenizer, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let trie = of_inputs(op, &inputs[5..], || {
            let vocabulary = Texts::at(inputs, 5)?;
            let numbers = numbers(&inputs[8], vocabulary.len())?;
            Ok(Trie::new(vocabulary.iter().zip(numbers)))
        })?;
        let RaggedTexts { rows, texts } = RaggedTexts::new(inputs)?;
        let mut out = TokenWriter::default();
        for row in rows.iter() {
            for i in row {
                let mut rest = texts.get(i);
                let tokens = out.tokens(rest.len())?;
                while !rest.is_empty() {
                    let found = trie.longest(rest);
                    let (token, len) = found.ok_or_else(|| {
                        let start = String::from_utf8_lossy(&rest[..rest.len().min(16)]).into_owned();
                        OpError::mismatch("a text", start, "made of tokens")
                    })?;
                    tokens.push(token);
                    rest = &rest[len..];
                }
            }
            out.end_row()?;
        }
        out.into_tensors(inputs[0].dims())
    }
}
