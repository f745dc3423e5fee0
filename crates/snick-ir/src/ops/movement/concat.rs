//! Concat-1.

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::{ElementType, SmallVector, Tensor, kernels};

use crate::ops::movement::propagate_elements::propagate_elements;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, normalize_axis};

op! {
    /// Concatenates the inputs along `axis`. All other axes must agree.
    #[op(
        "Concat", since = [1], inputs = Arity::at_least(1),
        category = Movement, traits = [PURE, NO_ARITHMETIC]
    )]
    pub struct Concat {
        /// The axis; negative axes count from the end.
        pub axis: i64 = 0,
    }
}

impl InferOp for Concat {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = cx.common_type(0..cx.len());
        let shape = self.shape(cx)?;
        let elements = if element_type == ElementType::Dynamic || shape.rank() == Some(0) {
            None
        } else {
            let all: Vec<usize> = (0..cx.len()).collect();
            propagate_elements(self, cx, &all, &shape)
        };
        Ok(Facts::from(Fact::new(element_type, shape).with_elements(elements)))
    }
}

impl EvalOp for Concat {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let axis = normalize_axis(self.axis, inputs[0].rank())?;
        if let [input] = inputs {
            return Ok(vec![input.clone()]);
        }
        Ok(vec![kernels::concat(&inputs.iter().collect::<Vec<_>>(), axis)?])
    }
}

impl Concat {
    fn shape(&self, cx: &mut Infer) -> Result<Shape, OpError> {
        let inputs = cx.inputs();
        let Some(first) = inputs.iter().position(|fact| fact.shape.rank().is_some()) else {
            return Ok(Shape::unranked());
        };
        let Some(dims) = cx.shape(first).dims() else { return Ok(Shape::unranked()) };
        let axis = normalize_axis(self.axis, dims.len())?;
        let mut out: SmallVector<SymExpr, 4> = dims.into();
        let mut sum = SymExpr::from(0);
        for (i, fact) in inputs.iter().enumerate() {
            let Some(dims) = fact.shape.dims() else {
                let dim = cx.unknown(Interval::DIM);
                sum = cx.add(&sum, &dim);
                continue;
            };
            let conflict = |cx: &Infer| {
                let sentence =
                    format!("cannot concatenate input {first} {{}} with input {i} {{}} along axis {axis}");
                cx.conflict(sentence, cx.shape(first), &fact.shape)
            };
            if dims.len() != out.len() {
                return Err(conflict(cx));
            }
            for (at, dim) in dims.iter().enumerate() {
                if at == axis {
                    sum = cx.add(&sum, dim);
                } else {
                    let merged = cx.merge(&out[at], dim);
                    out[at] = merged.ok_or_else(|| conflict(cx))?;
                }
            }
        }
        out[axis] = sum;
        Ok(Shape::ranked(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn along_the_last_axis() {
        let t = Tensor::from_vec(&[2, 1], vec![1i32, 2]).unwrap();
        let out = Concat { axis: -1 }.eval(&[t.clone(), t.clone()]).unwrap();
        assert_eq!(out[0].dims(), [2, 2]);
        assert_eq!(out[0].to_i64_vec().unwrap(), [1, 1, 2, 2]);
        assert!(Concat { axis: 2 }.eval(&[t.clone(), t]).is_err());
        assert!(Concat { axis: 0 }.eval(&[Tensor::scalar(1u8)]).is_err());
    }
}
