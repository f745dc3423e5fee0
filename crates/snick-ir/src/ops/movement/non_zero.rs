//! NonZero-3.

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::{ElementType, SmallVector, Tensor};

use crate::ops::index_type::IndexType;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// The indices of nonzero elements in row-major order, with one row per axis and one column per element.
    /// A scalar counts as a vector of one element.
    #[op("NonZero", since = [3], inputs = Arity::exactly(1), category = Movement, traits = [PURE])]
    pub struct NonZero {
        /// The element type of the output.
        pub output_type: IndexType = IndexType::I64,
    }
}

impl InferOp for NonZero {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        if cx.element_type(0) == ElementType::String {
            return Err(OpError::element_type("input 0", ElementType::String, "a numeric type or boolean"));
        }
        let (rows, most) = match cx.shape(0).dims() {
            Some(dims) => {
                let all = dims.iter().fold(Interval::exact(1), |n, dim| n.mul(cx.interval(dim)));
                (SymExpr::from(dims.len().max(1) as i64), all.hi())
            }
            None => (cx.unknown(Interval::DIM), i64::MAX),
        };
        let columns = Interval::new(0, most).unwrap_or(Interval::DIM);
        let columns = cx.unknown_data(columns, "one for each element that is not 0");
        let count = cx.input(0).as_tensor().filter(|t| t.len() <= MAX_COUNTED).and_then(|t| places(t).ok());
        let columns = count.map_or(columns, |places| SymExpr::from(places.len() as i64));
        Ok(Facts::from(Fact::new(self.output_type.element_type(), Shape::ranked([rows, columns]))))
    }
}

impl EvalOp for NonZero {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let places = places(&inputs[0])?;
        let dims: SmallVector<usize, 6> = match inputs[0].dims() {
            [] => SmallVector::from([1]),
            dims => dims.into(),
        };
        let mut out = Vec::with_capacity(dims.len() * places.len());
        let mut stride = inputs[0].len();
        for dim in &dims {
            stride = stride.checked_div(*dim).unwrap_or(0);
            out.extend(places.iter().map(|place| (place / stride.max(1) % dim) as i64));
        }
        Ok(vec![Tensor::from_vec(&[dims.len(), places.len()], out)?.cast(self.output_type.element_type())?])
    }
}

/// Maximum size of a constant whose nonzero elements are counted during inference.
const MAX_COUNTED: usize = 4096;

/// Row-major positions of the nonzero elements.
fn places(tensor: &Tensor) -> Result<Vec<usize>, OpError> {
    let places = |zeros: &mut dyn Iterator<Item = bool>| -> Vec<usize> {
        zeros.enumerate().filter(|(_, zero)| !zero).map(|(at, _)| at).collect()
    };
    Ok(match tensor.element_type().is_float() {
        true => places(&mut tensor.to_f64_vec()?.into_iter().map(|x| x == 0.0)),
        false => places(&mut tensor.to_i64_vec()?.into_iter().map(|x| x == 0)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_by_axis() {
        let op = NonZero::default();
        let t = Tensor::from_vec(&[2, 2], vec![0.0f32, 1.0, -2.0, 0.5]).unwrap();
        let out = op.eval(&[t]).unwrap();
        assert_eq!(out[0].dims(), [2, 3]);
        assert_eq!(out[0].to_i64_vec().unwrap(), [0, 1, 1, 1, 0, 1]);
        assert_eq!(op.eval(&[Tensor::scalar(3i32)]).unwrap()[0].dims(), [1, 1]);
        assert_eq!(op.eval(&[Tensor::scalar(0i32)]).unwrap()[0].dims(), [1, 0]);
        assert_eq!(op.eval(&[Tensor::zeros(ElementType::I8, &[0, 3]).unwrap()]).unwrap()[0].dims(), [2, 0]);
    }
}
