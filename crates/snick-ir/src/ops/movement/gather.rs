//! Gather-1, Gather-7 and Gather-8: select slices on one axis by index.

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::{SmallVector, Tensor, kernels};

use super::indices::{position, scalar};
use super::propagate_elements::propagate_elements;
use crate::{
    Arity, Attrs, AxisMap, Category, EvalOp, Fact, FactorKind, Facts, Infer, InferOp, OpDef, OpError, OpName,
    OpTraits, RawNode, normalize_axis,
};

/// Replaces one axis of input 0 with the axes of the indices (input 1); input 2 is the axis. Data and indices
/// share the first `batch_dims` axes.
///
/// Gather-7 adds `batch_dims`. Negative indices count from the end: Gather-8 specifies this, models with
/// older versions rely on it (`x.shape[-1]`), and the OpenVINO runtime does the same wherever it propagates
/// the elements of a shape. An index out of range yields zeros. It is an error instead if `checks_indices` is
/// set, as in ONNX, or if the axis is empty, where the OpenVINO runtime reads uninitialised memory.
#[derive(Clone, PartialEq, Debug)]
pub struct Gather {
    /// Number of leading batch axes; negative values count from the rank of the indices.
    pub batch_dims: i64,
    /// The operation set that defines the op.
    pub since: u8,
    /// Whether an index out of range is an error. OpenVINO IR does not have this attribute.
    pub checks_indices: bool,
}

impl Default for Gather {
    /// Gather-8 without batch axes.
    fn default() -> Self {
        Self { batch_dims: 0, since: 8, checks_indices: false }
    }
}

/// An attribute that OpenVINO IR does not have.
const CHECKS_INDICES: &str = "checks_indices";

impl OpDef for Gather {
    const NAMES: &'static [OpName] = &[OpName::openvino("Gather", &[1, 7, 8], Category::Movement)
        .doc("Replaces one axis of input 0 with the axes of the indices (input 1); input 2 is the axis.")];
    const ARITY: Arity = Arity::exactly(3);
    const TRAITS: OpTraits = OpTraits::PURE.union(OpTraits::MOVES_ELEMENTS).union(OpTraits::MAYBE_SLICE);
    const WEIGHTS: &'static [usize] = &[0];

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let batch_dims = match raw.since {
            1 => 0,
            _ => raw.attrs.int("batch_dims")?.unwrap_or(0),
        };
        let checks_indices = raw.attrs.bool(CHECKS_INDICES)?.unwrap_or(false);
        Ok(Self { batch_dims, since: raw.since, checks_indices })
    }

    fn attrs(&self) -> Attrs<'static> {
        let attrs = match self.since {
            1 => Attrs::new(),
            _ => Attrs::new().with("batch_dims", self.batch_dims),
        };
        if self.checks_indices { attrs.with(CHECKS_INDICES, true) } else { attrs }
    }
}

impl InferOp for Gather {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_integer(1);
        cx.expect_integer(2);
        cx.expect_rank(2, "0 or 1", |rank| rank <= 1)?;
        cx.demand_axes(2);
        let shape = self.shape(cx)?;
        let elements = propagate_elements(self, cx, &[0], &shape);
        Ok(Facts::from(Fact::new(cx.element_type(0), shape).with_elements(elements)))
    }

    fn axis_map(&self, inputs: &[&Fact], _: &Fact) -> Option<AxisMap> {
        let &[axis] = inputs[2].ints()?.as_slice() else { return None };
        let (rank, indices) = (inputs[0].shape.rank()?, inputs[1].shape.rank()?);
        let axis = normalize_axis(axis, rank).ok()?;
        let batch = self.batch(indices, axis).ok()?;
        let both = (0..batch).map(|at| vec![(0, at), (1, at)]);
        let before = (batch..axis).map(|at| vec![(0, at)]);
        let looked_up = (batch..indices).map(|at| vec![(1, at)]);
        let after = (axis + 1..rank).map(|at| vec![(0, at)]);
        let mut map = AxisMap::default();
        for (to, from) in both.chain(before).chain(looked_up).chain(after).enumerate() {
            map.add(FactorKind::PassThrough, from, Some(to));
        }
        map.add(FactorKind::Lookup, [(0, axis)], None);
        Some(map)
    }
}

impl EvalOp for Gather {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let (data, indices) = (&inputs[0], &inputs[1]);
        let axis = normalize_axis(scalar("axis", &inputs[2])?, data.rank())?;
        let batch = self.batch(indices.rank(), axis)?;
        if indices.rank() == 0
            && let Some(at) = position(scalar("index", indices)?, data.dims()[axis])
        {
            // A single index selects a view without copying.
            return Ok(vec![data.slice(axis, at, 1, 1)?.squeeze(axis)?]);
        }
        let gather = if self.checks_indices { kernels::gather } else { kernels::gather_or_zeros };
        Ok(vec![gather(data, indices, axis, batch)?])
    }
}

impl Gather {
    /// Whether an index never yields zeros, for any axis size in `sizes`: the index is then either in range
    /// or an error.
    pub fn selects_or_fails(&self, index: i64, sizes: Interval) -> bool {
        let least = sizes.lo().max(1);
        self.checks_indices || (-least..least).contains(&index)
    }

    /// The number of batch axes.
    pub fn batch(&self, indices_rank: usize, axis: usize) -> Result<usize, OpError> {
        let from_end = if self.batch_dims < 0 { indices_rank as i64 } else { 0 };
        let batch = self.batch_dims.checked_add(from_end).and_then(|batch| usize::try_from(batch).ok());
        match batch {
            Some(batch) if batch <= indices_rank && batch <= axis => Ok(batch),
            _ => Err(OpError::out_of_range(
                "batch_dims",
                self.batch_dims,
                format!("at most the axis {axis} and the rank {indices_rank} of the indices"),
            )),
        }
    }

    /// The shape of the output.
    pub(in crate::ops) fn shape(&self, cx: &mut Infer) -> Result<Shape, OpError> {
        let axis = match cx.input(2).ints() {
            Some(axis) => match axis.as_slice() {
                [axis] => Some(*axis),
                other => {
                    return Err(OpError::mismatch(
                        "axis",
                        format!("{} elements", other.len()),
                        "one element",
                    ));
                }
            },
            None => None,
        };
        if let Some([dim]) = cx.shape(2).dims()
            && !cx.interval(dim).contains(1)
        {
            return Err(OpError::mismatch("axis", "more than one element", "one element"));
        }
        let (data, indices) = (cx.shape(0).dims(), cx.shape(1).dims());
        let axis = match (axis, data) {
            (Some(axis), Some(data)) => Some(normalize_axis(axis, data.len())?),
            _ => None,
        };
        let (Some(data), Some(indices)) = (data, indices) else { return Ok(Shape::unranked()) };
        let Some(axis) = axis else {
            if data.is_empty() {
                return Err(OpError::rank("input 0", 0, "1 or more"));
            }
            let batch = self.batch(indices.len(), data.len() - 1)?;
            let mut dims = shared(cx, &data[..batch], &indices[..batch])?;
            dims.resize_with(data.len() - 1 + indices.len() - batch, || cx.unknown(Interval::DIM));
            return Ok(Shape::ranked(dims));
        };
        cx.demand_index(1, &data[axis]);
        let batch = self.batch(indices.len(), axis)?;
        let mut dims = shared(cx, &data[..batch], &indices[..batch])?;
        let kept = [&data[batch..axis], &indices[batch..], &data[axis + 1..]];
        dims.extend(kept.into_iter().flatten().cloned());
        Ok(Shape::ranked(dims))
    }
}

/// Unifies the batch dims of data and indices.
fn shared(cx: &mut Infer, data: &[SymExpr], indices: &[SymExpr]) -> Result<SmallVector<SymExpr, 4>, OpError> {
    let dims: Option<_> = data.iter().zip(indices).map(|(a, b)| cx.merge(a, b)).collect();
    dims.ok_or_else(|| cx.conflict("batch dims of data {} and indices {} differ", cx.shape(0), cx.shape(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(
        since: u8,
        batch_dims: i64,
        data: &Tensor,
        indices: &Tensor,
        axis: i64,
    ) -> Option<(Vec<usize>, Vec<i64>)> {
        let gather = Gather { batch_dims, since, checks_indices: false };
        let out = gather.eval(&[data.clone(), indices.clone(), Tensor::scalar(axis)]).ok()?;
        Some((out[0].dims().to_vec(), out[0].to_i64_vec().unwrap()))
    }

    #[test]
    fn by_index_and_batch() {
        let t = Tensor::from_vec(&[2, 3], vec![1i64, 2, 3, 4, 5, 6]).unwrap();
        let list = |v: &[i64]| Tensor::from_vec(&[v.len()], v.to_vec()).unwrap();
        assert_eq!(run(8, 0, &t, &list(&[2, -3]), 1), Some((vec![2, 2], vec![3, 1, 6, 4])));
        assert_eq!(run(8, 0, &t, &Tensor::scalar(-1i64), 0), Some((vec![3], vec![4, 5, 6])));
        assert_eq!(run(7, 0, &t, &list(&[0, 7]), 0), Some((vec![2, 3], vec![1, 2, 3, 0, 0, 0])));
        assert_eq!(run(7, 0, &t, &list(&[-3, -1]), 0), Some((vec![2, 3], vec![0, 0, 0, 4, 5, 6])));
        assert_eq!(run(1, 0, &t, &Tensor::scalar(-1i64), 1), Some((vec![2], vec![3, 6])));
        assert_eq!(run(8, 1, &t, &list(&[0, 2]), 1), Some((vec![2], vec![1, 6])));
        assert_eq!(run(8, 0, &t, &list(&[3, 0]), 1), Some((vec![2, 2], vec![0, 1, 0, 4])));
        assert_eq!(run(8, 0, &t, &Tensor::scalar(-3i64), 0), Some((vec![3], vec![0, 0, 0])));
        assert_eq!(run(8, 1, &t, &list(&[0]), 1), None);
        assert_eq!(run(8, 0, &t, &list(&[0]), 2), None);
        assert_eq!(run(8, 0, &t, &list(&[]), 0), Some((vec![0, 3], vec![])));
        let none = Tensor::zeros(snick_tensor::ElementType::I64, &[0, 3]).unwrap();
        for since in [1, 7, 8] {
            assert_eq!(run(since, 0, &none, &list(&[0]), 0), None);
            assert_eq!(run(since, 0, &none, &list(&[]), 0), Some((vec![0, 3], vec![])));
        }
    }

    #[test]
    fn checked_indices_are_refused_outside() {
        let t = Tensor::from_vec(&[3], vec![1i64, 2, 3]).unwrap();
        let gather = Gather { checks_indices: true, ..Gather::default() };
        for (index, found) in [(2, Some(3)), (-3, Some(1)), (3, None), (-4, None)] {
            for dims in [&[][..], &[1]] {
                let indices = Tensor::from_vec(dims, vec![index]).unwrap();
                let out = gather.eval(&[t.clone(), indices, Tensor::scalar(0i64)]).ok();
                assert_eq!(out.map(|out| out[0].to_i64_vec().unwrap()[0]), found);
            }
        }
    }
}
