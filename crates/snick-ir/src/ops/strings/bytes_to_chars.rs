//! BytesToChars, from openvino_tokenizers.

use snick_tensor::{ElementType, Tensor};

use super::texts::{RaggedTexts, TextWriter, infer_ragged_texts, skips, skips_fact, text_facts};
use crate::ops::ragged::rows::row_facts;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Encodes each byte of ragged texts as a printable character, like GPT-2. The optional input 5 marks
    /// texts to leave unchanged.
    #[op(
        "BytesToChars", since = [1], inputs = Arity::between(5, 6),
        category = Text, traits = [PURE], name = only_extension()
    )]
    pub struct BytesToChars;
}

impl InferOp for BytesToChars {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let [rows, texts] = infer_ragged_texts(cx)?;
        let mut facts = Facts::from(row_facts(&rows));
        text_facts(cx, &texts).into_iter().for_each(|fact| facts.push(fact));
        if let Some(skips) = skips_fact(cx, 5, &texts)? {
            facts.push(Fact::new(ElementType::Boolean, skips.shape().clone()));
        }
        Ok(facts)
    }
}

impl EvalOp for BytesToChars {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let RaggedTexts { texts, .. } = RaggedTexts::new(inputs)?;
        let skips = skips(inputs.get(5), texts.len())?;
        let mut out = TextWriter::default();
        for (text, skip) in texts.iter().zip(skips) {
            match skip {
                true => out.push(text)?,
                false => out.push(text.iter().map(|&byte| char_of(byte)).collect::<String>().as_bytes())?,
            }
        }
        let mut outputs = inputs[..2].to_vec();
        outputs.extend(out.into_tensors(inputs[2].dims())?);
        outputs.extend(inputs.get(5).cloned());
        Ok(outputs)
    }
}

/// Whether the byte is encoded as the character with the same number.
fn is_printable(byte: u8) -> bool {
    matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff)
}

/// The character for a byte: the one with the same number or, if that is not printable, the next free
/// character from U+0100.
fn char_of(byte: u8) -> char {
    match is_printable(byte) {
        true => char::from(byte),
        false => {
            let before = (0..byte).filter(|&byte| !is_printable(byte)).count() as u32;
            char::from_u32(0x100 + before).unwrap_or(char::REPLACEMENT_CHARACTER)
        }
    }
}

/// The byte that a character encodes.
pub(super) fn byte_of(c: char) -> Option<u8> {
    (0..=u8::MAX).find(|&byte| char_of(byte) == c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_a_character_of_its_own() {
        assert_eq!([0, b' ', b'a', 0x7f, 0xa0, 0xad, 0xff].map(char_of), ['Ā', 'Ġ', 'a', 'ġ', 'ł', 'Ń', 'ÿ']);
        assert!((0..=u8::MAX).all(|byte| byte_of(char_of(byte)) == Some(byte)));
        assert_eq!(byte_of('中'), None);
    }
}
