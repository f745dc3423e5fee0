//! OneHot-1 and OneHot-16.

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::kernels::runs;
use snick_tensor::{Dims, SmallVector, Tensor};

use super::indices::{count, position, scalar};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, Since, normalize_axis};

op! {
    /// Adds an axis of size `depth` (input 1), with the value of input 2 at the index (input 0) and the value
    /// of input 3 elsewhere.
    #[op(
        "OneHot", since = [1, 16], inputs = Arity::exactly(4), category = Movement, traits = [PURE],
        name = extended_in(16)
    )]
    pub struct OneHot {
        /// The version.
        pub since: Since = Since(16),
        /// Position of the new axis in the output; negative axes count from the end.
        pub axis: i64 = 0,
        /// How negative indices are interpreted.
        #[since(16)]
        pub negative_indices_mode: NegativeIndices = NegativeIndices::Ignore,
    }
}

/// How negative indices are interpreted.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum NegativeIndices {
    /// Negative indices are ignored.
    Ignore,
    /// Negative indices count from the end.
    Normalize,
}

attr_words!(NegativeIndices { Ignore = "ignore_negative", Normalize = "normalize" });

impl InferOp for OneHot {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_integer(0);
        cx.expect_integer(1);
        for i in 1..4 {
            cx.expect_rank(i, "0", |rank| rank == 0)?;
        }
        let element_type = cx.common_type([2, 3]);
        let depth = cx.elements_or_unknown(1).and_then(|elements| elements.first().cloned());
        let depth = match depth {
            Some(depth) => cx
                .as_dim(&depth)
                .ok_or_else(|| OpError::out_of_range("depth", cx.interval(&depth).hi(), "0 or more"))?,
            None => cx.unknown(Interval::DIM),
        };
        let shape = match cx.shape(0).dims() {
            Some(dims) => {
                let axis = normalize_axis(self.axis, dims.len() + 1)?;
                let mut out: SmallVector<SymExpr, 4> = dims.into();
                out.insert(axis, depth);
                Shape::ranked(out)
            }
            None => Shape::unranked(),
        };
        Ok(Facts::from(Fact::new(element_type, shape)))
    }
}

impl EvalOp for OneHot {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let indices = &inputs[0];
        let depth = scalar("depth", &inputs[1])?;
        let depth = usize::try_from(depth).map_err(|_| OpError::out_of_range("depth", depth, "0 or more"))?;
        let axis = normalize_axis(self.axis, indices.rank() + 1)?;
        let (on, off) = (inputs[2].reshape(&[1])?, inputs[3].reshape(&[1])?);
        let mut dims = Dims::from_slice(indices.dims());
        dims.insert(axis, depth);
        let base = off.broadcast_to(&dims)?;
        let (values, inner) = (indices.to_i64_vec()?, count(&indices.dims()[axis..]));
        let mut starts = Vec::with_capacity(values.len());
        for (place, index) in values.into_iter().enumerate() {
            if (index >= 0 || self.negative_indices_mode == NegativeIndices::Normalize)
                && let Some(at) = position(index, depth)
            {
                starts.push((place / inner * depth + at) * inner + place % inner);
            }
        }
        let updates = on.broadcast_to(&[starts.len()])?;
        Ok(vec![runs::scatter_runs(&base, 1, starts, &updates)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_one_of_each() {
        let indices = Tensor::from_vec(&[3], vec![1i64, -1, 2]).unwrap();
        let run = |axis, negative_indices_mode| {
            let inputs = [indices.clone(), Tensor::scalar(2i64), Tensor::scalar(5i32), Tensor::scalar(0i32)];
            let out = OneHot { since: Since(16), axis, negative_indices_mode }.eval(&inputs).ok()?;
            Some((out[0].dims().to_vec(), out[0].to_i64_vec().unwrap()))
        };
        assert_eq!(run(-1, NegativeIndices::Ignore), Some((vec![3, 2], vec![0, 5, 0, 0, 0, 0])));
        assert_eq!(run(0, NegativeIndices::Normalize), Some((vec![2, 3], vec![0, 0, 0, 5, 5, 0])));
        assert_eq!(run(2, NegativeIndices::Ignore), None);
    }
}
