//! Pad-1 and Pad-12: pad or crop both ends of each axis.

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::kernels::{self, PadMode};
use snick_tensor::{ElementType, SmallVector, Tensor};

use super::propagate_elements::propagate_elements;
use crate::{
    Arity, Attrs, AxisMap, Category, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, OpTraits,
    RawNode,
};

const MODES: &[(&str, PadMode)] = &[
    ("constant", PadMode::Constant),
    ("edge", PadMode::Edge),
    ("reflect", PadMode::Reflect),
    ("symmetric", PadMode::Symmetric),
];

/// Adds `pads_begin` elements (input 1) before and `pads_end` elements (input 2) after each axis of input 0.
/// Negative pads remove elements; only Pad-12 specifies them, but Pad-1 also accepts them.
#[derive(Clone, PartialEq, Debug)]
pub struct Pad {
    /// The values of the new elements.
    pub pad_mode: PadMode,
}

impl OpDef for Pad {
    const NAMES: &'static [OpName] = &[OpName::openvino("Pad", &[1, 12], Category::Movement)
        .doc("Extends the axes of input 0 by the numbers of elements in inputs 1 (before) and 2 (after).")];
    const ARITY: Arity = Arity::between(3, 4);
    const TRAITS: OpTraits = OpTraits::PURE.union(OpTraits::MAYBE_SLICE).union(OpTraits::NO_ARITHMETIC);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        Ok(Self { pad_mode: raw.attrs.choice("pad_mode", MODES)?.unwrap_or(PadMode::Constant) })
    }

    fn attrs(&self) -> Attrs<'static> {
        let name = MODES.iter().find(|(_, mode)| *mode == self.pad_mode).map(|(name, _)| *name);
        Attrs::new().with("pad_mode", name.unwrap_or("constant"))
    }
}

impl InferOp for Pad {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        for i in 1..3 {
            cx.expect_integer(i);
            cx.expect_rank(i, "1", |rank| rank == 1)?;
        }
        let mut element_type = cx.element_type(0);
        if self.pad_mode == PadMode::Constant && cx.len() > 3 {
            element_type = cx.common_type([0, 3]);
            cx.expect_rank(3, "0", |rank| rank == 0)?;
        }
        if element_type == ElementType::String && self.pad_mode != PadMode::Constant {
            return Err(OpError::element_type(
                "input 0",
                element_type,
                "a type other than string in this mode",
            ));
        }
        let begin = self.pads(cx, 1)?;
        let end = self.pads(cx, 2)?;
        let Some(dims) = cx.shape(0).dims() else {
            return Ok(Facts::from(Fact::new(element_type, Shape::unranked())));
        };
        let mut out: SmallVector<SymExpr, 4> = SmallVector::new();
        for (axis, dim) in dims.iter().enumerate() {
            let pad = |pads: &Option<Vec<SymExpr>>| pads.as_ref().and_then(|pads| pads.get(axis).cloned());
            out.push(match (pad(&begin), pad(&end)) {
                (Some(begin), Some(end)) => self.size(cx, dim, &begin, &end),
                _ => cx.unknown(Interval::DIM),
            });
        }
        let shape = Shape::ranked(out);
        let elements = propagate_elements(self, cx, &[0, 3], &shape);
        Ok(Facts::from(Fact::new(element_type, shape).with_elements(elements)))
    }

    fn axis_map(&self, inputs: &[&Fact], _: &Fact) -> Option<AxisMap> {
        let (begin, end) = (inputs[1].ints()?, inputs[2].ints()?);
        let is_padded = |axis: usize| begin.get(axis) != Some(&0) || end.get(axis) != Some(&0);
        Some(AxisMap::rows(inputs[0].shape.rank()?, is_padded))
    }
}

impl EvalOp for Pad {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let pads = |i: usize| -> Result<Vec<isize>, OpError> {
            let pads = inputs[i].to_i64_vec()?;
            let narrow = |pad: i64| {
                isize::try_from(pad).map_err(|_| OpError::out_of_range("pad", pad, "a number of elements"))
            };
            pads.into_iter().map(narrow).collect()
        };
        let value = inputs.get(3).filter(|_| self.pad_mode == PadMode::Constant);
        Ok(vec![kernels::pad(&inputs[0], &pads(1)?, &pads(2)?, self.pad_mode, value)?])
    }
}

impl Pad {
    /// The pads in input `i`, one per axis.
    fn pads(&self, cx: &mut Infer, i: usize) -> Result<Option<Vec<SymExpr>>, OpError> {
        let pads = cx.elements_or_unknown(i);
        match (&pads, cx.shape(0).rank()) {
            (Some(pads), Some(rank)) if pads.len() != rank => Err(OpError::mismatch(
                format!("the length of input {i}"),
                pads.len(),
                format!("the rank {rank}"),
            )),
            _ => Ok(pads),
        }
    }

    fn size(&self, cx: &mut Infer, dim: &SymExpr, begin: &SymExpr, end: &SymExpr) -> SymExpr {
        let most = self.most(cx.interval(dim).hi());
        for pad in [begin, end] {
            if let (Some(most), Some(pad)) = (most, pad.as_const())
                && pad > 0
                && pad > most
            {
                cx.report(OpError::out_of_range("pad", pad, format!("at most {most} in this mode")));
            }
        }
        let sum = cx.add(dim, begin);
        let size = cx.add(&sum, end);
        // A size that is not a valid dim makes every run fail.
        cx.as_dim(&size).unwrap_or_else(|| cx.unknown(Interval::DIM))
    }

    /// The maximum padding that the mode allows at each end of an axis of size `dim`; `None` for no limit.
    fn most(&self, dim: i64) -> Option<i64> {
        match self.pad_mode {
            PadMode::Constant => None,
            _ if dim == i64::MAX => None,
            PadMode::Edge => (dim == 0).then_some(0),
            PadMode::Reflect => Some((dim - 1).max(0)),
            PadMode::Symmetric => Some(dim),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(pad_mode: PadMode, begin: i64, end: i64) -> Option<Vec<i64>> {
        let t = Tensor::from_vec(&[3], vec![1i32, 2, 3]).unwrap();
        let list = |v: i64| Tensor::from_vec(&[1], vec![v]).unwrap();
        let out = Pad { pad_mode }.eval(&[t, list(begin), list(end), Tensor::scalar(9i32)]).ok()?;
        Some(out[0].to_i64_vec().unwrap())
    }

    #[test]
    fn every_mode() {
        assert_eq!(run(PadMode::Constant, 1, 2), Some(vec![9, 1, 2, 3, 9, 9]));
        assert_eq!(run(PadMode::Edge, 1, 2), Some(vec![1, 1, 2, 3, 3, 3]));
        assert_eq!(run(PadMode::Reflect, 2, 1), Some(vec![3, 2, 1, 2, 3, 2]));
        assert_eq!(run(PadMode::Symmetric, 2, 3), Some(vec![2, 1, 1, 2, 3, 3, 2, 1]));
        assert_eq!(run(PadMode::Reflect, 3, 0), None);
        assert_eq!(run(PadMode::Symmetric, 4, 0), None);
    }

    #[test]
    fn negative_pads_remove() {
        assert_eq!(run(PadMode::Constant, -1, -1), Some(vec![2]));
        assert_eq!(run(PadMode::Constant, -3, 2), Some(vec![9, 9]));
        assert_eq!(run(PadMode::Edge, -1, 2), Some(vec![2, 3, 3, 3]));
        assert_eq!(run(PadMode::Reflect, -1, 2), Some(vec![2, 3, 2, 1]));
        assert_eq!(run(PadMode::Symmetric, -2, 2), Some(vec![3, 3, 2]));
        assert_eq!(run(PadMode::Constant, -2, -2), None);
    }
}
