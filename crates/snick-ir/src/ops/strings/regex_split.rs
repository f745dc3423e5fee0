//! RegexSplit, from openvino_tokenizers.

use snick_tensor::ElementType;

use super::texts::{expect_bytes, infer_ragged_texts, skips_fact};
use crate::ops::ragged::rows::{data_fact, row_facts};
use crate::{Arity, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Splits ragged texts (inputs 0 to 4) by a regular expression. The pattern is the last input, or input 5
    /// if there are 9 inputs. With 7 inputs, input 5 marks texts to keep whole; with 9 inputs, inputs 6 to 8
    /// list texts to keep whole.
    #[op(
        "RegexSplit", since = [1], inputs = Arity::between(6, 9), category = Text, traits = [PURE],
        name = only_extension(), check = Self::check
    )]
    pub struct RegexSplit {
        /// What to do with matches.
        pub behaviour: SplitBehaviour = SplitBehaviour::Remove,
        /// Whether to swap matches with the parts between them.
        pub invert: bool = false,
        /// The number of pieces after which the rest of a text becomes one piece; -1 for no limit.
        pub max_splits: i64 = -1,
    }
}

/// What to do with matches.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum SplitBehaviour {
    /// Drop the matches.
    Remove,
    /// Make each match a piece.
    Isolate,
    /// Make each run of adjacent matches a piece.
    Contiguous,
    /// Append each match to the piece before it.
    MergedWithPrevious,
    /// Prepend each match to the piece after it.
    MergedWithNext,
}

attr_words!(SplitBehaviour {
    Remove = "remove",
    Isolate = "isolate",
    Contiguous = "contiguous",
    MergedWithPrevious = "mergedwithprevious",
    MergedWithNext = "mergedwithnext",
});

impl RegexSplit {
    fn check(&self, _: &crate::RawNode) -> Result<(), OpError> {
        match self.max_splits {
            -1 | 1.. => Ok(()),
            other => Err(OpError::out_of_range("max_splits", other, "-1, or 1 or more")),
        }
    }
}

/// The input that holds the pattern.
fn pattern_input(inputs: usize) -> Result<usize, OpError> {
    match inputs {
        6 => Ok(5),
        7 => Ok(6),
        9 => Ok(5),
        got => Err(OpError::Arity { expected: "6, 7 or 9".to_string(), got }),
    }
}

impl InferOp for RegexSplit {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let pattern = pattern_input(cx.len())?;
        let [rows, texts] = infer_ragged_texts(cx)?;
        expect_bytes(cx, pattern)?;
        let skips = match pattern {
            6 => skips_fact(cx, 5, &texts)?,
            _ => None,
        };
        let pieces = data_fact(cx, ElementType::I32);
        let [begins, ends] = row_facts(&rows);
        let bytes = Fact::new(ElementType::U8, cx.shape(4).clone());
        let mut facts = Facts::from([begins, ends, pieces.clone(), pieces.clone(), bytes]);
        if skips.is_some() {
            facts.push(Fact::new(ElementType::Boolean, pieces.shape().clone()));
        }
        Ok(facts)
    }
}

eval_of_text!(RegexSplit);

#[cfg(feature = "tokenizers")]
mod kernel {
    use std::collections::HashSet;

    use snick_tensor::Tensor;
    use snick_text::{Behaviour, Pattern, Split};

    use super::{RegexSplit, SplitBehaviour, pattern_input};
    use crate::OpError;
    use crate::ops::strings::pieces::PieceWriter;
    use crate::ops::strings::texts::{RaggedTexts, Texts, skips};

    impl RegexSplit {
        /// The pattern to search for.
        fn pattern(&self, pattern: &str) -> String {
            match self.behaviour == SplitBehaviour::Contiguous && !pattern.ends_with('+') {
                true => format!("({pattern})+"),
                false => pattern.to_string(),
            }
        }

        fn split(&self) -> Split {
            let behaviour = match self.behaviour {
                SplitBehaviour::Remove => Behaviour::Remove,
                SplitBehaviour::Isolate | SplitBehaviour::Contiguous => Behaviour::Isolate,
                SplitBehaviour::MergedWithPrevious => Behaviour::MergedWithPrevious,
                SplitBehaviour::MergedWithNext => Behaviour::MergedWithNext,
            };
            Split { behaviour, invert: self.invert, max_splits: usize::try_from(self.max_splits).ok() }
        }
    }

    pub(super) fn eval(op: &RegexSplit, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let at = pattern_input(inputs.len())?;
        let RaggedTexts { rows, texts } = RaggedTexts::new(inputs)?;
        let skips_input = inputs.get(5).filter(|_| at == 6);
        let skips = skips(skips_input, texts.len())?;
        let legacy = if inputs.len() == 9 { Some(Texts::at(inputs, 6)?) } else { None };
        let kept: HashSet<&[u8]> = legacy.iter().flat_map(Texts::iter).collect();
        let is_contiguous = op.behaviour == SplitBehaviour::Contiguous;
        let compiled =
            inputs[at].derived(|| compile(op, &inputs[at]).map(|pattern| (is_contiguous, pattern)))?;
        let compiled = match compiled.0 == is_contiguous {
            true => compiled,
            false => (is_contiguous, compile(op, &inputs[at])?).into(),
        };
        let mut out = PieceWriter::new(&texts);
        for row in rows.iter() {
            out.start_row();
            for i in row {
                let text = texts.get(i);
                if skips[i] || kept.contains(text) {
                    out.push(i, 0..text.len(), skips[i]);
                } else {
                    compiled.1.split(text, op.split(), |piece| out.push(i, piece, false))?;
                }
                out.check()?;
            }
            out.end_row()?;
        }
        out.into_tensors(inputs, skips_input.is_some())
    }

    fn compile(op: &RegexSplit, pattern: &Tensor) -> Result<Pattern, OpError> {
        let bytes = pattern.values::<u8>()?;
        let text = std::str::from_utf8(&bytes);
        let text = text.map_err(|_| OpError::mismatch("the pattern", "not UTF-8", "UTF-8"))?;
        Ok(Pattern::new(&op.pattern(text))?)
    }
}
