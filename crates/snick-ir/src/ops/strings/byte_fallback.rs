//! ByteFallback, from openvino_tokenizers.

use snick_tensor::Tensor;

use super::texts::{infer_texts, map_texts, text_facts};
use crate::{Arity, EvalOp, Facts, Infer, InferOp, OpError};

op! {
    /// Replaces texts of the form `<0xNN>` with the byte of that value.
    #[op(
        "ByteFallback", since = [1], inputs = Arity::exactly(3),
        category = Text, traits = [PURE], name = only_extension()
    )]
    pub struct ByteFallback;
}

impl InferOp for ByteFallback {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let shape = infer_texts(cx, 0)?;
        Ok(Facts::from(text_facts(cx, &shape)))
    }
}

impl EvalOp for ByteFallback {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        map_texts(inputs, None, |text| Ok(byte(text).map_or_else(|| text.to_vec(), |byte| vec![byte])))
    }
}

/// The byte that a text represents.
fn byte(text: &[u8]) -> Option<u8> {
    let [b'<', b'0', b'x', high, low, b'>'] = text else { return None };
    let digit = |c: u8| char::from(c).to_digit(16).filter(|_| !c.is_ascii_lowercase());
    u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()
}

#[cfg(test)]
mod tests {
    use super::byte;

    #[test]
    fn only_capital_digits_name_a_byte() {
        assert_eq!(byte(b"<0x0A>"), Some(10));
        assert_eq!([byte(b"<0x0a>"), byte(b"<0x1>"), byte(b"<0xGG>"), byte(b"a")], [None; 4]);
    }
}
