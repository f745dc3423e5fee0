//! CharsMapNormalization, from openvino_tokenizers.

use snick_tensor::ElementType;

use super::texts::{expect_bytes, infer_texts, skips_fact, text_facts};
use crate::{Arity, Facts, Infer, InferOp, OpError};

op! {
    /// Normalises texts like SentencePiece: to a Unicode normal form, or with a precompiled character map in
    /// the last input. If input 3 is boolean, it marks texts to leave unchanged.
    #[op(
        "CharsMapNormalization", since = [1], inputs = Arity::between(3, 5), category = Text, traits = [PURE],
        name = only_extension()
    )]
    pub struct CharsMapNormalization {
        /// Whether to add a leading space.
        pub add_dummy_prefix: bool = false,
        /// Whether to trim spaces and collapse repeated ones.
        pub remove_extra_whitespaces: bool = true,
        /// Whether to replace spaces with U+2581.
        pub escape_whitespaces: bool = false,
        /// `identity`, `nfc`, `nfd`, `nfkc` or `nfkd`; empty to use a map.
        pub normalization_form: String = String::new(),
        /// Whether to fold case after Unicode normalisation.
        pub case_fold: bool = false,
        /// Written by converters; ignored.
        pub nmt: bool = false,
    }
}

impl CharsMapNormalization {
    /// Whether the last input is a character map.
    fn has_map(&self) -> bool {
        self.normalization_form.is_empty()
    }
}

impl InferOp for CharsMapNormalization {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let shape = infer_texts(cx, 0)?;
        let last = cx.len() - 1;
        if self.has_map() {
            if last < 3 {
                return Err(OpError::mismatch("the number of inputs", cx.len(), "4 or 5 for a map"));
            }
            expect_bytes(cx, last)?;
        }
        let mut facts = Facts::from(text_facts(cx, &shape));
        let has_skips = last == 4 || last == 3 && !self.has_map();
        if has_skips && let Some(skips) = skips_fact(cx, 3, &shape)? {
            facts.push(skips);
        }
        // With a normal form, a fifth input is ignored.
        if last == 4 && !matches!(cx.element_type(4), ElementType::U8 | ElementType::Dynamic) {
            return Err(OpError::element_type("input 4", cx.element_type(4), "u8"));
        }
        Ok(facts)
    }
}

eval_of_text!(CharsMapNormalization);

#[cfg(feature = "tokenizers")]
mod kernel {
    use std::sync::Arc;

    use snick_tensor::Tensor;
    use snick_text::{CharsMap, NormalForm, Normalizer, Rule, Whitespace};

    use super::CharsMapNormalization;
    use crate::OpError;
    use crate::ops::strings::texts::map_texts;

    pub(super) fn eval(op: &CharsMapNormalization, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let last = inputs.len() - 1;
        let has_skips = last == 4 || last == 3 && !op.has_map();
        let whitespace = Whitespace {
            add_prefix: op.add_dummy_prefix,
            remove_extra: op.remove_extra_whitespaces,
            escape: op.escape_whitespaces,
            as_suffix: false,
        };
        let normalizer = match op.has_map() {
            true => {
                let map = &inputs[last];
                let parsed = map.derived(|| {
                    let map = CharsMap::parse(&map.values::<u8>()?)?;
                    Ok::<_, OpError>((whitespace, Arc::new(Normalizer::new(Rule::Map(map), whitespace))))
                })?;
                match parsed.0 == whitespace {
                    true => parsed.1.clone(),
                    false => {
                        let map = CharsMap::parse(&map.values::<u8>()?)?;
                        Arc::new(Normalizer::new(Rule::Map(map), whitespace))
                    }
                }
            }
            false => {
                let form = NormalForm::named(&op.normalization_form);
                let form = form.filter(|form| *form != NormalForm::Identity || op.case_fold);
                let form = form.ok_or_else(|| {
                    let name = &op.normalization_form;
                    OpError::unsupported(format!("the normal form `{name}` with case_fold {}", op.case_fold))
                })?;
                Arc::new(Normalizer::new(Rule::Form(form, op.case_fold), whitespace))
            }
        };
        map_texts(inputs, inputs.get(3).filter(|_| has_skips), |text| Ok(normalizer.normalize(text)?))
    }
}
