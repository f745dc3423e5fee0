//! RaggedToSparse, from openvino_tokenizers.

use snick_shape::{Interval, Shape};
use snick_tensor::{ElementType, Tensor};

use super::rows::{Room, Rows, infer_rows, position};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly};

op! {
    /// The row and column of each element of ragged rows. Inputs: start and end offsets of the rows.
    #[op(
        "RaggedToSparse", since = [1], inputs = Arity::exactly(2),
        category = Text, traits = [PURE], name = only_extension()
    )]
    pub struct RaggedToSparse;
}

impl InferOp for RaggedToSparse {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        infer_rows(cx, 0)?;
        let count = cx.unknown(Interval::DIM);
        Ok(Facts::from(Fact::new(ElementType::I32, Shape::ranked([count, 2.into()]))))
    }
}

impl EvalOp for RaggedToSparse {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [begins, ends] = exactly(inputs)?;
        let rows = Rows::new(begins, ends, i32::MAX as usize)?;
        Room::default().expect(rows.total.saturating_mul(2 * size_of::<i32>()))?;
        let mut places = Vec::with_capacity(rows.total * 2);
        for (i, row) in rows.iter().enumerate() {
            for column in 0..row.len() {
                places.extend([position(i)?, position(column)?]);
            }
        }
        Ok(vec![Tensor::from_vec(&[rows.total, 2], places)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_element_has_a_place() {
        let tensor = |values: &[i32]| Tensor::from_slice(values, &[values.len()]).unwrap();
        let out = RaggedToSparse.eval(&[tensor(&[0, 2, 2]), tensor(&[2, 2, 3])]).unwrap();
        assert_eq!(out[0].dims(), [3, 2]);
        assert_eq!(out[0].to_i64_vec().unwrap(), [0, 0, 0, 1, 2, 0]);
        assert!(RaggedToSparse.eval(&[tensor(&[2]), tensor(&[0])]).is_err());
    }
}
