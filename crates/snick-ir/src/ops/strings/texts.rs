//! Texts, given by their start and end offsets in shared bytes.

use std::borrow::Cow;

use snick_shape::Shape;
use snick_tensor::{ElementType, Tensor};

use crate::ops::ragged::rows::{Room, RowWriter, Rows, data_fact, expect_vector, infer_rows, row_facts};
use crate::{Fact, Infer, OpError, leading};

/// The texts that an op reads.
pub(crate) struct Texts<'t> {
    rows: Rows<'t>,
    bytes: Cow<'t, [u8]>,
}

impl<'t> Texts<'t> {
    /// Texts in shared bytes.
    ///
    /// # Errors
    /// If a text lies outside the bytes.
    pub fn new(begins: &'t Tensor, ends: &'t Tensor, bytes: &'t Tensor) -> Result<Self, OpError> {
        let bytes = bytes.values::<u8>()?;
        Ok(Self { rows: Rows::new(begins, ends, bytes.len())?, bytes })
    }

    /// Reads texts from three inputs, starting at input `at`.
    pub fn at(inputs: &'t [Tensor], at: usize) -> Result<Self, OpError> {
        let ([begins, ends, bytes], _) = leading(inputs.get(at..).unwrap_or_default())?;
        Self::new(begins, ends, bytes)
    }

    /// The number of texts.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Text `i`; panics if it does not exist.
    pub fn get(&self, i: usize) -> &[u8] {
        &self.bytes[self.rows.row(i)]
    }

    /// The start of text `i`.
    #[cfg(feature = "tokenizers")]
    pub fn begin(&self, i: usize) -> usize {
        self.rows.row(i).start
    }

    /// All texts.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.rows.iter().map(|row| &self.bytes[row])
    }
}

/// Rows of texts, from five tensors.
pub(crate) struct RaggedTexts<'t> {
    pub rows: Rows<'t>,
    pub texts: Texts<'t>,
}

impl<'t> RaggedTexts<'t> {
    /// Reads the first five inputs.
    pub fn new(inputs: &'t [Tensor]) -> Result<Self, OpError> {
        let ([begins, ends], rest) = leading(inputs)?;
        let texts = Texts::at(rest, 0)?;
        Ok(Self { rows: Rows::new(begins, ends, texts.len())?, texts })
    }
}

/// Whether to leave each of `count` texts unchanged; `false` for all if the input is absent.
pub(crate) fn skips(input: Option<&Tensor>, count: usize) -> Result<Vec<bool>, OpError> {
    let Some(input) = input else { return Ok(vec![false; count]) };
    let skips = input.to_bools()?;
    match skips.len() == count {
        true => Ok(skips),
        false => Err(OpError::mismatch("the number of skips", skips.len(), count)),
    }
}

/// Collects the texts that an op writes.
#[derive(Default)]
pub(crate) struct TextWriter {
    rows: RowWriter,
    bytes: Vec<u8>,
    room: Room,
}

impl TextWriter {
    /// Adds a text.
    ///
    /// # Errors
    /// If the bytes exceed the memory limit or the range of i32.
    pub fn push(&mut self, text: &[u8]) -> Result<(), OpError> {
        let (start, end) = (self.bytes.len(), self.bytes.len().saturating_add(text.len()));
        self.rows.push(start..end)?;
        self.room.expect(end)?;
        self.bytes.extend_from_slice(text);
        Ok(())
    }

    /// The start offsets, end offsets and bytes of the texts.
    pub fn into_tensors(self, dims: &[usize]) -> Result<[Tensor; 3], OpError> {
        let [begins, ends] = self.rows.into_tensors(dims)?;
        Ok([begins, ends, Tensor::from_vec(&[self.bytes.len()], self.bytes)?])
    }
}

/// Maps the texts of the first three inputs, except texts that `skips_input` marks.
pub(crate) fn map_texts(
    inputs: &[Tensor],
    skips_input: Option<&Tensor>,
    mut change: impl FnMut(&[u8]) -> Result<Vec<u8>, OpError>,
) -> Result<Vec<Tensor>, OpError> {
    let texts = Texts::at(inputs, 0)?;
    let skips = skips(skips_input, texts.len())?;
    let mut out = TextWriter::default();
    for (text, skip) in texts.iter().zip(skips) {
        match skip {
            true => out.push(text)?,
            false => out.push(&change(text)?)?,
        }
    }
    let mut outputs = out.into_tensors(inputs[0].dims())?.to_vec();
    outputs.extend(skips_input.cloned());
    Ok(outputs)
}

/// The shape of the texts in inputs `at` to `at + 2`.
pub(crate) fn infer_texts(cx: &mut Infer, at: usize) -> Result<Shape, OpError> {
    let shape = infer_rows(cx, at)?;
    expect_bytes(cx, at + 2)?;
    Ok(shape)
}

/// Requires input `i` to be a vector of bytes.
pub(crate) fn expect_bytes(cx: &Infer, i: usize) -> Result<(), OpError> {
    let got = cx.element_type(i);
    if !matches!(got, ElementType::U8 | ElementType::Dynamic) {
        return Err(OpError::element_type(format!("input {i}"), got, "u8"));
    }
    expect_vector(cx, i)
}

/// The shapes of the rows and of the texts in the first five inputs.
pub(crate) fn infer_ragged_texts(cx: &mut Infer) -> Result<[Shape; 2], OpError> {
    Ok([infer_rows(cx, 0)?, infer_texts(cx, 2)?])
}

/// The facts of texts with this shape.
pub(crate) fn text_facts(cx: &mut Infer, shape: &Shape) -> [Fact; 3] {
    let [begins, ends] = row_facts(shape);
    [begins, ends, data_fact(cx, ElementType::U8)]
}

/// The fact of the output that forwards the optional input `i`. This input marks the texts to leave
/// unchanged. `None` if the input is missing.
pub(crate) fn skips_fact(cx: &mut Infer, i: usize, texts: &Shape) -> Result<Option<Fact>, OpError> {
    if cx.optional(i).is_none() {
        return Ok(None);
    }
    let got = cx.element_type(i);
    if !matches!(got, ElementType::Boolean | ElementType::Dynamic) {
        return Err(OpError::element_type(format!("input {i}"), got, "boolean"));
    }
    cx.merge_shapes("texts are {}, skips {}", texts, cx.shape(i))?;
    Ok(Some(Fact::new(ElementType::Boolean, cx.shape(i).clone())))
}

/// The pattern in a vector of bytes; cached for constants.
#[cfg(feature = "tokenizers")]
pub(crate) fn pattern(bytes: &Tensor) -> Result<std::sync::Arc<snick_text::Pattern>, OpError> {
    bytes.derived(|| {
        let bytes = bytes.values::<u8>()?;
        let text = std::str::from_utf8(&bytes);
        let text = text.map_err(|_| OpError::mismatch("the pattern", "not UTF-8", "UTF-8"))?;
        Ok(snick_text::Pattern::new(text)?)
    })
}
