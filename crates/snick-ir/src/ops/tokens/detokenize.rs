//! SentencePiece detokenization, shared by SentencepieceDetokenizer and SentencepieceStreamDetokenizer.

use snick_shape::Shape;

use crate::ops::strings::texts::{expect_bytes, text_facts};
use crate::{Facts, Infer, OpError};

/// The facts of the output texts, one for each row of input 1. Input 0 is the content of the model file.
pub(super) fn infer_detokenized(cx: &mut Infer) -> Result<Facts, OpError> {
    expect_bytes(cx, 0)?;
    cx.expect_index(1)?;
    cx.expect_rank(1, "2", |rank| rank == 2)?;
    let rows = match cx.shape(1).dims() {
        Some([rows, ..]) => Shape::ranked([rows.clone()]),
        _ => cx.unknown_dims(1),
    };
    Ok(Facts::from(text_facts(cx, &rows)))
}

#[cfg(feature = "tokenizers")]
pub(super) use self::kernel::detokenize;

#[cfg(feature = "tokenizers")]
mod kernel {
    use snick_tensor::{ElementType, Tensor};
    use snick_text::SentencePiece;

    use crate::ops::strings::texts::TextWriter;
    use crate::ops::tokens::vocabulary::of_inputs;
    use crate::{OpDef, OpError, exactly};

    /// Detokenizes the rows of input 1, each with `decode`.
    pub(in super::super) fn detokenize<O: OpDef + Send + Sync + 'static>(
        op: &O,
        inputs: &[Tensor],
        decode: impl Fn(&SentencePiece, &[i32]) -> Result<Vec<u8>, OpError>,
    ) -> Result<Vec<Tensor>, OpError> {
        let [file, tokens] = exactly(inputs)?;
        let &[rows, len] = tokens.dims() else {
            return Err(OpError::rank("the tokens", tokens.rank(), "2"));
        };
        let model = of_inputs(op, &inputs[..1], || Ok(SentencePiece::parse(&file.values::<u8>()?)?))?;
        let tokens = tokens.cast(ElementType::I32)?;
        let tokens = tokens.values::<i32>()?;
        let mut out = TextWriter::default();
        for row in 0..rows {
            out.push(&decode(&model, &tokens[row * len..(row + 1) * len])?)?;
        }
        Ok(out.into_tensors(&[rows])?.to_vec())
    }
}
