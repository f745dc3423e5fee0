//! ScatterNDUpdate-4 and ScatterNDUpdate-15.

use snick_shape::{Shape, SymExpr};
use snick_tensor::kernels::runs;
use snick_tensor::kernels::scatter_reduce::scatter_reduce;
use snick_tensor::{Listed, Tensor};

use super::indices::{count, expect_position};
use super::propagate_elements::propagate_elements;
use super::scatter_reduction::ScatterReduction;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, RawNode, Since};

op! {
    /// Writes updates (input 2) into slices of a copy of input 0. The last axis of input 1 holds the index
    /// tuples that select the slices.
    #[op(
        "ScatterNDUpdate", since = [4, 15], inputs = Arity::exactly(3),
        category = Movement, traits = [PURE, NO_ARITHMETIC],
        name = extended_in(15), check = Self::check_reduction
    )]
    pub struct ScatterNdUpdate {
        /// The version.
        pub since: Since = Since(15),
        /// How updates are combined with existing elements.
        #[since(15)]
        pub reduction: ScatterReduction = ScatterReduction::None,
    }
}

impl ScatterNdUpdate {
    fn check_reduction(&self, raw: &RawNode) -> Result<(), OpError> {
        match self.reduction {
            ScatterReduction::Mean => Err(raw.attrs.bad("reduction", "none, sum, sub, prod, min or max")),
            _ => Ok(()),
        }
    }
}

impl InferOp for ScatterNdUpdate {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_index(1)?;
        let element_type = cx.common_type([0, 2]);
        cx.expect_rank(0, "1 or more", |rank| rank > 0)?;
        cx.expect_rank(1, "1 or more", |rank| rank > 0)?;
        check_updates(cx)?;
        let shape = cx.shape(0).clone();
        let elements = match self.reduction.kernel() {
            None => propagate_elements(self, cx, &[0, 2], &shape),
            Some(_) => None,
        };
        Ok(Facts::from(Fact::new(element_type, shape).with_elements(elements)))
    }
}

impl EvalOp for ScatterNdUpdate {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let (data, indices, updates) = (&inputs[0], &inputs[1], &inputs[2]);
        let dims = data.dims();
        let conflict = || {
            let sentence = format!("cannot scatter {} into {{}} at indices {{}}", Listed(updates.dims()));
            OpError::dims_conflict(sentence, dims, indices.dims())
        };
        let (&tuple, places) = indices.dims().split_last().ok_or_else(conflict)?;
        if tuple > dims.len() || !places.iter().chain(&dims[tuple..]).eq(updates.dims()) {
            return Err(conflict());
        }
        if updates.is_empty() {
            return Ok(vec![data.clone()]);
        }
        let run = count(&dims[tuple..]);
        let values = indices.to_i64_vec()?;
        let mut starts = Vec::with_capacity(count(places));
        for place in 0..count(places) {
            let mut slice = 0;
            for (i, &dim) in dims[..tuple].iter().enumerate() {
                let index = values.get(place * tuple + i).copied().unwrap_or(0);
                slice = slice * dim + expect_position(index, dim)?;
            }
            starts.push(slice * run);
        }
        Ok(vec![match self.reduction.kernel() {
            None => runs::scatter_runs(data, run, starts, updates)?,
            Some(reduction) => {
                let each: Vec<usize> = starts.iter().flat_map(|&at| at..at + run).collect();
                scatter_reduce(data, &each, updates, reduction, true)?
            }
        }])
    }
}

/// Checks the rank and dims of the updates, if they are known.
fn check_updates(cx: &mut Infer) -> Result<(), OpError> {
    let (Some(data), Some(indices)) = (cx.shape(0).dims(), cx.shape(1).dims()) else { return Ok(()) };
    let Some((tuple, places)) = indices.split_last() else { return Ok(()) };
    if cx.interval(tuple).lo() > data.len() as i64 {
        return Err(cx.conflict("cannot scatter into {} at indices {}", cx.shape(0), cx.shape(1)));
    }
    let Some(tuple) = tuple.as_const().and_then(|n| usize::try_from(n).ok()) else { return Ok(()) };
    cx.demand_tuples(1, &data[..tuple.min(data.len())]);
    let expected: Vec<SymExpr> = places.iter().chain(&data[tuple..]).cloned().collect();
    cx.merge_shapes("updates must be {}, but are {}", &Shape::ranked(expected), cx.shape(2)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tuples_name_slices() {
        let data = Tensor::from_vec(&[2, 2], vec![1i32, 2, 3, 4]).unwrap();
        let run = |reduction, at: &[usize], indices: &[i64], dims: &[usize], updates: &[i32]| {
            let indices = Tensor::from_vec(at, indices.to_vec()).unwrap();
            let updates = Tensor::from_vec(dims, updates.to_vec()).unwrap();
            let out = ScatterNdUpdate { reduction, ..ScatterNdUpdate::default() }.eval(&[
                data.clone(),
                indices,
                updates,
            ]);
            Some(out.ok()?[0].to_i64_vec().unwrap())
        };
        assert_eq!(run(ScatterReduction::None, &[1, 1], &[1], &[1, 2], &[8, 9]), Some(vec![1, 2, 8, 9]));
        assert_eq!(run(ScatterReduction::None, &[1, 2], &[0, -1], &[1], &[8]), Some(vec![1, 8, 3, 4]));
        let sub = ScatterReduction::Sub;
        assert_eq!(run(sub, &[2, 1], &[0, 0], &[2, 2], &[1, 1, 1, 1]), Some(vec![-1, 0, 3, 4]));
        assert_eq!(run(ScatterReduction::None, &[1, 3], &[0, 0, 0], &[1], &[8]), None);
        assert_eq!(run(ScatterReduction::None, &[1, 1], &[2], &[1, 2], &[8, 9]), None);
    }
}
