//! Broadcast-1 and Broadcast-3.

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::{Dims, SmallVector, Tensor};

use crate::ops::movement::propagate_elements::propagate_elements;
use crate::{Arity, AxisMap, EvalOp, Fact, Facts, Infer, InferOp, OpError, RawNode, Since};

op! {
    /// Broadcasts input 0 to the shape in input 1. In mode `explicit`, input 2 lists the target axis of each
    /// axis of the input.
    #[op(
        "Broadcast", since = [1, 3], inputs = Arity::between(2, 3),
        category = Movement, traits = [PURE, MOVES_ELEMENTS, VIEW, STRIDED],
        check = Self::check_mode
    )]
    pub struct Broadcast {
        /// The version.
        pub since: Since = Since(3),
        /// How axes correspond; defaults to `none` in version 1 and to `numpy` later.
        pub mode: Option<BroadcastMode> = None,
        /// With `pdpd`, the axis of the target that the first axis of the input is aligned with; -1 aligns
        /// the last axes.
        #[until(3)]
        pub axis: Option<i64> = None,
    }
}

/// How the axes of the input correspond to axes of the target.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum BroadcastMode {
    /// numpy broadcasting: aligned at the last axis; dims of 1 are repeated.
    Numpy,
    /// According to input 2.
    Explicit,
    /// The name of `Explicit` in version 1; without input 2, like `Numpy`.
    None,
    /// Like `Numpy`, but dims of 1 in the target are also broadcast; since version 3.
    Bidirectional,
    /// Starting at a given axis of the target; version 1 only.
    Pdpd,
}

attr_words!(BroadcastMode {
    Numpy = "numpy", Explicit = "explicit", None = "none", Bidirectional = "bidirectional", Pdpd = "pdpd"
});

impl InferOp for Broadcast {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_integer(1);
        cx.expect_rank(1, "1", |rank| rank == 1)?;
        if cx.len() > 2 && self.mode() == BroadcastMode::Explicit {
            cx.expect_integer(2);
            cx.expect_rank(2, "1", |rank| rank == 1)?;
        } else if cx.len() < 3 && self.mode() == BroadcastMode::Explicit && self.since.at_least(3) {
            return Err(OpError::Arity { expected: "3 in mode explicit".into(), got: 2 });
        }
        if cx.len() > 2 && self.mode() != BroadcastMode::Explicit && self.since.at_least(3) {
            return Err(OpError::Arity { expected: "2 in modes other than explicit".into(), got: cx.len() });
        }
        let shape = self.shape(cx)?;
        let elements = propagate_elements(self, cx, &[0], &shape);
        Ok(Facts::from(Fact::new(cx.element_type(0), shape).with_elements(elements)))
    }

    fn axis_map(&self, inputs: &[&Fact], output: &Fact) -> Option<AxisMap> {
        if !matches!(self.mode(), BroadcastMode::Numpy | BroadcastMode::Bidirectional) {
            return None;
        }
        let map = AxisMap::broadcast(&[inputs[0].shape.dims()?], output.shape.dims()?);
        Some(AxisMap { sizes: Some(1), ..map })
    }
}

impl EvalOp for Broadcast {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let data = &inputs[0];
        let target = inputs[1].to_i64_vec()?;
        let target: Option<Dims> = target.iter().map(|&n| usize::try_from(n).ok()).collect();
        let mut target = target.ok_or_else(|| {
            OpError::mismatch("the target shape", format!("{:?}", inputs[1]), "no negative size")
        })?;
        if self.mode() == BroadcastMode::Bidirectional {
            target = both_ways(data.dims(), &target);
        }
        let mapping = match (self.mode(), inputs.get(2)) {
            (BroadcastMode::Explicit, Some(mapping)) => mapping.to_i64_vec()?.into(),
            _ => self.implied(data.rank(), target.len())?,
        };
        let axes = check_mapping(&mapping, data.rank(), target.len())?;
        let mut spread = Dims::from_elem(1, target.len());
        for (&axis, &dim) in axes.iter().zip(data.dims()) {
            spread[axis] = dim;
        }
        Ok(vec![data.reshape(&spread)?.broadcast_to(&target)?])
    }
}

/// The target axis of each axis of the input.
type Mapping = SmallVector<i64, 4>;

impl Broadcast {
    fn check_mode(&self, raw: &RawNode) -> Result<(), OpError> {
        match (self.mode, self.since.at_least(3)) {
            (Some(BroadcastMode::Pdpd), true) | (Some(BroadcastMode::Bidirectional), false) => {
                Err(raw.attrs.bad("mode", "a mode that this version has"))
            }
            _ => Ok(()),
        }
    }

    /// The mode, with the default filled in and `None` replaced by `Explicit`.
    pub fn mode(&self) -> BroadcastMode {
        match self.mode {
            Some(BroadcastMode::None) => BroadcastMode::Explicit,
            Some(mode) => mode,
            None if self.since.at_least(3) => BroadcastMode::Numpy,
            None => BroadcastMode::Explicit,
        }
    }

    /// The mapping of axes if no input specifies it.
    fn implied(&self, rank: usize, target: usize) -> Result<Mapping, OpError> {
        let too_small = || OpError::rank("the target shape", target, format!("{rank} or more, as input 0"));
        let first = match self.mode() {
            BroadcastMode::Pdpd if self.axis.is_some_and(|axis| axis >= 0) => {
                let axis = self.axis.unwrap_or(-1);
                usize::try_from(axis).unwrap_or(usize::MAX)
            }
            _ => target.checked_sub(rank).ok_or_else(too_small)?,
        };
        if first.checked_add(rank).is_none_or(|end| end > target) {
            return Err(too_small());
        }
        Ok((first..first + rank).map(|axis| axis as i64).collect())
    }

    fn shape(&self, cx: &mut Infer) -> Result<Shape, OpError> {
        let data = cx.shape(0).dims();
        let Some(target) = cx.elements_or_unknown(1) else { return Ok(Shape::unranked()) };
        let mut dims: SmallVector<SymExpr, 4> = SmallVector::new();
        for size in &target {
            let negative = || OpError::mismatch("the target shape", "a negative size", "sizes");
            match cx.as_dim(size) {
                Some(dim) => dims.push(dim),
                // A target size of -1 leaves the size unspecified.
                None if size.as_const() == Some(-1) => dims.push(cx.unknown(Interval::DIM)),
                None => return Err(negative()),
            }
        }
        let target = Shape::ranked(dims.iter().cloned());
        if self.mode() == BroadcastMode::Bidirectional {
            return cx.broadcast(cx.shape(0), &target);
        }
        let Some(data) = data else { return Ok(target) };
        let mapping = match (self.mode(), cx.optional(2)) {
            (BroadcastMode::Explicit, Some(fact)) => match (fact.ints(), fact.shape.dims()) {
                (Some(mapping), _) => mapping,
                (None, Some([count])) if !cx.interval(count).contains(data.len() as i64) => {
                    return Err(mapping_mismatch(cx.interval(count), data.len()));
                }
                (None, _) => return Ok(target),
            },
            _ => self.implied(data.len(), dims.len())?,
        };
        let axes = check_mapping(&mapping, data.len(), dims.len())?;
        for (&axis, dim) in axes.iter().zip(data) {
            if !cx.interval(dim).contains(1) {
                match cx.merge(&dims[axis], dim) {
                    Some(merged) => dims[axis] = merged,
                    None => cx.report(cx.conflict("cannot broadcast {} to {}", cx.shape(0), &target)),
                }
            }
        }
        Ok(Shape::ranked(dims))
    }
}

/// The numpy broadcast of two shapes; where dims conflict, the dim of the target.
fn both_ways(data: &[usize], target: &[usize]) -> Dims {
    let rank = data.len().max(target.len());
    let at = |dims: &[usize], axis: usize| {
        (axis + dims.len()).checked_sub(rank).and_then(|i| dims.get(i).copied())
    };
    (0..rank)
        .map(|axis| match (at(data, axis), at(target, axis)) {
            (Some(dim), None | Some(1)) => dim,
            (_, Some(size)) => size,
            (None, None) => 1,
        })
        .collect()
}

fn mapping_mismatch(got: impl ToString, rank: usize) -> OpError {
    OpError::mismatch("the number of mapped axes", got, format!("{rank}, the rank of input 0"))
}

/// Checks that a mapping lists ascending target axes, one for each axis of the input.
fn check_mapping(mapping: &[i64], rank: usize, target: usize) -> Result<SmallVector<usize, 4>, OpError> {
    if mapping.len() != rank {
        return Err(mapping_mismatch(mapping.len(), rank));
    }
    let mut axes: SmallVector<usize, 4> = SmallVector::new();
    for &axis in mapping {
        let at = usize::try_from(axis).ok().filter(|&at| at < target);
        let at =
            at.ok_or_else(|| OpError::out_of_range("mapped axis", axis, format!("below rank {target}")))?;
        if axes.last().is_some_and(|&last| last >= at) {
            return Err(OpError::out_of_range("mapped axis", axis, "ascending axes"));
        }
        axes.push(at);
    }
    Ok(axes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_on_concrete_shapes() {
        let t = Tensor::from_vec(&[2, 1], vec![1i32, 2]).unwrap();
        let op = Broadcast::default();
        let run = |mode, target: &[i64], mapping: Option<&[i64]>| {
            let list = |v: &[i64]| Tensor::from_vec(&[v.len()], v.to_vec()).unwrap();
            let mut inputs = vec![t.clone(), list(target)];
            inputs.extend(mapping.map(list));
            let out = Broadcast { mode: Some(mode), ..op.clone() }.eval(&inputs).ok()?;
            Some((out[0].dims().to_vec(), out[0].to_i64_vec().unwrap()))
        };
        assert_eq!(run(BroadcastMode::Numpy, &[2, 2], None), Some((vec![2, 2], vec![1, 1, 2, 2])));
        assert_eq!(run(BroadcastMode::Numpy, &[2], None), None);
        assert_eq!(run(BroadcastMode::Numpy, &[3, 2], None), None);
        assert_eq!(run(BroadcastMode::Bidirectional, &[1], None), Some((vec![2, 1], vec![1, 2])));
        assert_eq!(
            run(BroadcastMode::Explicit, &[2, 2, 1], Some(&[0, 2])),
            Some((vec![2, 2, 1], vec![1, 1, 2, 2]))
        );
        assert_eq!(run(BroadcastMode::Explicit, &[2, 2, 1], Some(&[2, 0])), None);
        assert_eq!(run(BroadcastMode::Explicit, &[2, 2, 2], None).unwrap().1, [1, 1, 2, 2, 1, 1, 2, 2]);
        let pdpd = Broadcast { since: Since(1), mode: Some(BroadcastMode::Pdpd), axis: Some(0) };
        let out = pdpd.eval(&[t.clone(), Tensor::from_vec(&[3], vec![2i64; 3]).unwrap()]).unwrap();
        assert_eq!(out[0].to_i64_vec().unwrap(), [1, 1, 1, 1, 2, 2, 2, 2]);
    }
}
