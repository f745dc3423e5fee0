//! Pad-1 and Pad-12: more elements, or fewer, at both ends of each axis.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::Tensor;
use snick_tensor::kernels::runs;

use crate::{Arity, Attrs, Fact, Facts, Infer, OpDef, OpError, OpName, RawNode};

/// What the new elements are.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Input 3, or 0.
    Constant,
    /// The outermost element.
    Edge,
    /// The elements mirrored at the outermost one, which is not repeated.
    Reflect,
    /// The elements mirrored at the edge, the outermost one repeated.
    Symmetric,
}

const MODES: &[(&str, Mode)] = &[
    ("constant", Mode::Constant),
    ("edge", Mode::Edge),
    ("reflect", Mode::Reflect),
    ("symmetric", Mode::Symmetric),
];

/// Adds `pads_begin` elements (input 1) before and `pads_end` elements (input 2) after each axis of input 0. Pads
/// may be negative, which removes elements: by definition since Pad-12, and Pad-1 takes them, too.
#[derive(Clone, PartialEq, Debug)]
pub struct Pad {
    /// What the new elements are.
    pub pad_mode: Mode,
}

impl OpDef for Pad {
    const NAMES: &'static [OpName] = &[OpName::openvino("Pad", &[1, 12])];
    const ARITY: Arity = Arity::between(3, 4);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        Ok(Self { pad_mode: raw.attrs.choice("pad_mode", MODES)?.unwrap_or(Mode::Constant) })
    }

    fn attrs(&self) -> Attrs<'static> {
        let name = MODES.iter().find(|(_, mode)| *mode == self.pad_mode).map(|(name, _)| *name);
        Attrs::new().with("pad_mode", name.unwrap_or("constant"))
    }

    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        for i in 1..3 {
            cx.expect_integer(i)?;
            cx.expect_rank(i, "1", |rank| rank == 1)?;
        }
        let mut element_type = cx.element_type(0);
        if self.pad_mode == Mode::Constant && cx.len() > 3 {
            element_type = cx.common_type([0, 3])?;
            cx.expect_rank(3, "0", |rank| rank == 0)?;
        }
        let begin = self.pads(cx, 1)?;
        let end = self.pads(cx, 2)?;
        let Some(dims) = cx.shape(0).dims() else {
            return Ok(smallvec![Fact::new(element_type, Shape::unranked())]);
        };
        let mut out: SmallVec<[SymExpr; 4]> = SmallVec::new();
        for (axis, dim) in dims.iter().enumerate() {
            let pad = |pads: &Option<Vec<SymExpr>>| pads.as_ref().and_then(|pads| pads.get(axis).cloned());
            out.push(match (pad(&begin), pad(&end)) {
                (Some(begin), Some(end)) => self.size(cx, dim, &begin, &end)?,
                _ => cx.unknown(Interval::DIM),
            });
        }
        Ok(smallvec![Fact::new(element_type, Shape::ranked(out))])
    }

    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let (begin, end) = (inputs[1].to_i64_vec()?, inputs[2].to_i64_vec()?);
        let rank = inputs[0].rank();
        for pads in [&begin, &end] {
            if pads.len() != rank {
                return Err(OpError::mismatch("the number of pads", pads.len(), rank));
            }
        }
        let mut tensor = inputs[0].clone();
        for (axis, (&begin, &end)) in begin.iter().zip(&end).enumerate() {
            if (begin, end) == (0, 0) {
                continue;
            }
            let value = match inputs.get(3).filter(|_| self.pad_mode == Mode::Constant) {
                Some(value) => value.reshape(&[])?,
                None => Tensor::zeros(tensor.element_type(), &[])?,
            };
            tensor = self.pad(&tensor, axis, begin, end, &value)?;
        }
        Ok(vec![tensor])
    }
}

impl Pad {
    /// The pads of input `i`: one an axis.
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

    fn size(
        &self,
        cx: &mut Infer,
        dim: &SymExpr,
        begin: &SymExpr,
        end: &SymExpr,
    ) -> Result<SymExpr, OpError> {
        let most = self.most(cx.interval(dim).hi());
        for pad in [begin, end] {
            if let (Some(most), Some(pad)) = (most, pad.as_const())
                && pad > 0
                && pad > most
            {
                return Err(OpError::out_of_range("pad", pad, format!("at most {most} in this mode")));
            }
        }
        let sum = cx.add(dim, begin);
        let size = cx.add(&sum, end);
        match cx.as_dim(&size) {
            Some(size) => Ok(size),
            // Every run would be refused.
            None => Ok(cx.unknown(Interval::DIM)),
        }
    }

    /// How many elements the mode finds beyond each end of an axis; `None` for any number.
    fn most(&self, dim: i64) -> Option<i64> {
        match self.pad_mode {
            Mode::Constant => None,
            _ if dim == i64::MAX => None,
            Mode::Edge => (dim == 0).then_some(0),
            Mode::Reflect => Some((dim - 1).max(0)),
            Mode::Symmetric => Some(dim),
        }
    }

    fn pad(
        &self,
        tensor: &Tensor,
        axis: usize,
        begin: i64,
        end: i64,
        value: &Tensor,
    ) -> Result<Tensor, OpError> {
        let dim = tensor.dims()[axis] as i64;
        let size = dim.checked_add(begin).and_then(|n| n.checked_add(end)).filter(|&n| n >= 0);
        let size = size.ok_or_else(|| {
            OpError::mismatch("the padded size", format!("{dim} + {begin} + {end}"), "not negative")
        })?;
        let most = self.most(dim);
        if let Some(most) = most.filter(|&most| begin.max(end).max(0) > most) {
            return Err(OpError::out_of_range("pad", begin.max(end), format!("at most {most} in this mode")));
        }
        // What is left of the input: indices `first..last`.
        let first = (-begin).clamp(0, dim);
        let last = dim.saturating_add(end).clamp(first, dim);
        let mut dims = snick_tensor::Dims::from_slice(tensor.dims());
        dims[axis] = usize::try_from(size).unwrap_or(usize::MAX);
        // Refuses what is too large before memory is taken.
        let whole = value.broadcast_to(&dims)?;
        if self.pad_mode == Mode::Constant {
            let len = |n: i64| usize::try_from(n.max(0)).unwrap_or(0);
            let before = begin.max(0).min(size);
            let kept = (last - first).min(size - before);
            let parts = [
                whole.slice(axis, 0, len(before), 1)?,
                tensor.slice(axis, len(first), len(kept), 1)?,
                whole.slice(axis, 0, len(size - before - kept), 1)?,
            ];
            return Ok(runs::concat(&parts.iter().collect::<Vec<_>>(), axis)?);
        }
        let source = |at: i64| {
            let at = at - begin;
            let at = match self.pad_mode {
                Mode::Edge => at.clamp(0, (dim - 1).max(0)),
                Mode::Reflect if at < 0 => -at,
                Mode::Reflect if at >= dim => 2 * (dim - 1) - at,
                Mode::Symmetric if at < 0 => -at - 1,
                Mode::Symmetric if at >= dim => 2 * dim - 1 - at,
                _ => at,
            };
            usize::try_from(at).unwrap_or(usize::MAX)
        };
        Ok(runs::take(tensor, axis, &(0..size).map(source).collect::<Vec<_>>())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(pad_mode: Mode, begin: i64, end: i64) -> Option<Vec<i64>> {
        let t = Tensor::from_vec(&[3], vec![1i32, 2, 3]).unwrap();
        let list = |v: i64| Tensor::from_vec(&[1], vec![v]).unwrap();
        let out = Pad { pad_mode }.eval(&[t, list(begin), list(end), Tensor::scalar(9i32)]).ok()?;
        Some(out[0].to_i64_vec().unwrap())
    }

    #[test]
    fn every_mode() {
        assert_eq!(run(Mode::Constant, 1, 2), Some(vec![9, 1, 2, 3, 9, 9]));
        assert_eq!(run(Mode::Edge, 1, 2), Some(vec![1, 1, 2, 3, 3, 3]));
        assert_eq!(run(Mode::Reflect, 2, 1), Some(vec![3, 2, 1, 2, 3, 2]));
        assert_eq!(run(Mode::Symmetric, 2, 3), Some(vec![2, 1, 1, 2, 3, 3, 2, 1]));
        assert_eq!(run(Mode::Reflect, 3, 0), None);
        assert_eq!(run(Mode::Symmetric, 4, 0), None);
    }

    #[test]
    fn negative_pads_remove() {
        assert_eq!(run(Mode::Constant, -1, -1), Some(vec![2]));
        assert_eq!(run(Mode::Constant, -3, 2), Some(vec![9, 9]));
        assert_eq!(run(Mode::Edge, -1, 2), Some(vec![2, 3, 3, 3]));
        assert_eq!(run(Mode::Reflect, -1, 2), Some(vec![2, 3, 2, 1]));
        assert_eq!(run(Mode::Symmetric, -2, 2), Some(vec![3, 3, 2]));
        assert_eq!(run(Mode::Constant, -2, -2), None);
    }
}
