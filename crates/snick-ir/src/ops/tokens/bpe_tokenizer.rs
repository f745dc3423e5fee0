//! BPETokenizer, from openvino_tokenizers.

use super::vocabulary::infer_tokens;
use crate::ops::strings::texts::infer_texts;
use crate::{Arity, Facts, Infer, InferOp, OpError};

op! {
    /// Byte pair encoding of ragged texts (inputs 0 to 4). Inputs 5 to 7 hold the vocabulary. Inputs 8 to 10
    /// hold the merges: either pairs separated by a space, or only the left sides, with the right sides in
    /// inputs 11 to 13. Four more inputs may hold added tokens and their ids.
    #[op(
        "BPETokenizer", since = [1], inputs = Arity::between(11, 18),
        category = Text, traits = [PURE], name = only_extension()
    )]
    pub struct BpeTokenizer {
        /// The token for unknown parts of a text.
        pub unk_token: String = String::new(),
        /// Whether to merge adjacent unknown tokens; ignored, as in the runtime.
        pub fuse_unk: bool = false,
        /// Written by converters; ignored.
        pub suffix_indicator: String = String::new(),
        /// Suffix to add to each text.
        pub end_suffix: String = String::new(),
        /// Whether an unknown byte becomes the token `<0xNN>`.
        pub byte_fallback: bool = false,
        /// Number of texts that the runtime caches.
        pub cache_capacity: i64 = 20000,
    }
}

/// Whether the inputs include right-hand sides of merges, and whether they include added tokens.
fn parts(inputs: usize) -> Result<(bool, bool), OpError> {
    match inputs {
        11 => Ok((false, false)),
        14 => Ok((true, false)),
        15 => Ok((false, true)),
        18 => Ok((true, true)),
        got => Err(OpError::Arity { expected: "11, 14, 15 or 18".to_string(), got }),
    }
}

impl InferOp for BpeTokenizer {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let (has_right, has_added) = parts(cx.len())?;
        let (facts, _) = infer_tokens(cx)?;
        let left = infer_texts(cx, 8)?;
        if has_right {
            let right = infer_texts(cx, 11)?;
            cx.merge_shapes("left sides of merges are {}, right sides {}", &left, &right)?;
        }
        if has_added {
            let numbers = cx.len() - 1;
            let added = infer_texts(cx, numbers - 3)?;
            cx.expect_index(numbers)?;
            cx.merge_shapes("added tokens are {}, their numbers {}", &added, cx.shape(numbers))?;
        }
        Ok(facts)
    }
}

eval_of_text!(BpeTokenizer);

#[cfg(feature = "tokenizers")]
mod kernel {
    use snick_tensor::Tensor;
    use snick_text::{Bpe, BpeOptions};

    use super::{BpeTokenizer, parts};
    use crate::OpError;
    use crate::ops::ragged::rows::position;
    use crate::ops::strings::texts::Texts;
    use crate::ops::tokens::vocabulary::{of_inputs, tokenize};

    pub(super) fn eval(op: &BpeTokenizer, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let bpe = of_inputs(op, &inputs[5..], || make(op, inputs))?;
        tokenize(inputs, |text, tokens| bpe.encode(text, tokens))
    }

    fn make(op: &BpeTokenizer, inputs: &[Tensor]) -> Result<Bpe, OpError> {
        let (has_right, has_added) = parts(inputs.len())?;
        let vocabulary = Texts::at(inputs, 5)?;
        position(vocabulary.len())?;
        let left = Texts::at(inputs, 8)?;
        let right = if has_right { Some(Texts::at(inputs, 11)?) } else { None };
        if let Some(right) = right.as_ref().filter(|right| right.len() != left.len()) {
            return Err(OpError::mismatch("the number of right sides of merges", right.len(), left.len()));
        }
        let merges = (0..left.len()).map(|i| match &right {
            Some(right) => (left.get(i), right.get(i)),
            None => {
                let merge = left.get(i);
                let space = merge.iter().position(|&byte| byte == b' ');
                space.map_or((merge, merge), |space| (&merge[..space], &merge[space + 1..]))
            }
        });
        let first = inputs.len() - 4;
        let added = if has_added { Some(Texts::at(inputs, first)?) } else { None };
        let numbers = match &added {
            Some(added) => numbers(&inputs[first + 3], added.len())?,
            None => Vec::new(),
        };
        let added = added.iter().flat_map(Texts::iter).zip(numbers);
        let options = BpeOptions {
            unk_token: op.unk_token.clone(),
            end_suffix: op.end_suffix.clone(),
            byte_fallback: op.byte_fallback,
        };
        Ok(Bpe::new(vocabulary.iter().zip(0..), added, merges, &options)?)
    }

    /// Reads the ids of `count` tokens.
    pub(in super::super) fn numbers(tensor: &Tensor, count: usize) -> Result<Vec<i32>, OpError> {
        let numbers = tensor.values::<i32>()?.into_owned();
        match numbers.len() == count {
            true => Ok(numbers),
            false => Err(OpError::mismatch("the number of token numbers", numbers.len(), count)),
        }
    }
}

#[cfg(feature = "tokenizers")]
pub(super) use self::kernel::numbers;
