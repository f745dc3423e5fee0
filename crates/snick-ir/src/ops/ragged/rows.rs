//! Rows of ragged tensors, given by their start and end offsets in shared data.

use std::borrow::Cow;
use std::ops::Range;

use snick_shape::{Interval, Shape};
use snick_tensor::{ElementType, Tensor};

use crate::{Fact, Infer, OpError};

/// Rows may overlap, but their total length is limited to this multiple of the data's length, plus
/// `MOST_MORE`. This bounds the time of ops that visit each element of each row.
const MOST_OVERLAP: usize = 16;
const MOST_MORE: usize = 1 << 24;

/// The rows of a ragged tensor, checked to lie within its data.
pub(crate) struct Rows<'t> {
    begins: Cow<'t, [i32]>,
    ends: Cow<'t, [i32]>,
    /// The total length of all rows.
    pub total: usize,
}

impl<'t> Rows<'t> {
    /// Rows in data of `len` elements.
    ///
    /// # Errors
    /// If a row lies outside the data, or the rows overlap too much.
    pub fn new(begins: &'t Tensor, ends: &'t Tensor, len: usize) -> Result<Self, OpError> {
        let is_one_row = begins.len() == 1 && ends.len() == 1;
        if begins.dims() != ends.dims() && !is_one_row {
            return Err(OpError::dims_conflict("begins are {}, ends {}", begins.dims(), ends.dims()));
        }
        let (begins, ends) = (begins.values::<i32>()?, ends.values::<i32>()?);
        let mut total = 0usize;
        for (&begin, &end) in begins.iter().zip(ends.iter()) {
            let row = range(begin, end).filter(|row| row.end <= len);
            let row = row.ok_or_else(|| {
                OpError::mismatch("a row", format!("{begin}..{end}"), format!("within 0..{len}"))
            })?;
            total = total.saturating_add(row.len());
        }
        if total > len.saturating_mul(MOST_OVERLAP).saturating_add(MOST_MORE) {
            return Err(OpError::unsupported(format!("{total} elements of rows in {len} elements of data")));
        }
        Ok(Self { begins, ends, total })
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.begins.len()
    }

    /// Row `i`; panics if it does not exist.
    pub fn row(&self, i: usize) -> Range<usize> {
        range(self.begins[i], self.ends[i]).unwrap_or_default()
    }

    /// All rows.
    pub fn iter(&self) -> impl Iterator<Item = Range<usize>> {
        (0..self.len()).map(|i| self.row(i))
    }
}

fn range(begin: i32, end: i32) -> Option<Range<usize>> {
    let range = usize::try_from(begin).ok()?..usize::try_from(end).ok()?;
    (range.start <= range.end).then_some(range)
}

/// Collects the rows that an op writes.
#[derive(Default)]
pub(crate) struct RowWriter {
    begins: Vec<i32>,
    ends: Vec<i32>,
}

impl RowWriter {
    /// Adds a row.
    ///
    /// # Errors
    /// If the row ends beyond the range of i32.
    pub fn push(&mut self, row: Range<usize>) -> Result<(), OpError> {
        self.begins.push(position(row.start)?);
        self.ends.push(position(row.end)?);
        Ok(())
    }

    /// The start and end offsets of the rows.
    pub fn into_tensors(self, dims: &[usize]) -> Result<[Tensor; 2], OpError> {
        Ok([Tensor::from_vec(dims, self.begins)?, Tensor::from_vec(dims, self.ends)?])
    }
}

/// Converts a position in the data to i32.
pub(crate) fn position(at: usize) -> Result<i32, OpError> {
    i32::try_from(at).map_err(|_| OpError::unsupported("a ragged tensor of 2^31 elements"))
}

/// Checks the memory limit before memory is allocated, and again each time the size doubles.
#[derive(Default)]
pub(crate) struct Room(usize);

/// Totals up to this number of bytes are never checked.
const SMALL: usize = 1 << 20;

impl Room {
    /// Checks that `bytes` may be allocated in total.
    ///
    /// # Errors
    /// If the bytes exceed the memory or its limit.
    pub fn expect(&mut self, bytes: usize) -> Result<(), OpError> {
        if bytes > self.0.max(SMALL) {
            self.0 = bytes.saturating_mul(2);
            Tensor::zeros(ElementType::U8, &[self.0])?;
        }
        Ok(())
    }
}

/// The shape of the rows whose start and end offsets are inputs `at` and `at + 1`. Converters write a single
/// row as scalars, or as a scalar and a vector.
pub(crate) fn infer_rows(cx: &mut Infer, at: usize) -> Result<Shape, OpError> {
    for i in [at, at + 1] {
        let got = cx.element_type(i);
        if !matches!(got, ElementType::I32 | ElementType::Dynamic) {
            return Err(OpError::element_type(format!("input {i}"), got, "i32"));
        }
    }
    let (begins, ends) = (cx.shape(at), cx.shape(at + 1));
    match (begins.dims(), ends.dims()) {
        (Some([]), Some([count])) | (Some([count]), Some([])) if cx.interval(count).contains(1) => {
            Ok(begins.clone())
        }
        _ => cx.merge_shapes("begins are {}, ends {}", begins, ends),
    }
}

/// The facts of the start and end offsets of rows.
pub(crate) fn row_facts(shape: &Shape) -> [Fact; 2] {
    let fact = Fact::new(ElementType::I32, shape.clone());
    [fact.clone(), fact]
}

/// The fact of a vector of unknown length.
pub(crate) fn data_fact(cx: &mut Infer, element_type: ElementType) -> Fact {
    let len = cx.unknown(Interval::DIM);
    Fact::new(element_type, Shape::ranked([len]))
}

/// Requires a vector, such as the bytes of texts.
pub(crate) fn expect_vector(cx: &Infer, i: usize) -> Result<(), OpError> {
    cx.expect_rank(i, "1", |rank| rank == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_lie_within_the_data() {
        let tensor = |values: &[i32]| Tensor::from_slice(values, &[values.len()]).unwrap();
        let rows = |begins: &[i32], ends: &[i32]| {
            let (begins, ends) = (tensor(begins), tensor(ends));
            Rows::new(&begins, &ends, 4).map(|rows| rows.iter().collect::<Vec<_>>()).ok()
        };
        assert_eq!(rows(&[0, 2], &[2, 4]), Some(vec![0..2, 2..4]));
        assert_eq!(rows(&[0], &[5]), None);
        assert_eq!(rows(&[-1], &[1]), None);
        assert_eq!(rows(&[2], &[1]), None);
        assert_eq!(rows(&[2], &[1, 2]), None);
        let (scalar, vector) = (Tensor::scalar(1i32), tensor(&[3]));
        let rows = Rows::new(&scalar, &vector, 4).map(|rows| rows.iter().collect::<Vec<_>>());
        assert_eq!(rows.map(|rows| (rows.len(), rows[0].clone())), Ok((1, 1..3)));
    }

    #[test]
    fn rows_that_repeat_the_data_without_end_are_refused() {
        let (len, count) = (1 << 20, 1 << 10);
        let begins = Tensor::zeros(ElementType::I32, &[count]).unwrap();
        let ends = Tensor::full(&[count], len).unwrap();
        assert!(Rows::new(&begins, &ends, len as usize).is_err());
    }
}
