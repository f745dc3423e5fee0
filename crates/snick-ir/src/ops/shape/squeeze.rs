//! Squeeze-1 and Squeeze-15.

use snick_shape::{Shape, SymExpr};
use snick_tensor::{SmallVector, Tensor};

use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, Since, normalize_each_axis};

op! {
    /// Removes axes of size 1: the axes listed in input 1 or, if it is absent or empty, all.
    ///
    /// Inference keeps a listed axis whose size is known not to be 1, and assumes an unknown size to be 1.
    /// With `allow_axis_skip`, an unknown size makes the rank unknown.
    #[op(
        "Squeeze", since = [1, 15], inputs = Arity::between(1, 2),
        category = Movement, traits = [PURE, MOVES_ELEMENTS, VIEW],
        name = extended_in(15)
    )]
    pub struct Squeeze {
        /// The version.
        pub since: Since = Since(15),
        /// Whether to skip listed axes of other sizes.
        #[since(15)]
        pub allow_axis_skip: bool = false,
    }
}

impl InferOp for Squeeze {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        if cx.len() > 1 {
            cx.expect_integer(1);
            cx.expect_rank(1, "0 or 1", |rank| rank <= 1)?;
        }
        let fact = Fact::new(cx.element_type(0), self.shape(cx)?);
        Ok(Facts::from(fact.with_elements(cx.input(0).elements())))
    }
}

impl EvalOp for Squeeze {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let dims = inputs[0].dims();
        let listed = match inputs.get(1) {
            Some(axes) => normalize_each_axis(&axes.to_i64_vec()?, dims.len())?,
            None => SmallVector::new(),
        };
        let mut tensor = inputs[0].clone();
        for (axis, &dim) in dims.iter().enumerate().rev() {
            if dim != 1 && listed.contains(&axis) && !self.allow_axis_skip {
                return Err(OpError::mismatch(format!("the size of axis {axis}"), dim, 1));
            }
            if dim == 1 && (listed.is_empty() || listed.contains(&axis)) {
                tensor = tensor.squeeze(axis)?;
            }
        }
        Ok(vec![tensor])
    }
}

impl Squeeze {
    fn shape(&self, cx: &Infer) -> Result<Shape, OpError> {
        let Some(dims) = cx.shape(0).dims() else { return Ok(Shape::unranked()) };
        let axes = cx.optional(1).map(|fact| fact.ints());
        let may_be_one = |dim: &SymExpr| cx.interval(dim).contains(1);
        let listed = match axes {
            // No axis can have size 1, so none is removed, whichever are listed.
            Some(None) if !dims.iter().any(may_be_one) => return Ok(cx.shape(0).clone()),
            Some(None) => return Ok(Shape::unranked()),
            Some(Some(axes)) => normalize_each_axis(&axes, dims.len())?,
            None => SmallVector::new(),
        };
        let takes_one = !listed.is_empty() && !self.allow_axis_skip;
        let mut out: SmallVector<SymExpr, 4> = SmallVector::new();
        for (axis, dim) in dims.iter().enumerate() {
            let goes = listed.is_empty() || listed.contains(&axis);
            match dim.as_const() {
                Some(1) if goes => {}
                _ if !goes || !may_be_one(dim) => out.push(dim.clone()),
                _ if takes_one => {}
                _ => return Ok(Shape::unranked()),
            }
        }
        Ok(Shape::ranked(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ones_go() {
        let t = Tensor::from_vec(&[1, 3, 1], vec![1u8, 2, 3]).unwrap();
        let axes = |axes: &[i64]| Tensor::from_vec(&[axes.len()], axes.to_vec()).unwrap();
        let run = |inputs: &[Tensor]| Squeeze::default().eval(inputs).ok().map(|out| out[0].dims().to_vec());
        assert_eq!(run(std::slice::from_ref(&t)), Some(vec![3]));
        assert_eq!(run(&[t.clone(), axes(&[])]), Some(vec![3]));
        assert_eq!(run(&[t.clone(), axes(&[-1])]), Some(vec![1, 3]));
        assert_eq!(run(&[t.clone(), axes(&[0, 1])]), None);
        assert_eq!(run(&[t, axes(&[3])]), None);
    }
}
