//! FuzeRagged, from openvino_tokenizers.

use snick_tensor::Tensor;

use super::rows::{RowWriter, Rows, infer_rows, row_facts};
use crate::{Arity, EvalOp, Facts, Infer, InferOp, OpError, exactly};

op! {
    /// Merges the texts of each row into one text, which extends from the start of the first text to the end
    /// of the last. Inputs: start and end offsets of the rows, and start and end offsets of the texts. An
    /// empty row becomes an empty text.
    #[op(
        "FuzeRagged", since = [1], inputs = Arity::exactly(4),
        category = Text, traits = [PURE], name = only_extension()
    )]
    pub struct FuzeRagged;
}

impl InferOp for FuzeRagged {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let shape = infer_rows(cx, 0)?;
        infer_rows(cx, 2)?;
        Ok(Facts::from(row_facts(&shape)))
    }
}

impl EvalOp for FuzeRagged {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [row_begins, row_ends, begins, ends] = exactly(inputs)?;
        // The bytes of the texts are not an input, so assume the maximum that i32 can address.
        let texts = Rows::new(begins, ends, i32::MAX as usize)?;
        let rows = Rows::new(row_begins, row_ends, texts.len())?;
        let mut out = RowWriter::default();
        for row in rows.iter() {
            let text = match row.clone().last() {
                Some(last) => texts.row(row.start).start..texts.row(last).end,
                None => 0..0,
            };
            if text.start > text.end {
                return Err(OpError::mismatch("a text", format!("{}..{}", text.start, text.end), "in order"));
            }
            out.push(text)?;
        }
        Ok(out.into_tensors(row_begins.dims())?.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_texts() {
        let tensor = |values: &[i32]| Tensor::from_slice(values, &[values.len()]).unwrap();
        let run = |rows: [&[i32]; 2], texts: [&[i32]; 2]| {
            let inputs = [tensor(rows[0]), tensor(rows[1]), tensor(texts[0]), tensor(texts[1])];
            let out = FuzeRagged.eval(&inputs).ok()?;
            Some((out[0].to_i64_vec().unwrap(), out[1].to_i64_vec().unwrap()))
        };
        let texts: [&[i32]; 2] = [&[0, 2, 5], &[2, 5, 9]];
        assert_eq!(run([&[0, 2, 3], &[2, 3, 3]], texts), Some((vec![0, 5, 0], vec![5, 9, 0])));
        assert_eq!(run([&[0], &[4]], texts), None);
        assert_eq!(run([&[0], &[2]], [&[3, 0], &[4, 1]]), None);
    }
}
