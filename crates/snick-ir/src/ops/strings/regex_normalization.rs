//! RegexNormalization, from openvino_tokenizers.

use super::texts::{expect_bytes, infer_texts, skips_fact, text_facts};
use crate::{Arity, Facts, Infer, InferOp, OpError};

op! {
    /// Replaces matches of a regular expression in texts. The last two inputs are the bytes of the pattern
    /// and of the replacement, in which `$1` and `\1` refer to groups. With 6 inputs, input 3 marks texts to
    /// leave unchanged.
    #[op(
        "RegexNormalization", since = [1], inputs = Arity::between(5, 6), category = Text, traits = [PURE],
        name = only_extension()
    )]
    pub struct RegexNormalization {
        /// Whether to replace all matches rather than only the first.
        pub global_replace: bool = true,
    }
}

impl InferOp for RegexNormalization {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let shape = infer_texts(cx, 0)?;
        let count = cx.len();
        expect_bytes(cx, count - 2)?;
        expect_bytes(cx, count - 1)?;
        let mut facts = Facts::from(text_facts(cx, &shape));
        if count == 6
            && let Some(skips) = skips_fact(cx, 3, &shape)?
        {
            facts.push(skips);
        }
        Ok(facts)
    }
}

eval_of_text!(RegexNormalization);

#[cfg(feature = "tokenizers")]
mod kernel {
    use snick_tensor::Tensor;
    use snick_text::Pattern;

    use super::RegexNormalization;
    use crate::OpError;
    use crate::ops::strings::texts::map_texts;

    /// Patterns that older models contain, and the patterns that the runtime uses instead.
    const REWRITTEN: [(&str, &str); 3] = [
        (
            r" ([\\.\\?\\!,])| ('[ms])| (') | ('[rv]e)| (n't)",
            r"(?| ([\\.\\?\\!,])| ('[ms])| (') | ('[rv]e)| (n't))",
        ),
        (r"(^)(.)", r"(^)([\s\S])"),
        (r"(^)(.+)", r"(^)([\s\S])"),
    ];

    pub(super) fn eval(op: &RegexNormalization, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let (texts, patterns) = inputs.split_at(inputs.len() - 2);
        let pattern = patterns[0].derived(|| compile(&patterns[0]))?;
        let replacement = replacement(&patterns[1].values::<u8>()?);
        map_texts(texts, texts.get(3), |text| {
            Ok(pattern.0.substitute(text, &replacement, op.global_replace)?)
        })
    }

    /// The pattern as this op interprets it. A type of its own, so that other ops with the same input do not
    /// use the cached value.
    struct Rewritten(Pattern);

    fn compile(pattern: &Tensor) -> Result<Rewritten, OpError> {
        let bytes = pattern.values::<u8>()?;
        let text = std::str::from_utf8(&bytes);
        let text = text.map_err(|_| OpError::mismatch("the pattern", "not UTF-8", "UTF-8"))?;
        let rewritten = REWRITTEN.iter().find(|(old, _)| *old == text).map_or(text, |(_, new)| new);
        Ok(Rewritten(Pattern::new(rewritten)?))
    }

    /// Rewrites the group references `\1` to `\9` as `$1` to `$9`.
    fn replacement(bytes: &[u8]) -> Vec<u8> {
        let mut out = bytes.to_vec();
        for i in 1..out.len() {
            if out[i - 1] == b'\\' && matches!(out[i], b'1'..=b'9') {
                out[i - 1] = b'$';
            }
        }
        out
    }
}
