//! CharsToBytes, from openvino_tokenizers.

use snick_tensor::Tensor;

use super::bytes_to_chars::byte_of;
use super::texts::{RaggedTexts, TextWriter, infer_ragged_texts, text_facts};
use crate::{Arity, EvalOp, Facts, Infer, InferOp, OpError};

op! {
    /// Joins each row of texts and decodes its characters to bytes: the inverse of BytesToChars.
    #[op(
        "CharsToBytes", since = [1], inputs = Arity::exactly(5),
        category = Text, traits = [PURE], name = only_extension()
    )]
    pub struct CharsToBytes;
}

impl InferOp for CharsToBytes {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let [rows, _] = infer_ragged_texts(cx)?;
        Ok(Facts::from(text_facts(cx, &rows)))
    }
}

impl EvalOp for CharsToBytes {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let RaggedTexts { rows, texts } = RaggedTexts::new(inputs)?;
        let mut out = TextWriter::default();
        for row in rows.iter() {
            let mut bytes = Vec::new();
            for i in row {
                let text = std::str::from_utf8(texts.get(i));
                let text = text.map_err(|_| OpError::mismatch("a text", "not UTF-8", "UTF-8"))?;
                for c in text.chars() {
                    let byte = if c.is_ascii() { Some(c as u8) } else { byte_of(c) };
                    bytes.push(byte.ok_or_else(|| {
                        OpError::mismatch(
                            "a character",
                            format!("{c:?}"),
                            "a character that represents a byte",
                        )
                    })?);
                }
            }
            out.push(&bytes)?;
        }
        Ok(out.into_tensors(inputs[0].dims())?.to_vec())
    }
}
