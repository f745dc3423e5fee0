//! SentencepieceTokenizer, from openvino_tokenizers.

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::ElementType;

use crate::ops::strings::texts::{expect_bytes, infer_texts};
use crate::{Arity, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Tokenizes texts with a SentencePiece model (input 0, the content of the model file). The texts are
    /// input 1, or three inputs with start offsets, end offsets and bytes. Four more inputs may hold special
    /// tokens and their ids. Outputs: the row and column of each token, the tokens, and the number of rows
    /// and columns.
    #[op(
        "SentencepieceTokenizer", since = [1], inputs = Arity::between(2, 8), category = Text, traits = [PURE],
        name = only_extension()
    )]
    pub struct SentencepieceTokenizer {
        /// 0 or 1 for the best tokenization; sampling from several tokenizations is not supported at run
        /// time.
        pub nbest_size: i64 = 0,
        /// The temperature for sampling.
        pub alpha: f64 = 1.0,
        /// Whether to add the start token.
        pub add_bos: bool = false,
        /// Whether to add the end token.
        pub add_eos: bool = false,
        /// Whether to reverse the tokens of a text.
        pub reverse: bool = false,
    }
}

/// The number of inputs for texts, and whether there are special tokens.
fn parts(inputs: usize) -> Result<(usize, bool), OpError> {
    match inputs {
        2 => Ok((1, false)),
        4 => Ok((3, false)),
        6 => Ok((1, true)),
        8 => Ok((3, true)),
        got => Err(OpError::Arity { expected: "2, 4, 6 or 8".to_string(), got }),
    }
}

impl InferOp for SentencepieceTokenizer {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let (inputs, has_special) = parts(cx.len())?;
        expect_bytes(cx, 0)?;
        let texts = match inputs {
            1 => {
                let got = cx.element_type(1);
                if !matches!(got, ElementType::String | ElementType::Dynamic) {
                    return Err(OpError::element_type("input 1", got, "string"));
                }
                cx.shape(1).clone()
            }
            _ => infer_texts(cx, 1)?,
        };
        if has_special {
            let last = cx.len() - 1;
            let special = infer_texts(cx, last - 3)?;
            cx.expect_index(last)?;
            cx.merge_shapes("special tokens are {}, their numbers {}", &special, cx.shape(last))?;
        }
        let count = cx.unknown(Interval::DIM);
        let places = Fact::new(ElementType::I64, Shape::ranked([count.clone(), 2.into()]));
        let tokens = Fact::new(ElementType::I32, Shape::ranked([count]));
        let rows = texts.dims().map(|dims| cx.product(dims));
        let sizes: Option<Vec<SymExpr>> = rows.map(|rows| vec![rows, cx.unknown(Interval::DIM)]);
        let sizes = Fact::new(ElementType::I64, Shape::from([2i64])).with_elements(sizes);
        Ok(Facts::from([places, tokens, sizes]))
    }
}

eval_of_text!(SentencepieceTokenizer);

#[cfg(feature = "tokenizers")]
mod kernel {
    use snick_tensor::Tensor;
    use snick_text::{SentencePiece, SpecialTokens};

    use super::{SentencepieceTokenizer, parts};
    use crate::OpError;
    use crate::ops::ragged::rows::Room;
    use crate::ops::strings::texts::Texts;
    use crate::ops::tokens::bpe_tokenizer::numbers;
    use crate::ops::tokens::vocabulary::of_inputs;

    /// The number of bytes that a token takes in the outputs.
    const TOKEN_BYTES: usize = 2 * size_of::<i64>() + size_of::<i32>();

    /// The model and its special tokens.
    type Model = (SentencePiece, Option<SpecialTokens>);

    pub(super) fn eval(op: &SentencepieceTokenizer, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        if !matches!(op.nbest_size, 0 | 1) {
            return Err(OpError::unsupported(format!("nbest_size {}", op.nbest_size)));
        }
        let (texts_inputs, has_special) = parts(inputs.len())?;
        let mut constants = vec![inputs[0].clone()];
        constants.extend_from_slice(&inputs[1 + texts_inputs..]);
        let model = of_inputs(op, &constants, || make(&constants, has_special))?;
        let (mut places, mut tokens, mut room) = (Vec::new(), Vec::new(), Room::default());
        let (mut rows, mut most) = (0i64, 0);
        let mut add = |text: &[u8]| -> Result<(), OpError> {
            let start = tokens.len();
            let bytes = (start + text.len()).saturating_mul(TOKEN_BYTES);
            room.expect(bytes)?;
            encode(op, &model, text, &mut tokens)?;
            let count = tokens.len() - start;
            places.extend((0..count as i64).flat_map(|column| [rows, column]));
            (rows, most) = (rows + 1, most.max(count));
            Ok(())
        };
        match texts_inputs {
            1 => inputs[1].as_strings()?.into_iter().try_for_each(|text| add(text.as_bytes()))?,
            _ => Texts::at(inputs, 1)?.iter().try_for_each(add)?,
        }
        Ok(vec![
            Tensor::from_vec(&[tokens.len(), 2], places)?,
            Tensor::from_vec(&[tokens.len()], tokens)?,
            Tensor::from_vec(&[2], vec![rows, most as i64])?,
        ])
    }

    fn make(inputs: &[Tensor], has_special: bool) -> Result<Model, OpError> {
        let model = SentencePiece::parse(&inputs[0].values::<u8>()?)?;
        let special = match has_special {
            true => {
                let texts = Texts::at(inputs, 1)?;
                let numbers = numbers(&inputs[4], texts.len())?;
                Some(SpecialTokens::new(texts.iter().zip(numbers))?)
            }
            false => None,
        };
        Ok((model, special))
    }

    /// Appends the tokens of a text. Like the runtime, splits the text at special tokens and adds the start
    /// token before each part.
    fn encode(
        op: &SentencepieceTokenizer,
        (model, special): &Model,
        text: &[u8],
        tokens: &mut Vec<i32>,
    ) -> Result<(), OpError> {
        let start = tokens.len();
        let (bos, eos) = (model.bos().filter(|_| op.add_bos), model.eos().filter(|_| op.add_eos));
        match special {
            Some(special) => model.encode_special(text, special, bos, tokens)?,
            None => {
                tokens.extend(bos);
                model.encode(text, tokens)?;
            }
        }
        tokens.extend(eos);
        if op.reverse {
            tokens[start..].reverse();
        }
        Ok(())
    }
}
