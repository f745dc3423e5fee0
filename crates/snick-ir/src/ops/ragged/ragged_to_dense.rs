//! RaggedToDense, from openvino_tokenizers.

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::{Dims, ElementType, SmallVector, Tensor};

use super::rows::{Room, Rows, infer_rows};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, leading};

op! {
    /// Converts ragged rows to a dense tensor. Inputs: start and end offsets of the rows, the data, the row
    /// length to truncate or pad to, the padding element, and optionally a boolean that overrides
    /// `pad_right`. Output 1 is a mask of the elements that come from the data.
    #[op(
        "RaggedToDense", since = [1], inputs = Arity::between(5, 6),
        category = Text, traits = [PURE], name = only_extension()
    )]
    pub struct RaggedToDense {
        /// Whether to pad at the end rather than at the start.
        pub pad_right: bool = true,
        /// Whether to fill a row that is too short with the data that follows it.
        #[attr("m_pad_max_length")]
        pub pad_max_length: bool = false,
    }
}

impl InferOp for RaggedToDense {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let rows = infer_rows(cx, 0)?;
        cx.expect_rank(2, "1 or more", |rank| rank >= 1)?;
        cx.expect_integer(3);
        cx.expect_rank(3, "0 or 1", |rank| rank <= 1)?;
        cx.expect_rank(4, "0", |rank| rank == 0)?;
        cx.common_type([2, 4]);
        let len = match cx.input(3).elements().as_deref() {
            Some([len]) => {
                let range = cx.interval(len);
                Some(
                    cx.as_dim(len)
                        .ok_or_else(|| OpError::mismatch("the length of rows", range, "0 or more"))?,
                )
            }
            _ => None,
        };
        let shape = match (rows.dims(), cx.shape(2).dims()) {
            (Some(rows), Some([_, rest @ ..])) => {
                let len = len.unwrap_or_else(|| cx.unknown(Interval::DIM));
                let dims: SmallVector<SymExpr, 4> =
                    rows.iter().cloned().chain([len]).chain(rest.iter().cloned()).collect();
                Shape::ranked(dims)
            }
            _ => Shape::unranked(),
        };
        let mask = Fact::new(ElementType::Boolean, shape.clone());
        Ok(Facts::from([Fact::new(cx.element_type(2), shape), mask]))
    }
}

impl EvalOp for RaggedToDense {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let ([begins, ends, data, len, padding], rest) = leading(inputs)?;
        let pad_right = match rest.first() {
            Some(pad_right) => pad_right.cast(ElementType::Boolean)?.to_bools()?.first() == Some(&true),
            None => self.pad_right,
        };
        let Some((&count, inner)) = data.dims().split_first() else {
            return Err(OpError::rank("the data", 0, "1 or more"));
        };
        let rows = Rows::new(begins, ends, count)?;
        let len = match len.to_i64_vec()?[..] {
            [len] => usize::try_from(len)
                .map_err(|_| OpError::out_of_range("the length of rows", len, "0 or more"))?,
            _ => return Err(OpError::mismatch("the length of rows", "no number", "one number")),
        };
        let dims: Dims = begins.dims().iter().copied().chain([len]).chain(inner.iter().copied()).collect();
        // Allocate both outputs before any other work, to fail early if they are too large.
        let mut mask = Tensor::zeros(ElementType::Boolean, &dims)?.to_bools()?;
        let inner: usize = inner.iter().product();
        Room::default().expect(rows.len().saturating_mul(len).saturating_mul(size_of::<i64>()))?;
        // Indices into the data; the index after the last element means the padding element.
        let mut picks = vec![count as i64; rows.len() * len];
        for (i, row) in rows.iter().enumerate() {
            let kept = if self.pad_max_length { len } else { row.len().min(len) };
            if row.start.saturating_add(kept) > count {
                let got = format!("{}..{}", row.start, row.start.saturating_add(kept));
                return Err(OpError::mismatch("a row", got, format!("within 0..{count}")));
            }
            let start = i * len + if pad_right { 0 } else { len - kept };
            for (pick, at) in picks[start..start + kept].iter_mut().zip(row.start..) {
                *pick = at as i64;
            }
            mask[start * inner..(start + kept) * inner].fill(true);
        }
        let one_more: Dims = [1].into_iter().chain(data.dims()[1..].iter().copied()).collect();
        let padding = padding.cast(data.element_type())?.reshape(&[])?.broadcast_to(&one_more)?;
        let table = snick_tensor::kernels::concat(&[data, &padding], 0)?;
        let picks = Tensor::from_vec(&[picks.len()], picks)?;
        let dense = snick_tensor::kernels::gather(&table, &picks, 0, 0)?.reshape(&dims)?;
        Ok(vec![dense, Tensor::from_bools(&dims, &mask)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(op: RaggedToDense, len: i32, end: i32) -> Option<(Vec<i64>, Vec<bool>)> {
        let tensor = |values: &[i32]| Tensor::from_slice(values, &[values.len()]).unwrap();
        let inputs = [
            tensor(&[0, 1]),
            tensor(&[1, end]),
            tensor(&[5, 6, 7, 8]),
            Tensor::scalar(len),
            Tensor::scalar(-1),
        ];
        let out = op.eval(&inputs).ok()?;
        assert_eq!(out[0].dims(), [2, len as usize]);
        Some((out[0].to_i64_vec().unwrap(), out[1].to_bools().unwrap()))
    }

    #[test]
    fn rows_are_padded_and_cut() {
        let right = RaggedToDense::default();
        let left = RaggedToDense { pad_right: false, ..right.clone() };
        let (t, f) = (true, false);
        assert_eq!(run(right.clone(), 2, 4), Some((vec![5, -1, 6, 7], vec![t, f, t, t])));
        assert_eq!(run(left, 2, 4), Some((vec![-1, 5, 6, 7], vec![f, t, t, t])));
        assert_eq!(run(right.clone(), 0, 4), Some((vec![], vec![])));
        assert_eq!(run(right.clone(), 2, 5), None);
        assert_eq!(run(right.clone(), -1, 4), None);
        let longest = RaggedToDense { pad_max_length: true, ..right };
        assert_eq!(run(longest.clone(), 2, 2), Some((vec![5, 6, 6, 7], vec![t; 4])));
        assert_eq!(run(longest, 4, 2), None);
    }

    #[test]
    fn a_length_beyond_memory_is_refused_before_memory_is_taken() {
        assert_eq!(run(RaggedToDense::default(), i32::MAX, 4).map(|_| ()), None);
    }
}
