//! GatherElements-6.

use snick_shape::{Shape, SymExpr};
use snick_tensor::kernels::runs;
use snick_tensor::{SmallVector, Tensor};

use super::indices::{advance, count, expect_position};
use super::propagate_elements::propagate_elements;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, normalize_axis};

op! {
    /// Selects elements of input 0 by the indices in input 1, which have the shape of the output. Each output
    /// element is read from its own position in input 0, except that the index replaces the coordinate on
    /// `axis`. Negative indices count from the end.
    #[op(
        "GatherElements", since = [6], inputs = Arity::exactly(2),
        category = Movement, traits = [PURE, NO_ARITHMETIC]
    )]
    pub struct GatherElements {
        /// The axis; negative axes count from the end.
        pub axis: i64 = 0,
    }
}

impl InferOp for GatherElements {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_index(1)?;
        let shape = match (cx.shape(0).dims(), cx.shape(1).dims()) {
            (Some(data), None) => {
                let axis = normalize_axis(self.axis, data.len())?;
                let Some(mut dims) = cx.unknown_dims(data.len()).dims().map(SmallVector::<SymExpr, 4>::from)
                else {
                    return Ok(Facts::from(Fact::unknown()));
                };
                for (at, dim) in data.iter().enumerate().filter(|(at, _)| *at != axis) {
                    dims[at] = dim.clone();
                }
                Shape::ranked(dims)
            }
            (None, indices) => {
                if let Some(indices) = indices {
                    normalize_axis(self.axis, indices.len())?;
                }
                cx.shape(1).clone()
            }
            (Some(data), Some(indices)) => {
                let axis = normalize_axis(self.axis, data.len())?;
                let conflict = |cx: &Infer| {
                    cx.conflict("cannot gather from {} with indices {}", cx.shape(0), cx.shape(1))
                };
                if data.len() != indices.len() {
                    return Err(conflict(cx));
                }
                cx.demand_index(1, &data[axis]);
                let mut dims: SmallVector<SymExpr, 4> = indices.into();
                for (at, dim) in data.iter().enumerate().filter(|(at, _)| *at != axis) {
                    let merged = cx.merge(dim, &dims[at]);
                    dims[at] = merged.ok_or_else(|| conflict(cx))?;
                }
                Shape::ranked(dims)
            }
        };
        let elements = propagate_elements(self, cx, &[0], &shape);
        Ok(Facts::from(Fact::new(cx.element_type(0), shape).with_elements(elements)))
    }
}

impl EvalOp for GatherElements {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let starts = starts(inputs[0].dims(), &inputs[1], self.axis)?;
        Ok(vec![runs::gather_runs(&inputs[0], inputs[1].dims(), 1, starts)?])
    }
}

/// The row-major position in `dims` that each index refers to. On all axes but `axis`, the indices must not
/// have a larger size than the data.
pub(crate) fn starts(dims: &[usize], indices: &Tensor, axis: i64) -> Result<Vec<usize>, OpError> {
    let axis = normalize_axis(axis, dims.len())?;
    let at = indices.dims();
    if at.len() != dims.len() || (0..dims.len()).any(|i| i != axis && at[i] > dims[i]) {
        return Err(OpError::dims_conflict("cannot gather from {} with indices {}", dims, at));
    }
    let strides: SmallVector<usize, 6> = (0..dims.len()).map(|i| count(&dims[i + 1..])).collect();
    let values = indices.to_i64_vec()?;
    let mut place: SmallVector<usize, 6> = SmallVector::from_elem(0, dims.len());
    let mut starts = Vec::with_capacity(values.len());
    let last = dims.len() - 1;
    // The leading axes contribute the same offset for a whole line along the last axis.
    for line in values.chunks(at[last].max(1)) {
        let outer = (0..last).filter(|&i| i != axis).map(|i| place[i] * strides[i]).sum::<usize>();
        for (i, &index) in line.iter().enumerate() {
            let along = if axis == last { 0 } else { i };
            starts.push(outer + expect_position(index, dims[axis])? * strides[axis] + along);
        }
        advance(&mut place[..last], &at[..last]);
    }
    Ok(starts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn along_either_axis() {
        let t = Tensor::from_vec(&[2, 2], vec![1i32, 2, 3, 4]).unwrap();
        let run = |axis, dims: &[usize], indices: &[i64]| {
            let indices = Tensor::from_vec(dims, indices.to_vec()).unwrap();
            Some(GatherElements { axis }.eval(&[t.clone(), indices]).ok()?[0].to_i64_vec().unwrap())
        };
        assert_eq!(run(1, &[2, 2], &[0, 0, 1, 0]), Some(vec![1, 1, 4, 3]));
        assert_eq!(run(0, &[1, 2], &[-1, 0]), Some(vec![3, 2]));
        assert_eq!(run(0, &[1, 2], &[2, 0]), None);
        assert_eq!(run(0, &[2], &[0, 0]), None);
        assert_eq!(run(0, &[1, 3], &[0, 0, 0]), None);
    }
}
