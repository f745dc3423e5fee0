//! Broadcast-1 and Broadcast-3: a tensor repeated along axes until it has the target shape.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::{Dims, Tensor};

use crate::ops::movement::propagate_elements::propagate_elements;
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, OpTraits, RawNode};

/// How the axes of the input find those of the target.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Aligned at the last axis; sizes of 1 repeat.
    Numpy,
    /// By the mapping that input 2 lists; in Broadcast-1 as `Numpy` where there is no input 2.
    Explicit,
    /// As `Numpy`, and sizes of 1 in the target repeat, too. Since Broadcast-3.
    Bidirectional,
    /// From axis `axis` of the target on. Only Broadcast-1.
    Pdpd {
        /// First axis; -1 aligns at the last axis.
        axis: i64,
    },
}

/// Repeats input 0 to the shape that input 1 lists. Broadcast-1 calls the explicit mode `none`.
#[derive(Clone, PartialEq, Debug)]
pub struct Broadcast {
    /// How axes correspond.
    pub mode: Mode,
    /// Whether this is Broadcast-1.
    pub first_version: bool,
}

const PDPD: Mode = Mode::Pdpd { axis: -1 };
const V1: &[(&str, Mode)] =
    &[("none", Mode::Explicit), ("explicit", Mode::Explicit), ("numpy", Mode::Numpy), ("pdpd", PDPD)];
const V3: &[(&str, Mode)] = &[
    ("numpy", Mode::Numpy),
    ("explicit", Mode::Explicit),
    ("none", Mode::Explicit),
    ("bidirectional", Mode::Bidirectional),
];

impl OpDef for Broadcast {
    const NAMES: &'static [OpName] = &[OpName::openvino("Broadcast", &[1, 3])];
    const ARITY: Arity = Arity::between(2, 3);
    const TRAITS: OpTraits = OpTraits::PURE.union(OpTraits::MOVES_ELEMENTS);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let first_version = raw.since < 3;
        let mode = raw.attrs.choice("mode", if first_version { V1 } else { V3 })?;
        let mode = match mode {
            Some(Mode::Pdpd { .. }) => Mode::Pdpd { axis: raw.attrs.int("axis")?.unwrap_or(-1) },
            Some(mode) => mode,
            None if first_version => Mode::Explicit,
            None => Mode::Numpy,
        };
        Ok(Self { mode, first_version })
    }

    fn attrs(&self) -> Attrs<'static> {
        let attrs = Attrs::new();
        match self.mode {
            Mode::Numpy => attrs.with("mode", "numpy"),
            Mode::Explicit if self.first_version => attrs.with("mode", "none"),
            Mode::Explicit => attrs.with("mode", "explicit"),
            Mode::Bidirectional => attrs.with("mode", "bidirectional"),
            Mode::Pdpd { axis: -1 } => attrs.with("mode", "pdpd"),
            Mode::Pdpd { axis } => attrs.with("mode", "pdpd").with("axis", axis),
        }
    }
}

impl InferOp for Broadcast {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_integer(1);
        cx.expect_rank(1, "1", |rank| rank == 1)?;
        if cx.len() > 2 && self.mode == Mode::Explicit {
            cx.expect_integer(2);
            cx.expect_rank(2, "1", |rank| rank == 1)?;
        } else if cx.len() < 3 && self.mode == Mode::Explicit && !self.first_version {
            return Err(OpError::Arity { expected: "3 in mode explicit".into(), got: 2 });
        }
        if cx.len() > 2 && self.mode != Mode::Explicit && !self.first_version {
            return Err(OpError::Arity { expected: "2 in modes other than explicit".into(), got: cx.len() });
        }
        let shape = self.shape(cx)?;
        let elements = propagate_elements(self, cx, &[0], &shape);
        Ok(smallvec![Fact::new(cx.element_type(0), shape).with_elements(elements)])
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
        if self.mode == Mode::Bidirectional {
            target = both_ways(data.dims(), &target);
        }
        let mapping = match (self.mode, inputs.get(2)) {
            (Mode::Explicit, Some(mapping)) => mapping.to_i64_vec()?.into(),
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

/// The axes of the target that the axes of the input become.
type Mapping = SmallVec<[i64; 4]>;

impl Broadcast {
    /// The mapping where no input gives it.
    fn implied(&self, rank: usize, target: usize) -> Result<Mapping, OpError> {
        let too_small = || OpError::rank("the target shape", target, format!("{rank} or more, as input 0"));
        let first = match self.mode {
            Mode::Pdpd { axis } if axis >= 0 => usize::try_from(axis).unwrap_or(usize::MAX),
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
        let mut dims: SmallVec<[SymExpr; 4]> = SmallVec::new();
        for size in &target {
            let negative = || OpError::mismatch("the target shape", "a negative size", "sizes");
            match cx.as_dim(size) {
                Some(dim) => dims.push(dim),
                // -1 leaves the size open.
                None if size.as_const() == Some(-1) => dims.push(cx.unknown(Interval::DIM)),
                None => return Err(negative()),
            }
        }
        let target = Shape::ranked(dims.iter().cloned());
        if self.mode == Mode::Bidirectional {
            return cx.broadcast(cx.shape(0), &target);
        }
        let Some(data) = data else { return Ok(target) };
        let mapping = match (self.mode, cx.optional(2)) {
            (Mode::Explicit, Some(fact)) => match (fact.ints(), fact.shape.dims()) {
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

/// The numpy broadcast of two shapes; where they conflict, the size of the target.
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

/// The mapping as axes of the target: one for each axis of the input, ascending.
fn check_mapping(mapping: &[i64], rank: usize, target: usize) -> Result<SmallVec<[usize; 4]>, OpError> {
    if mapping.len() != rank {
        return Err(mapping_mismatch(mapping.len(), rank));
    }
    let mut axes: SmallVec<[usize; 4]> = SmallVec::new();
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
        let run = |mode, target: &[i64], mapping: Option<&[i64]>| {
            let list = |v: &[i64]| Tensor::from_vec(&[v.len()], v.to_vec()).unwrap();
            let mut inputs = vec![t.clone(), list(target)];
            inputs.extend(mapping.map(list));
            let out = Broadcast { mode, first_version: false }.eval(&inputs).ok()?;
            Some((out[0].dims().to_vec(), out[0].to_i64_vec().unwrap()))
        };
        assert_eq!(run(Mode::Numpy, &[2, 2], None), Some((vec![2, 2], vec![1, 1, 2, 2])));
        assert_eq!(run(Mode::Numpy, &[2], None), None);
        assert_eq!(run(Mode::Numpy, &[3, 2], None), None);
        assert_eq!(run(Mode::Bidirectional, &[1], None), Some((vec![2, 1], vec![1, 2])));
        assert_eq!(run(Mode::Explicit, &[2, 2, 1], Some(&[0, 2])), Some((vec![2, 2, 1], vec![1, 1, 2, 2])));
        assert_eq!(run(Mode::Explicit, &[2, 2, 1], Some(&[2, 0])), None);
        assert_eq!(run(Mode::Explicit, &[2, 2, 2], None).unwrap().1, [1, 1, 2, 2, 1, 1, 2, 2]);
        assert_eq!(run(Mode::Pdpd { axis: 0 }, &[2, 2, 2], None).unwrap().1, [1, 1, 1, 1, 2, 2, 2, 2]);
    }
}
