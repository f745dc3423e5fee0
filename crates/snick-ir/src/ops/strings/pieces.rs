//! Rows of pieces. A piece is a part of an input text and shares the bytes of that text.

use std::ops::Range;

use snick_tensor::Tensor;

use super::texts::Texts;
use crate::OpError;
use crate::ops::ragged::rows::{Room, RowWriter, position};

/// The number of bytes that a piece takes in the outputs.
const PIECE_BYTES: usize = 9;

/// Collects the rows of pieces that an op writes.
pub(crate) struct PieceWriter<'t> {
    texts: &'t Texts<'t>,
    rows: RowWriter,
    row_start: usize,
    begins: Vec<i32>,
    ends: Vec<i32>,
    skips: Vec<bool>,
    room: Room,
}

impl<'t> PieceWriter<'t> {
    /// An empty writer for pieces of these texts.
    pub fn new(texts: &'t Texts<'t>) -> Self {
        Self {
            texts,
            rows: RowWriter::default(),
            row_start: 0,
            begins: Vec::new(),
            ends: Vec::new(),
            skips: Vec::new(),
            room: Room::default(),
        }
    }

    /// Starts a row.
    pub fn start_row(&mut self) {
        self.row_start = self.begins.len();
    }

    /// Adds a part of text `i`; `skip` says whether later ops should leave the part unchanged.
    pub fn push(&mut self, i: usize, part: Range<usize>, skip: bool) {
        // The ends of texts are i32, so the conversion cannot fail.
        let place = |at: usize| position(self.texts.begin(i) + at).unwrap_or(i32::MAX);
        self.begins.push(place(part.start));
        self.ends.push(place(part.end));
        self.skips.push(skip);
    }

    /// Checks the memory limit; ops call this after each text.
    pub fn check(&mut self) -> Result<(), OpError> {
        self.room.expect(self.begins.len().saturating_mul(PIECE_BYTES))
    }

    /// Ends a row.
    pub fn end_row(&mut self) -> Result<(), OpError> {
        self.rows.push(self.row_start..self.begins.len())
    }

    /// The outputs of an op with these inputs; with `has_skips`, they include the marks of pieces to leave
    /// unchanged.
    pub fn into_tensors(self, inputs: &[Tensor], has_skips: bool) -> Result<Vec<Tensor>, OpError> {
        let count = [self.begins.len()];
        let mut outputs = self.rows.into_tensors(inputs[0].dims())?.to_vec();
        outputs.push(Tensor::from_vec(&count, self.begins)?);
        outputs.push(Tensor::from_vec(&count, self.ends)?);
        outputs.push(inputs[4].clone());
        if has_skips {
            outputs.push(Tensor::from_bools(&count, &self.skips)?);
        }
        Ok(outputs)
    }
}
