//! Vocabularies and other values that ops compute from constant inputs and cache.

use snick_shape::Shape;

use crate::ops::ragged::rows::{data_fact, row_facts};
use crate::ops::strings::texts::{infer_ragged_texts, infer_texts};
use crate::{Facts, Infer, OpError};

/// The facts of rows of tokens for rows of texts, and the shape of the vocabulary in inputs 5 to 7.
pub(super) fn infer_tokens(cx: &mut Infer) -> Result<(Facts, Shape), OpError> {
    let [rows, _] = infer_ragged_texts(cx)?;
    let vocabulary = infer_texts(cx, 5)?;
    let [begins, ends] = row_facts(&rows);
    let tokens = data_fact(cx, snick_tensor::ElementType::I32);
    Ok((Facts::from([begins, ends, tokens]), vocabulary))
}

#[cfg(feature = "tokenizers")]
pub(super) use self::kernel::{TokenWriter, of_inputs, tokenize};

#[cfg(feature = "tokenizers")]
mod kernel {
    use std::sync::Arc;

    use snick_tensor::Tensor;

    use crate::ops::ragged::rows::{Room, RowWriter};
    use crate::ops::strings::texts::RaggedTexts;
    use crate::{OpDef, OpError};

    /// A value, with the op and the inputs that it was computed from.
    struct Made<O, T> {
        op: O,
        inputs: Vec<Tensor>,
        value: T,
    }

    /// Computes a value from `inputs`. If the inputs are constants, the value is cached with the first input.
    pub(in super::super) fn of_inputs<O, T>(
        op: &O,
        inputs: &[Tensor],
        make: impl Fn() -> Result<T, OpError>,
    ) -> Result<Value<O, T>, OpError>
    where
        O: OpDef + Send + Sync + 'static,
        T: Send + Sync + 'static,
    {
        let fresh = || Ok::<_, OpError>(Made { op: op.clone(), inputs: inputs.to_vec(), value: make()? });
        let first = inputs.first().ok_or(OpError::NotConnected { port: 0 })?;
        let made = first.derived(fresh)?;
        match made.op == *op && made.inputs == inputs {
            true => Ok(Value(made)),
            false => fresh().map(|made| Value(Arc::new(made))),
        }
    }

    /// A computed value, shared with the cache.
    pub(in super::super) struct Value<O, T>(Arc<Made<O, T>>);

    impl<O, T> std::ops::Deref for Value<O, T> {
        type Target = T;

        fn deref(&self) -> &T {
            &self.0.value
        }
    }

    /// Collects the rows of tokens that an op writes.
    #[derive(Default)]
    pub(in super::super) struct TokenWriter {
        rows: RowWriter,
        row_start: usize,
        tokens: Vec<i32>,
        room: Room,
    }

    impl TokenWriter {
        /// The tokens so far, for appending up to `more` tokens. Checks the memory limit for these first.
        pub fn tokens(&mut self, more: usize) -> Result<&mut Vec<i32>, OpError> {
            let count = self.tokens.len().saturating_add(more);
            self.room.expect(count.saturating_mul(size_of::<i32>()))?;
            Ok(&mut self.tokens)
        }

        /// Ends a row.
        pub fn end_row(&mut self) -> Result<(), OpError> {
            self.rows.push(self.row_start..self.tokens.len())?;
            self.row_start = self.tokens.len();
            Ok(())
        }

        /// The start and end offsets of the rows, and their tokens.
        pub fn into_tensors(self, dims: &[usize]) -> Result<Vec<Tensor>, OpError> {
            let mut outputs = self.rows.into_tensors(dims)?.to_vec();
            outputs.push(Tensor::from_vec(&[self.tokens.len()], self.tokens)?);
            Ok(outputs)
        }
    }

    /// Tokenizes rows of texts. `encode` appends the tokens of a text, at most one more than the text has
    /// bytes.
    pub(in super::super) fn tokenize(
        inputs: &[Tensor],
        mut encode: impl FnMut(&[u8], &mut Vec<i32>),
    ) -> Result<Vec<Tensor>, OpError> {
        let RaggedTexts { rows, texts } = RaggedTexts::new(inputs)?;
        let mut out = TokenWriter::default();
        for row in rows.iter() {
            for i in row {
                let text = texts.get(i);
                encode(text, out.tokens(text.len() + 1)?);
            }
            out.end_row()?;
        }
        out.into_tensors(inputs[0].dims())
    }
}
