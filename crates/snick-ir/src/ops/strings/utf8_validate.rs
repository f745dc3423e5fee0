//! UTF8Validate, from openvino_tokenizers.

use snick_tensor::Tensor;

use super::texts::{infer_texts, map_texts, text_facts};
use crate::{Arity, EvalOp, Facts, Infer, InferOp, OpError};

op! {
    /// Removes bytes that are not valid UTF-8.
    #[op(
        "UTF8Validate", since = [1], inputs = Arity::exactly(3),
        category = Text, traits = [PURE], name = only_extension()
    )]
    pub struct Utf8Validate {
        /// Whether to replace invalid bytes with U+FFFD instead of removing them.
        pub replace_mode: bool = false,
    }
}

impl InferOp for Utf8Validate {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let shape = infer_texts(cx, 0)?;
        Ok(Facts::from(text_facts(cx, &shape)))
    }
}

impl EvalOp for Utf8Validate {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let mark = if self.replace_mode { "\u{fffd}".as_bytes() } else { b"" };
        map_texts(inputs, None, |text| Ok(validated(text, mark)))
    }
}

/// The length of a character, according to its first byte; `None` if no character starts with the byte.
fn announced(byte: u8) -> Option<usize> {
    match byte {
        0..0x80 => Some(1),
        0xc0..0xe0 => Some(2),
        0xe0..0xf0 => Some(3),
        0xf0..0xf8 => Some(4),
        _ => None,
    }
}

/// Replaces invalid UTF-8 with `mark`: once for each invalid first byte and each truncated character, and
/// once for each byte of an overlong or invalid character.
fn validated(text: &[u8], mark: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(&first) = rest.first() {
        let (len, marks) = match announced(first) {
            None => (1, 1),
            Some(len) => {
                let follows = rest[1..].iter().take(len - 1).take_while(|&&byte| byte & 0xc0 == 0x80).count();
                match follows + 1 == len {
                    false => (follows + 1, 1),
                    true if std::str::from_utf8(&rest[..len]).is_ok() => (len, 0),
                    true => (len, len),
                }
            }
        };
        match marks {
            0 => out.extend_from_slice(&rest[..len]),
            marks => (0..marks).for_each(|_| out.extend_from_slice(mark)),
        }
        rest = &rest[len..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::validated;

    #[test]
    fn each_kind_of_wrong_byte_is_marked() {
        let is = |text: &[u8]| String::from_utf8(validated(text, b"?")).unwrap();
        assert_eq!(is("aé中😀".as_bytes()), "aé中😀");
        assert_eq!(is(b"\xffa\x80"), "?a?");
        assert_eq!(is(b"\xe4\xb8a\xe4"), "?a?");
        assert_eq!(is(b"\xc0\x80\xed\xa0\x80"), "?????");
        assert_eq!(validated(b"\xffa", b""), b"a");
    }
}
