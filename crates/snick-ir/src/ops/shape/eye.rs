//! Eye-9.

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::kernels::runs;
use snick_tensor::{Dims, ElementType, SmallVector, Tensor};

use crate::ops::movement::indices::scalar;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// A matrix of zeros with ones on a diagonal. Inputs: the number of rows; the number of columns; the
    /// index of the diagonal, where positive numbers are above the main diagonal; and optionally the shape of
    /// a batch of equal matrices.
    #[op("Eye", since = [9], inputs = Arity::between(3, 4), category = Movement, traits = [PURE])]
    pub struct Eye {
        /// The element type of the output; `dynamic` if the file omits it.
        pub output_type: ElementType = ElementType::Dynamic,
    }
}

impl InferOp for Eye {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        if self.output_type == ElementType::String {
            return Err(OpError::element_type("the output", self.output_type, "a number or boolean"));
        }
        for i in 0..3 {
            cx.expect_index(i)?;
            cx.expect_one(i)?;
        }
        let mut dims: SmallVector<SymExpr, 4> = SmallVector::new();
        let mut ranked = true;
        if cx.len() > 3 {
            cx.expect_index(3)?;
            cx.expect_rank(3, "1", |rank| rank == 1)?;
            match cx.elements_or_unknown(3) {
                Some(batch) => {
                    for size in &batch {
                        dims.push(size_of(cx, "batch size", size)?);
                    }
                }
                None => ranked = false,
            }
        }
        for (i, what) in ["rows", "columns"].into_iter().enumerate() {
            let size = cx.elements_or_unknown(i).and_then(|elements| elements.first().cloned());
            dims.push(match size {
                Some(size) => size_of(cx, what, &size)?,
                None => cx.unknown(Interval::DIM),
            });
        }
        let shape = if ranked { Shape::ranked(dims) } else { Shape::unranked() };
        Ok(Facts::from(Fact::new(self.output_type, shape)))
    }
}

impl EvalOp for Eye {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let size = |what: &str, value: i64| {
            usize::try_from(value).map_err(|_| OpError::out_of_range(what, value, "0 or more"))
        };
        let rows = size("rows", scalar("rows", &inputs[0])?)?;
        let columns = size("columns", scalar("columns", &inputs[1])?)?;
        let diagonal = scalar("diagonal_index", &inputs[2])?;
        let zeros = Tensor::zeros(self.output_type, &[rows, columns])?;
        let one = Tensor::scalar(1i64).cast(self.output_type)?;
        let down = usize::try_from(diagonal.min(0).unsigned_abs()).unwrap_or(usize::MAX);
        let right = usize::try_from(diagonal.max(0)).unwrap_or(usize::MAX);
        let length = rows.saturating_sub(down).min(columns.saturating_sub(right));
        let starts = (0..length).map(|i| (down + i) * columns + right + i);
        let matrix = runs::scatter_runs(&zeros, 1, starts, &one.broadcast_to(&[length])?)?;
        let mut dims = Dims::new();
        if let Some(batch) = inputs.get(3) {
            for value in batch.to_i64_vec()? {
                dims.push(size("batch size", value)?);
            }
        }
        dims.extend_from_slice(&[rows, columns]);
        Ok(vec![matrix.broadcast_to(&dims)?])
    }
}

/// Converts a number of rows, columns or matrices to a dim.
fn size_of(cx: &mut Infer, what: &str, size: &SymExpr) -> Result<SymExpr, OpError> {
    cx.as_dim(size).ok_or_else(|| OpError::out_of_range(what, cx.interval(size).hi(), "0 or more"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diagonals() {
        let run = |rows: i64, columns: i64, diagonal: i64| {
            let inputs = [rows, columns, diagonal].map(Tensor::scalar);
            Some(Eye { output_type: ElementType::F32 }.eval(&inputs).ok()?[0].to_i64_vec().unwrap())
        };
        assert_eq!(run(2, 3, 0), Some(vec![1, 0, 0, 0, 1, 0]));
        assert_eq!(run(2, 3, 2), Some(vec![0, 0, 1, 0, 0, 0]));
        assert_eq!(run(3, 2, -1), Some(vec![0, 0, 1, 0, 0, 1]));
        assert_eq!(run(2, 2, 5), Some(vec![0; 4]));
        assert_eq!(run(-1, 2, 0), None);
        let batch = Tensor::from_vec(&[1], vec![2i64]).unwrap();
        let one = Tensor::scalar(1i64);
        let inputs = [one.clone(), one, Tensor::scalar(0i64), batch];
        assert_eq!(Eye { output_type: ElementType::U8 }.eval(&inputs).unwrap()[0].dims(), [2, 1, 1]);
    }
}
