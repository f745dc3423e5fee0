//! Unsqueeze-1.

use snick_shape::{Shape, SymExpr};
use snick_tensor::{SmallVector, Tensor};

use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, normalize_axis};

op! {
    /// Inserts axes of size 1 at the positions listed in input 1. Positions refer to the output; negative
    /// positions count from its end, and duplicates are ignored.
    #[op(
        "Unsqueeze", since = [1], inputs = Arity::exactly(2),
        category = Movement, traits = [PURE, MOVES_ELEMENTS, VIEW]
    )]
    pub struct Unsqueeze;
}

impl InferOp for Unsqueeze {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_integer(1);
        cx.expect_rank(1, "0 or 1", |rank| rank <= 1)?;
        let shape = match (cx.shape(0).dims(), cx.input(1).ints()) {
            (Some(dims), Some(axes)) => {
                let mut out: SmallVector<SymExpr, 4> = dims.into();
                for at in places(&axes, dims.len())? {
                    out.insert(at, SymExpr::from(1));
                }
                Shape::ranked(out)
            }
            // A single position has no duplicates, so the rank of the output is known.
            (Some(dims), None) if cx.shape(1).rank() == Some(0) => cx.unknown_dims(dims.len() + 1),
            _ => Shape::unranked(),
        };
        let fact = Fact::new(cx.element_type(0), shape);
        Ok(Facts::from(fact.with_elements(cx.input(0).elements())))
    }
}

impl EvalOp for Unsqueeze {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let mut tensor = inputs[0].clone();
        for at in places(&inputs[1].to_i64_vec()?, inputs[0].rank())? {
            tensor = tensor.unsqueeze(at)?;
        }
        Ok(vec![tensor])
    }
}

/// The distinct positions in the output, in ascending order.
fn places(axes: &[i64], rank: usize) -> Result<SmallVector<usize, 4>, OpError> {
    if axes.is_empty() {
        return Err(OpError::mismatch("the list of axes", "empty", "one axis or more"));
    }
    let mut places = SmallVector::new();
    for &axis in axes {
        places.push(normalize_axis(axis, rank + axes.len())?);
    }
    places.sort_unstable();
    places.dedup();
    // Dropping duplicates reduces the rank of the output, so a position may now be out of range.
    match places.last() {
        Some(&last) if last >= rank + places.len() => {
            Err(OpError::out_of_range("axis", last as i64, format!("below rank {}", rank + places.len())))
        }
        _ => Ok(places),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_those_of_the_output() {
        assert_eq!(places(&[0, 2], 1).unwrap().as_slice(), [0, 2]);
        assert_eq!(places(&[-1, 0], 2).unwrap().as_slice(), [0, 3]);
        assert_eq!(places(&[0, 0], 2).unwrap().as_slice(), [0]);
        assert!(places(&[5], 1).is_err());
        assert!(places(&[], 1).is_err());
        assert!(places(&[1, 3, 3], 1).is_err());
    }
}
