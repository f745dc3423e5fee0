//! CaseFold, from openvino_tokenizers.

use super::texts::{infer_texts, skips_fact, text_facts};
use crate::{Arity, Facts, Infer, InferOp, OpError};

op! {
    /// Converts texts to lower or upper case. The optional input 3 marks texts to leave unchanged; it has no
    /// effect if `encoding` is empty.
    #[op(
        "CaseFold", since = [1], inputs = Arity::between(3, 4), category = Text, traits = [PURE],
        name = only_extension(), check = Self::check
    )]
    pub struct CaseFold {
        /// `utf-8` to convert all letters, empty to convert only ASCII.
        pub encoding: String = "utf-8".to_string(),
        /// Whether to convert to lower case rather than upper case; must be true for `utf-8`.
        pub lower: bool = true,
    }
}

impl CaseFold {
    fn check(&self, _: &crate::RawNode) -> Result<(), OpError> {
        match (self.encoding.as_str(), self.lower) {
            ("", _) | ("utf-8", true) => Ok(()),
            ("utf-8", false) => Err(OpError::mismatch("lower", false, "true for the encoding utf-8")),
            (other, _) => Err(OpError::BadAttribute {
                name: "encoding",
                value: other.to_string(),
                expected: "utf-8, or nothing".to_string(),
            }),
        }
    }
}

impl InferOp for CaseFold {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let shape = infer_texts(cx, 0)?;
        let mut facts = Facts::from(text_facts(cx, &shape));
        if let Some(skips) = skips_fact(cx, 3, &shape)? {
            facts.push(skips);
        }
        Ok(facts)
    }
}

eval_of_text!(CaseFold);

#[cfg(feature = "tokenizers")]
mod kernel {
    use snick_tensor::Tensor;
    use snick_text::{NormalForm, Normalizer, Rule, Whitespace};

    use super::CaseFold;
    use crate::OpError;
    use crate::ops::strings::texts::map_texts;

    pub(super) fn eval(op: &CaseFold, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let skips = inputs.get(3);
        if op.encoding.is_empty() {
            let mut outputs = map_texts(inputs, None, |text| match op.lower {
                true => Ok(text.to_ascii_lowercase()),
                false => Ok(text.to_ascii_uppercase()),
            })?;
            outputs.extend(skips.cloned());
            return Ok(outputs);
        }
        let normalizer = Normalizer::new(Rule::Form(NormalForm::Identity, true), Whitespace::default());
        map_texts(inputs, skips, |text| Ok(normalizer.normalize(text)?))
    }
}
