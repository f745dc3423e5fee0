//! ScatterUpdate-3.

use snick_shape::{Shape, SymExpr};
use snick_tensor::Tensor;
use snick_tensor::kernels::runs;

use super::indices::{count, expect_position, scalar};
use super::propagate_elements::propagate_elements;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, normalize_axis};

op! {
    /// Replaces slices in a copy of input 0. The indices (input 1) select slices along an axis (input 3). The
    /// updates (input 2) have the shape of input 0, with the axes of the indices in place of this axis. For
    /// duplicate indices, the last update wins.
    #[op(
        "ScatterUpdate", since = [3], inputs = Arity::exactly(4),
        category = Movement, traits = [PURE, NO_ARITHMETIC]
    )]
    pub struct ScatterUpdate;
}

impl InferOp for ScatterUpdate {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_integer(1);
        cx.expect_integer(3);
        cx.expect_one(3)?;
        let element_type = cx.common_type([0, 2]);
        check_updates(cx)?;
        let shape = cx.shape(0).clone();
        let elements = propagate_elements(self, cx, &[0, 2], &shape);
        Ok(Facts::from(Fact::new(element_type, shape).with_elements(elements)))
    }
}

impl EvalOp for ScatterUpdate {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let (data, indices, updates) = (&inputs[0], &inputs[1], &inputs[2]);
        let axis = normalize_axis(scalar("axis", &inputs[3])?, data.rank())?;
        let dims = data.dims();
        let parts = [&dims[..axis], indices.dims(), &dims[axis + 1..]].into_iter().flatten();
        if !parts.eq(updates.dims()) {
            return Err(OpError::dims_conflict("cannot update {} with {}", dims, updates.dims()));
        }
        let (size, outer, run) = (dims[axis], count(&dims[..axis]), count(&dims[axis + 1..]));
        let positions = indices.to_i64_vec()?;
        let positions: Vec<usize> =
            positions.into_iter().map(|index| expect_position(index, size)).collect::<Result<_, _>>()?;
        if updates.is_empty() {
            return Ok(vec![data.clone()]);
        }
        let starts = (0..outer).flat_map(|o| positions.iter().map(move |at| (o * size + at) * run));
        Ok(vec![runs::scatter_runs(data, run, starts, updates)?])
    }
}

/// Checks the rank and dims of the updates, if they are known.
fn check_updates(cx: &mut Infer) -> Result<(), OpError> {
    let (Some(data), Some(indices)) = (cx.shape(0).dims(), cx.shape(1).dims()) else { return Ok(()) };
    let rank = (data.len() + indices.len()).saturating_sub(1);
    cx.expect_rank(0, "1 or more", |rank| rank > 0)?;
    cx.expect_rank(2, "the ranks of data and indices together without one", |got| got == rank)?;
    let Some(axis) = cx.input(3).ints() else { return Ok(()) };
    let [axis] = axis.as_slice() else {
        return Err(OpError::mismatch("axis", format!("{} elements", axis.len()), "one element"));
    };
    let axis = normalize_axis(*axis, data.len())?;
    cx.demand_index(1, &data[axis]);
    let parts = [&data[..axis], indices, &data[axis + 1..]];
    let expected: Vec<SymExpr> = parts.into_iter().flatten().cloned().collect();
    cx.merge_shapes("updates must be {}, but are {}", &Shape::ranked(expected), cx.shape(2)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_columns() {
        let t = Tensor::from_vec(&[2, 2], vec![1i32, 2, 3, 4]).unwrap();
        let run = |indices: &[i64], updates: Tensor, axis: i64| {
            let indices = Tensor::from_vec(&[indices.len()], indices.to_vec()).unwrap();
            let out = ScatterUpdate.eval(&[t.clone(), indices, updates, Tensor::scalar(axis)]);
            Some(out.ok()?[0].to_i64_vec().unwrap())
        };
        let row = Tensor::from_vec(&[1, 2], vec![8i32, 9]).unwrap();
        assert_eq!(run(&[1], row.clone(), 0), Some(vec![1, 2, 8, 9]));
        assert_eq!(run(&[-2], row.transposed(), 1), Some(vec![8, 2, 9, 4]));
        assert_eq!(run(&[2], row.clone(), 0), None);
        assert_eq!(run(&[0], row, 1), None);
    }
}
