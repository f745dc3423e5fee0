//! NormalizeUnicode, from openvino_tokenizers.

use super::texts::{infer_texts, skips_fact, text_facts};
use crate::{Arity, Facts, Infer, InferOp, OpError};

op! {
    /// Converts texts to a Unicode normal form. The optional input 3 marks texts to leave unchanged.
    #[op(
        "NormalizeUnicode", since = [1], inputs = Arity::between(3, 4), category = Text, traits = [PURE],
        name = only_extension()
    )]
    pub struct NormalizeUnicode {
        /// The normal form.
        pub normalization_form: NormalForm = NormalForm::Nfd,
    }
}

/// A Unicode normal form.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum NormalForm {
    /// Canonical composition.
    Nfc,
    /// Canonical decomposition.
    Nfd,
    /// Compatibility composition.
    Nfkc,
    /// Compatibility decomposition.
    Nfkd,
}

attr_words!(NormalForm { Nfc = "NFC", Nfd = "NFD", Nfkc = "NFKC", Nfkd = "NFKD" });

impl InferOp for NormalizeUnicode {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let shape = infer_texts(cx, 0)?;
        let mut facts = Facts::from(text_facts(cx, &shape));
        if let Some(skips) = skips_fact(cx, 3, &shape)? {
            facts.push(skips);
        }
        Ok(facts)
    }
}

eval_of_text!(NormalizeUnicode);

#[cfg(feature = "tokenizers")]
mod kernel {
    use snick_tensor::Tensor;
    use snick_text::{NormalForm as Form, Normalizer, Rule, Whitespace};

    use super::{NormalForm, NormalizeUnicode};
    use crate::OpError;
    use crate::ops::strings::texts::map_texts;

    pub(super) fn eval(op: &NormalizeUnicode, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let form = match op.normalization_form {
            NormalForm::Nfc => Form::Nfc,
            NormalForm::Nfd => Form::Nfd,
            NormalForm::Nfkc => Form::Nfkc,
            NormalForm::Nfkd => Form::Nfkd,
        };
        let normalizer = Normalizer::new(Rule::Form(form, false), Whitespace::default());
        map_texts(inputs, inputs.get(3), |text| Ok(normalizer.normalize(text)?))
    }
}
