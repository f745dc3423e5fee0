//! CombineSegments, from openvino_tokenizers.

use std::borrow::Cow;

use snick_shape::Shape;
use snick_tensor::Tensor;

use super::rows::{Room, RowWriter, Rows, data_fact, expect_vector, infer_rows, row_facts};
use crate::{Arity, EvalOp, Facts, Infer, InferOp, OpError};

op! {
    /// Concatenates the rows of several ragged tensors, each given by three inputs: start offsets, end
    /// offsets and data. Outputs 0 to 2 are the result. Outputs 3 to 5 label each element with the id of its
    /// source tensor; the last input lists the id of each tensor. A tensor with a single row adds that row to
    /// every row of the result.
    #[op(
        "CombineSegments", since = [1], inputs = Arity::at_least(4),
        category = Text, traits = [PURE], name = only_extension()
    )]
    pub struct CombineSegments;
}

/// The number of ragged tensors.
fn segments(inputs: usize) -> Result<usize, OpError> {
    match inputs % 3 {
        1 => Ok(inputs / 3),
        _ => Err(OpError::Arity { expected: "3 for each tensor, and one more".to_string(), got: inputs }),
    }
}

impl InferOp for CombineSegments {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let count = segments(cx.len())?;
        let mut shape: Option<Shape> = None;
        for at in (0..count).map(|i| 3 * i) {
            let rows = infer_rows(cx, at)?;
            expect_vector(cx, at + 2)?;
            if rows.rank() == Some(0) {
                continue;
            }
            // A tensor with one row is repeated, so its size does not constrain the other tensors.
            shape = Some(match shape {
                Some(shape) => cx.broadcast(&shape, &rows)?,
                None => rows,
            });
        }
        let shape = shape.unwrap_or_else(|| Shape::from([0i64; 0]));
        let element_type = cx.common_type((0..count).map(|i| 3 * i + 2));
        let numbers = data_fact(cx, cx.element_type(3 * count));
        let data = crate::Fact::new(element_type, numbers.shape().clone());
        let [begins, ends] = row_facts(&shape);
        Ok(Facts::from([begins.clone(), ends.clone(), data, begins, ends, numbers]))
    }
}

impl EvalOp for CombineSegments {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let count = segments(inputs.len())?;
        let numbers = &inputs[3 * count];
        if numbers.len() != count {
            return Err(OpError::mismatch("the number of segment numbers", numbers.len(), count));
        }
        let segments = inputs[..3 * count].chunks_exact(3).map(|s| Rows::new(&s[0], &s[1], s[2].len()));
        let segments = segments.collect::<Result<Vec<_>, _>>()?;
        let most = segments.iter().map(Rows::len).max().unwrap_or(0);
        // The dims of the output come from the first tensor with the most rows whose offsets are not scalars.
        let shaped = inputs[..3 * count].chunks_exact(3).find(|s| s[0].rank() > 0 && s[0].len() == most);
        let dims: Cow<[usize]> = shaped.map_or(Cow::Borrowed(&[]), |s| s[0].dims().into());
        if let Some(other) = segments.iter().find(|s| s.len() != most && s.len() != 1) {
            return Err(OpError::mismatch("the number of rows", other.len(), most));
        }
        let repeats = |rows: &Rows| if rows.len() == 1 { most } else { 1 };
        let total = segments.iter().map(|rows| rows.total.saturating_mul(repeats(rows)));
        let total = total.fold(0, usize::saturating_add);
        Room::default().expect(total.saturating_mul(4 * size_of::<i64>()))?;
        let (mut rows, mut picks, mut of) = (RowWriter::default(), Vec::with_capacity(total), Vec::new());
        for i in 0..most {
            let (start, mut offset) = (picks.len(), 0i64);
            for (j, segment) in segments.iter().enumerate() {
                let row = segment.row(if segment.len() == 1 { 0 } else { i });
                of.extend(std::iter::repeat_n(j as i64, row.len()));
                picks.extend(row.map(|at| offset + at as i64));
                offset += inputs[3 * j + 2].len() as i64;
            }
            rows.push(start..picks.len())?;
        }
        let data: Vec<&Tensor> = (0..count).map(|j| &inputs[3 * j + 2]).collect();
        let pick = |table: &Tensor, at: Vec<i64>| {
            let at = Tensor::from_vec(&[at.len()], at)?;
            snick_tensor::kernels::gather(table, &at, 0, 0)
        };
        let data = pick(&snick_tensor::kernels::concat(&data, 0)?, picks)?;
        let numbers = pick(&numbers.reshape(&[count])?, of)?;
        let [begins, ends] = rows.into_tensors(&dims)?;
        Ok(vec![begins.clone(), ends.clone(), data, begins, ends, numbers])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_joined_and_numbered() {
        let tensor = |values: &[i32]| Tensor::from_slice(values, &[values.len()]).unwrap();
        let [zero, one] = [0, 1].map(Tensor::scalar::<i32>);
        let run = |begins: &[i32], ends: &[i32], numbers: &[i32]| {
            let inputs = [
                zero.clone(),
                one.clone(),
                tensor(&[7]),
                tensor(begins),
                tensor(ends),
                tensor(&[1, 2, 3]),
                tensor(numbers),
            ];
            let out = CombineSegments.eval(&inputs).ok()?;
            Some(out.iter().map(|out| out.to_i64_vec().unwrap()).collect::<Vec<_>>())
        };
        let rows = [vec![0, 2], vec![2, 5]];
        let data = [vec![7, 3, 7, 1, 2], vec![9, 4, 9, 4, 4]];
        let [[begins, ends], [data, numbers]] = [rows, data];
        let want = vec![begins.clone(), ends.clone(), data, begins, ends, numbers];
        assert_eq!(run(&[2, 0], &[3, 2], &[9, 4]), Some(want));
        assert_eq!(run(&[2, 0], &[4, 2], &[9, 4]), None);
        assert_eq!(run(&[2, 0], &[3, 2], &[9]), None);
    }
}
