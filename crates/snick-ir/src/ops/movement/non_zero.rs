//! NonZero-3.

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::{ElementType, SmallVector, Tensor};

use super::indices::advance;
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
        let mut out = vec![0; dims.len() * places.len()];
        if let (Some((&last, outer)), false) = (dims.split_last(), places.is_empty()) {
            let mut rows: SmallVector<&mut [i64], 6> = out.chunks_exact_mut(places.len()).collect();
            let mut line: SmallVector<usize, 6> = SmallVector::from_elem(0, outer.len());
            let (mut start, mut first) = (0, 0);
            while first < places.len() {
                let end = first + places[first..].iter().take_while(|&&place| place < start + last).count();
                if let Some((row, rows)) = rows.split_last_mut() {
                    let along = row[first..end].iter_mut().zip(&places[first..end]);
                    along.for_each(|(to, place)| *to = (place - start) as i64);
                    rows.iter_mut().zip(&line).for_each(|(row, &at)| row[first..end].fill(at as i64));
                }
                (start, first) = (start + last, end);
                advance(&mut line, outer);
            }
        }
        Ok(vec![Tensor::from_vec(&[dims.len(), places.len()], out)?.cast(self.output_type.element_type())?])
    }
}

/// Maximum size of a constant whose nonzero elements are counted during inference.
const MAX_COUNTED: usize = 4096;

/// Row-major positions of the nonzero elements.
fn places(tensor: &Tensor) -> Result<Vec<usize>, OpError> {
    fn of<T: PartialEq + Default>(elements: &[T]) -> Vec<usize> {
        let zero = T::default();
        elements.iter().enumerate().filter(|(_, x)| **x != zero).map(|(at, _)| at).collect()
    }
    Ok(match tensor.element_type() {
        ElementType::F32 => of(&tensor.values::<f32>()?),
        ElementType::I32 => of(&tensor.values::<i32>()?),
        et if et.is_float() => of(&tensor.to_f64_vec()?),
        _ => of(&tensor.to_i64_vec()?),
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
