//! VocabDecoder, from openvino_tokenizers.

use snick_shape::Shape;
use snick_tensor::{SmallVector, Tensor};

use crate::ops::ragged::rows::{RowWriter, row_facts};
use crate::ops::strings::texts::{TextWriter, Texts, infer_texts, text_facts};
use crate::{Arity, EvalOp, Facts, Infer, InferOp, OpError};

op! {
    /// Looks up the texts of tokens (rows of input 0) in the vocabulary of inputs 1 to 3. A token that is out
    /// of range or skipped becomes an empty text. Input 4 or, if it is absent, the attribute lists the tokens
    /// to skip. A row without tokens has one empty text.
    #[op(
        "VocabDecoder", since = [1], inputs = Arity::between(4, 5),
        category = Text, traits = [PURE], name = only_extension()
    )]
    pub struct VocabDecoder {
        /// Tokens to skip.
        pub skip_tokens: SmallVector<i64, 4> = SmallVector::new(),
    }
}

impl InferOp for VocabDecoder {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_index(0)?;
        cx.expect_rank(0, "2", |rank| rank == 2)?;
        infer_texts(cx, 1)?;
        if cx.len() == 5 {
            cx.expect_index(4)?;
        }
        let (rows, texts) = match cx.shape(0).dims() {
            Some([batch, len]) => {
                let at_least_one = cx.max(len, &1.into());
                (Shape::ranked([batch.clone()]), Shape::ranked([cx.mul(batch, &at_least_one)]))
            }
            _ => (cx.unknown_dims(1), cx.unknown_dims(1)),
        };
        let mut facts = Facts::from(row_facts(&rows));
        text_facts(cx, &texts).into_iter().for_each(|fact| facts.push(fact));
        Ok(facts)
    }
}

impl EvalOp for VocabDecoder {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let &[batch, len] = inputs[0].dims() else {
            return Err(OpError::rank("the tokens", inputs[0].rank(), "2"));
        };
        let vocabulary = Texts::at(inputs, 1)?;
        let skipped = match inputs.get(4) {
            Some(skipped) => skipped.to_i64_vec()?,
            None => self.skip_tokens.to_vec(),
        };
        let skipped: std::collections::HashSet<i64> = skipped.into_iter().collect();
        let tokens = inputs[0].to_i64_vec()?;
        let (mut rows, mut texts) = (RowWriter::default(), TextWriter::default());
        for row in 0..batch {
            rows.push(row * len.max(1)..(row + 1) * len.max(1))?;
            if len == 0 {
                texts.push(b"")?;
            }
            for token in &tokens[row * len..(row + 1) * len] {
                let at = usize::try_from(*token).ok().filter(|&at| at < vocabulary.len());
                let at = at.filter(|_| !skipped.contains(token));
                texts.push(at.map_or(&[][..], |at| vocabulary.get(at)))?;
            }
        }
        let mut outputs = rows.into_tensors(&[batch])?.to_vec();
        outputs.extend(texts.into_tensors(&[batch * len.max(1)])?);
        Ok(outputs)
    }
}
