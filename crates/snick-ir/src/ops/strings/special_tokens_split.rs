//! SpecialTokensSplit, from openvino_tokenizers.

use snick_tensor::ElementType;

use super::texts::{expect_bytes, infer_ragged_texts, skips_fact};
use crate::ops::ragged::rows::{data_fact, row_facts};
use crate::{Arity, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Splits ragged texts (inputs 0 to 4) into special tokens and the parts between them. The last input is
    /// a pattern that matches special tokens. With 7 inputs, input 5 marks texts to keep whole. Output 5
    /// marks special tokens and texts that were kept whole.
    #[op(
        "SpecialTokensSplit", since = [1], inputs = Arity::between(6, 7), category = Text, traits = [PURE],
        name = only_extension()
    )]
    pub struct SpecialTokensSplit;
}

impl InferOp for SpecialTokensSplit {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let [rows, texts] = infer_ragged_texts(cx)?;
        if cx.len() == 7 {
            skips_fact(cx, 5, &texts)?;
        }
        expect_bytes(cx, cx.len() - 1)?;
        let pieces = data_fact(cx, ElementType::I32);
        let skips = Fact::new(ElementType::Boolean, pieces.shape().clone());
        let [begins, ends] = row_facts(&rows);
        let bytes = Fact::new(ElementType::U8, cx.shape(4).clone());
        Ok(Facts::from([begins, ends, pieces.clone(), pieces, bytes, skips]))
    }
}

eval_of_text!(SpecialTokensSplit);

#[cfg(feature = "tokenizers")]
mod kernel {
    use snick_tensor::Tensor;

    use super::SpecialTokensSplit;
    use crate::OpError;
    use crate::ops::strings::pieces::PieceWriter;
    use crate::ops::strings::texts::{RaggedTexts, pattern, skips};

    pub(super) fn eval(_: &SpecialTokensSplit, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let RaggedTexts { rows, texts } = RaggedTexts::new(inputs)?;
        let last = inputs.len() - 1;
        let skips = skips(inputs.get(5).filter(|_| last == 6), texts.len())?;
        let special = pattern(&inputs[last])?;
        let mut out = PieceWriter::new(&texts);
        for row in rows.iter() {
            out.start_row();
            for i in row {
                match skips[i] {
                    true => out.push(i, 0..texts.get(i).len(), true),
                    false => {
                        special
                            .split_special(texts.get(i), |part, is_special| out.push(i, part, is_special))?;
                    }
                }
                out.check()?;
            }
            out.end_row()?;
        }
        out.into_tensors(inputs, true)
    }
}
