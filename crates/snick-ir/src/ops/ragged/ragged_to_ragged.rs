//! RaggedToRagged, from openvino_tokenizers.

use snick_shape::{Interval, Shape};
use snick_tensor::{ElementType, Tensor};

use super::rows::{Room, RowWriter};
use crate::{Arity, EvalOp, Facts, Infer, InferOp, OpError, exactly};

op! {
    /// The start and end offsets of rows, given the row of each element in ascending order (input 0) and the
    /// number of rows (input 1). Elements of rows beyond that number are dropped.
    #[op(
        "RaggedToRagged", since = [1], inputs = Arity::exactly(2),
        category = Text, traits = [PURE], name = only_extension()
    )]
    pub struct RaggedToRagged;
}

impl InferOp for RaggedToRagged {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        for i in 0..2 {
            let got = cx.element_type(i);
            if !matches!(got, ElementType::I32 | ElementType::Dynamic) {
                return Err(OpError::element_type(format!("input {i}"), got, "i32"));
            }
        }
        let count = match cx.input(1).elements().as_deref() {
            Some([count]) => cx.as_dim(count),
            _ => None,
        };
        let count = count.unwrap_or_else(|| cx.unknown(Interval::DIM));
        Ok(Facts::from(super::rows::row_facts(&Shape::ranked([count]))))
    }
}

impl EvalOp for RaggedToRagged {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [rows, count] = exactly(inputs)?;
        let rows = rows.to_i64_vec()?;
        let count = count.to_i64_vec()?.first().copied().unwrap_or(0);
        let count = usize::try_from(count).map_err(|_| OpError::out_of_range("rows", count, "0 or more"))?;
        Room::default().expect(count.saturating_mul(2 * size_of::<i32>()))?;
        if let Some(&first) = rows.first().filter(|first| **first < 0) {
            return Err(OpError::out_of_range("a row", first, "0 or more"));
        }
        if let Some(pair) = rows.windows(2).find(|pair| pair[0] > pair[1]) {
            return Err(OpError::conflict("rows must ascend, but {} is followed by {}", pair[0], pair[1]));
        }
        let (mut out, mut start) = (RowWriter::default(), 0);
        for row in 0..count {
            let len = rows[start..].iter().take_while(|&&of| of == row as i64).count();
            out.push(start..start + len)?;
            start += len;
        }
        Ok(out.into_tensors(&[count])?.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_elements_are_empty() {
        let run = |rows: &[i32], count: i32| {
            let rows = Tensor::from_slice(rows, &[rows.len()]).unwrap();
            let out = RaggedToRagged.eval(&[rows, Tensor::scalar(count)]).ok()?;
            Some((out[0].to_i64_vec().unwrap(), out[1].to_i64_vec().unwrap()))
        };
        assert_eq!(run(&[0, 0, 2, 5], 4), Some((vec![0, 2, 2, 3], vec![2, 2, 3, 3])));
        assert_eq!(run(&[1, 0], 2), None);
        assert_eq!(run(&[-1], 2), None);
        assert_eq!(run(&[], -2), None);
    }
}
