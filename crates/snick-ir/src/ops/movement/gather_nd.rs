//! GatherND-5 and GatherND-8: select slices by index tuples.

use snick_shape::{Shape, SymExpr};
use snick_tensor::kernels::runs;
use snick_tensor::{Dims, SmallVector, Tensor};

use super::indices::{count, expect_position};
use super::propagate_elements::propagate_elements;
use crate::{
    Arity, Attrs, Category, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, OpTraits, RawNode,
};

/// The last axis of the indices (input 1) holds tuples. Each tuple indexes leading axes of input 0 and so
/// selects a slice. Both inputs start with `batch_dims` shared batch axes.
///
/// GatherND-5 flattens the batch axes in the output; GatherND-8 keeps them.
#[derive(Clone, PartialEq, Debug)]
pub struct GatherNd {
    /// Number of leading batch axes.
    pub batch_dims: usize,
    /// Whether to flatten the batch axes, as GatherND-5 does.
    pub flattens_batch: bool,
}

impl OpDef for GatherNd {
    const NAMES: &'static [OpName] = &[OpName::openvino("GatherND", &[5, 8], Category::Movement)
        .doc("Selects slices of input 0 by index tuples, which the last axis of input 1 holds.")];
    const ARITY: Arity = Arity::exactly(2);
    const TRAITS: OpTraits = OpTraits::PURE.union(OpTraits::MAYBE_SLICE).union(OpTraits::NO_ARITHMETIC);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let batch_dims = raw.attrs.int("batch_dims")?.unwrap_or(0);
        let batch_dims = usize::try_from(batch_dims).map_err(|_| raw.attrs.bad("batch_dims", "0 or more"))?;
        Ok(Self { batch_dims, flattens_batch: raw.since < 8 })
    }

    fn attrs(&self) -> Attrs<'static> {
        Attrs::new().with("batch_dims", self.batch_dims as i64)
    }
}

impl InferOp for GatherNd {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_integer(1);
        let batch = self.batch_dims;
        cx.expect_rank(0, "1 or more, and above batch_dims", |rank| rank > batch)?;
        cx.expect_rank(1, "1 or more, and above batch_dims", |rank| rank > batch)?;
        let shape = self.shape(cx)?;
        let elements = propagate_elements(self, cx, &[0], &shape);
        Ok(Facts::from(Fact::new(cx.element_type(0), shape).with_elements(elements)))
    }
}

impl EvalOp for GatherNd {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let (data, indices) = (&inputs[0], &inputs[1]);
        let (of, at) = (data.dims(), indices.dims());
        let batch = self.batch_dims;
        let Some((&tuple, places)) = at.split_last() else {
            return Err(OpError::rank("input 1", 0, "1 or more"));
        };
        let conflict = || OpError::dims_conflict("cannot gather from {} with indices {}", of, at);
        if batch > places.len() || batch + tuple > of.len() || of[..batch] != at[..batch] {
            return Err(conflict());
        }
        let (taken, kept) = of[batch..].split_at(tuple);
        let mut dims = Dims::new();
        match self.flattens_batch && batch > 1 {
            true => dims.push(count(&of[..batch])),
            false => dims.extend_from_slice(&of[..batch]),
        }
        dims.extend_from_slice(&places[batch..]);
        dims.extend_from_slice(kept);
        Tensor::zeros(data.element_type(), &[])?.broadcast_to(&dims)?;
        if dims.contains(&0) {
            return Ok(vec![Tensor::zeros(data.element_type(), &dims)?]);
        }
        let (each, all, run) = (count(&places[batch..]), count(&of[batch..]), count(kept));
        let values = indices.to_i64_vec()?;
        let mut starts = Vec::with_capacity(count(places));
        for place in 0..count(places) {
            let mut slice = 0;
            for (i, &dim) in taken.iter().enumerate() {
                let index = values.get(place * tuple + i).copied().unwrap_or(0);
                slice = slice * dim + expect_position(index, dim)?;
            }
            starts.push(place / each * all + slice * run);
        }
        Ok(vec![runs::gather_runs(data, &dims, run, starts)?])
    }
}

impl GatherNd {
    fn shape(&self, cx: &mut Infer) -> Result<Shape, OpError> {
        let batch = self.batch_dims;
        let (Some(data), Some(indices)) = (cx.shape(0).dims(), cx.shape(1).dims()) else {
            return Ok(Shape::unranked());
        };
        let conflict =
            |cx: &Infer| cx.conflict("cannot gather from {} with indices {}", cx.shape(0), cx.shape(1));
        let mut dims: SmallVector<SymExpr, 4> = SmallVector::new();
        for (a, b) in data.iter().zip(indices).take(batch) {
            let merged = cx.merge(a, b);
            dims.push(merged.ok_or_else(|| conflict(cx))?);
        }
        if self.flattens_batch && batch > 1 {
            let all = cx.product(&dims);
            dims = SmallVector::from([all]);
        }
        let Some((tuple, places)) = indices.split_last() else { return Err(conflict(cx)) };
        let most = data.len() - batch;
        if cx.interval(tuple).lo() > most as i64 {
            return Err(conflict(cx));
        }
        let Some(tuple) = tuple.as_const().and_then(|n| usize::try_from(n).ok()) else {
            return Ok(Shape::unranked());
        };
        cx.demand_tuples(1, &data[batch..batch + tuple]);
        dims.extend(places[batch..].iter().chain(&data[batch + tuple..]).cloned());
        Ok(Shape::ranked(dims))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(
        flattens_batch: bool,
        batch_dims: usize,
        at: &[usize],
        indices: &[i64],
    ) -> Option<(Vec<usize>, Vec<i64>)> {
        let t = Tensor::from_vec(&[2, 2, 2], (0..8i32).collect()).unwrap();
        let indices = Tensor::from_vec(at, indices.to_vec()).unwrap();
        let out = GatherNd { batch_dims, flattens_batch }.eval(&[t, indices]).ok()?;
        Some((out[0].dims().to_vec(), out[0].to_i64_vec().unwrap()))
    }

    #[test]
    fn tuples_select_slices() {
        assert_eq!(run(false, 0, &[1, 2], &[1, -1]), Some((vec![1, 2], vec![6, 7])));
        assert_eq!(run(false, 1, &[2, 1], &[1, 0]), Some((vec![2, 2], vec![2, 3, 4, 5])));
        assert_eq!(run(true, 2, &[2, 2, 1], &[0, 1, 0, 1]), Some((vec![4], vec![0, 3, 4, 7])));
        assert_eq!(run(false, 2, &[2, 2, 1], &[0, 1, 0, 1]), Some((vec![2, 2], vec![0, 3, 4, 7])));
        assert_eq!(run(false, 0, &[1, 4], &[0; 4]), None);
        assert_eq!(run(false, 0, &[1, 1], &[2]), None);
        assert_eq!(run(false, 2, &[2, 1], &[0, 0]), None);
    }
}
