//! Roll-7.

use snick_tensor::{SmallVector, Tensor, kernels};

use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, normalize_axis};

op! {
    /// Rotates input 0 by the shifts in input 1 along the axes in input 2; elements that leave at one end
    /// come back at the other. A single shift applies to all axes, and an axis listed twice is shifted twice.
    #[op("Roll", since = [7], inputs = Arity::exactly(3), category = Movement, traits = [PURE])]
    pub struct Roll;
}

impl InferOp for Roll {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        for i in 1..3 {
            cx.expect_index(i)?;
            cx.expect_rank(i, "0 or 1", |rank| rank <= 1)?;
        }
        if let Some([shifts]) = cx.shape(1).dims() {
            let (a, shape) = (cx.interval(shifts), cx.shape(2));
            let fits = match shape.dims() {
                Some([axes]) => a.meet(cx.interval(axes)).is_some(),
                Some([]) => false,
                _ => true,
            };
            if !fits {
                return Err(cx.conflict("shifts are {}, axes {}", cx.shape(1), shape));
            }
        }
        if let (Some(rank), Some(axes)) = (cx.shape(0).rank(), cx.input(2).ints()) {
            for &axis in &axes {
                normalize_axis(axis, rank)?;
            }
        }
        Ok(Facts::from(Fact::new(cx.element_type(0), cx.shape(0).clone())))
    }
}

impl EvalOp for Roll {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let (shifts, axes) = (inputs[1].to_i64_vec()?, inputs[2].to_i64_vec()?);
        let scalar = inputs[1].rank() == 0;
        if !scalar && shifts.len() != axes.len() {
            return Err(OpError::mismatch("the number of shifts", shifts.len(), axes.len()));
        }
        let rank = inputs[0].rank();
        let at: SmallVector<usize, 4> =
            axes.iter().map(|&axis| normalize_axis(axis, rank)).collect::<Result<_, _>>()?;
        let shifts: Vec<i64> = match shifts.as_slice() {
            [shift] if scalar => vec![*shift; at.len()],
            _ => shifts,
        };
        Ok(vec![kernels::roll(&inputs[0], &shifts, &at)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_wrap() {
        let t = Tensor::from_vec(&[2, 3], vec![1i32, 2, 3, 4, 5, 6]).unwrap();
        let run = |shift: Tensor, axes: &[i64]| {
            let axes = Tensor::from_vec(&[axes.len()], axes.to_vec()).unwrap();
            Some(Roll.eval(&[t.clone(), shift, axes]).ok()?[0].to_i64_vec().unwrap())
        };
        assert_eq!(run(Tensor::scalar(1i64), &[1]), Some(vec![3, 1, 2, 6, 4, 5]));
        assert_eq!(run(Tensor::scalar(-4i64), &[-1]), Some(vec![2, 3, 1, 5, 6, 4]));
        assert_eq!(run(Tensor::scalar(1i64), &[0, 1]), Some(vec![6, 4, 5, 3, 1, 2]));
        assert_eq!(run(Tensor::from_vec(&[1], vec![1i64]).unwrap(), &[0, 1]), None);
        assert_eq!(run(Tensor::scalar(1i64), &[2]), None);
    }
}
