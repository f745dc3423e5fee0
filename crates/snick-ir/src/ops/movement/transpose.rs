//! Transpose-1.

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::{SmallVector, Tensor};

use crate::ops::movement::propagate_elements::propagate_elements;
use crate::{Arity, AxisMap, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Permutes axes: axis `i` of the output is axis `order[i]` of the input, where the order is input 1. An
    /// empty order reverses the axes.
    #[op(
        "Transpose", since = [1], inputs = Arity::exactly(2),
        category = Movement, traits = [PURE, MOVES_ELEMENTS, VIEW, STRIDED]
    )]
    pub struct Transpose;
}

impl InferOp for Transpose {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_integer(1);
        cx.demand_axes(1);
        cx.expect_rank(1, "1", |rank| rank == 1)?;
        let order = cx.input(1).ints();
        let listed = cx.shape(1).as_static().and_then(|dims| dims.first().copied());
        let shape = match (cx.shape(0).dims(), order) {
            (Some(dims), Some(order)) => {
                Shape::ranked(axes(&order, dims.len())?.into_iter().map(|axis| dims[axis].clone()))
            }
            (None, Some(order)) if !order.is_empty() => {
                axes(&order, order.len())?;
                cx.unknown_dims(order.len())
            }
            (None, _) => match listed.filter(|&n| n > 0 && n <= MAX_RANK) {
                Some(rank) => cx.unknown_dims(rank),
                None => Shape::unranked(),
            },
            (Some(dims), None) => {
                if let Some(n) = listed.filter(|&n| n > 0 && n != dims.len()) {
                    return Err(OpError::mismatch("the length of the order", n, dims.len()));
                }
                any_order(cx, dims)
            }
        };
        let elements = propagate_elements(self, cx, &[0], &shape);
        Ok(Facts::from(Fact::new(cx.element_type(0), shape).with_elements(elements)))
    }

    fn axis_map(&self, inputs: &[&Fact], _: &Fact) -> Option<AxisMap> {
        Some(AxisMap::transpose(axes(&inputs[1].ints()?, inputs[0].shape.rank()?).ok()?))
    }
}

impl EvalOp for Transpose {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let order = axes(&inputs[1].to_i64_vec()?, inputs[0].rank())?;
        Ok(vec![inputs[0].permute(&order)?])
    }
}

/// Maximum rank to infer from the length of an order.
const MAX_RANK: usize = 64;

/// Checks that the order is a permutation of the axes below `rank`.
fn axes(order: &[i64], rank: usize) -> Result<SmallVector<usize, 4>, OpError> {
    if order.is_empty() {
        return Ok((0..rank).rev().collect());
    }
    if order.len() != rank {
        return Err(OpError::mismatch("the length of the order", order.len(), rank));
    }
    let mut axes = SmallVector::new();
    for &axis in order {
        let at = usize::try_from(axis).ok().filter(|at| *at < rank && !axes.contains(at));
        axes.push(at.ok_or_else(|| {
            OpError::mismatch("the order", format!("{order:?}"), format!("each axis below {rank} once"))
        })?);
    }
    Ok(axes)
}

/// The shape of the output if the order of these dims is unknown.
fn any_order(cx: &mut Infer, dims: &[SymExpr]) -> Shape {
    let Some(first) = dims.first() else { return Shape::from([]) };
    if dims.iter().all(|dim| dim == first) {
        return Shape::ranked(dims.iter().cloned());
    }
    let all = dims.iter().map(|dim| cx.interval(dim)).reduce(|a, b| a.hull(b)).unwrap_or(Interval::DIM);
    Shape::ranked(dims.iter().map(|_| cx.unknown(all)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders() {
        assert_eq!(axes(&[], 3).unwrap().as_slice(), [2, 1, 0]);
        assert_eq!(axes(&[1, 0], 2).unwrap().as_slice(), [1, 0]);
        assert!(axes(&[0, 0], 2).is_err());
        assert!(axes(&[-1, 0], 2).is_err());
        assert!(axes(&[0], 2).is_err());
    }
}
