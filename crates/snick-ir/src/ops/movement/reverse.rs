//! Reverse-1.

use snick_tensor::{ElementType, SmallVector, Tensor};

use super::propagate_elements::propagate_elements;
use crate::{
    Arity, Attrs, Category, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, OpTraits, RawNode,
};

/// How input 1 selects axes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Input 1 lists the axes.
    Index,
    /// Input 1 holds a boolean for each axis.
    Mask,
}

const MODES: &[(&str, Mode)] = &[("index", Mode::Index), ("mask", Mode::Mask)];

/// Reverses the axes of input 0 selected by input 1.
#[derive(Clone, PartialEq, Debug)]
pub struct Reverse {
    /// How input 1 selects axes.
    pub mode: Mode,
}

impl OpDef for Reverse {
    const NAMES: &'static [OpName] = &[OpName::openvino("Reverse", &[1], Category::Slice)
        .missing_in(2, 17)
        .doc("Reverses the elements along the axes in input 1.")];
    const ARITY: Arity = Arity::exactly(2);
    const TRAITS: OpTraits = OpTraits::PURE.union(OpTraits::MOVES_ELEMENTS).union(OpTraits::SLICE_LIKE);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        Ok(Self { mode: raw.attrs.choice("mode", MODES)?.unwrap_or(Mode::Index) })
    }

    fn attrs(&self) -> Attrs<'static> {
        Attrs::new().with("mode", if self.mode == Mode::Mask { "mask" } else { "index" })
    }
}

impl InferOp for Reverse {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_rank(1, "1", |rank| rank == 1)?;
        match (self.mode, cx.element_type(1)) {
            (Mode::Mask, ElementType::Boolean | ElementType::Dynamic) => {}
            (Mode::Mask, got) => return Err(OpError::element_type("input 1", got, "boolean")),
            (Mode::Index, _) => cx.expect_integer(1),
        }
        if let (Some(rank), Some(named)) = (cx.shape(0).rank(), cx.input(1).ints()) {
            self.axes(&named, rank)?;
        }
        let shape = cx.shape(0).clone();
        let elements = propagate_elements(self, cx, &[0], &shape);
        Ok(Facts::from(Fact::new(cx.element_type(0), shape).with_elements(elements)))
    }
}

impl EvalOp for Reverse {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let mut tensor = inputs[0].clone();
        for axis in self.axes(&inputs[1].to_i64_vec()?, tensor.rank())? {
            let dim = tensor.dims()[axis];
            tensor = tensor.slice(axis, dim.saturating_sub(1), dim, -1)?;
        }
        Ok(vec![tensor])
    }
}

impl Reverse {
    /// The axes that the elements of input 1 select, for data of this rank.
    pub fn axes(&self, named: &[i64], rank: usize) -> Result<SmallVector<usize, 4>, OpError> {
        let mut axes: SmallVector<usize, 4> = SmallVector::new();
        match self.mode {
            Mode::Mask if named.len() != rank => {
                return Err(OpError::mismatch("the length of the mask", named.len(), rank));
            }
            Mode::Mask => axes.extend((0..rank).filter(|&axis| named[axis] != 0)),
            Mode::Index => {
                for &axis in named {
                    let at = usize::try_from(axis).ok().filter(|&at| at < rank);
                    let at = at.ok_or_else(|| OpError::out_of_range("axis", axis, format!("0..{rank}")))?;
                    if !axes.contains(&at) {
                        axes.push(at);
                    }
                }
            }
        }
        Ok(axes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_index_and_by_mask() {
        let t = Tensor::from_vec(&[2, 2], vec![1i32, 2, 3, 4]).unwrap();
        let run = |mode, named: Tensor| {
            Some(Reverse { mode }.eval(&[t.clone(), named]).ok()?[0].to_i64_vec().unwrap())
        };
        let axes = |axes: &[i64]| Tensor::from_vec(&[axes.len()], axes.to_vec()).unwrap();
        assert_eq!(run(Mode::Index, axes(&[1])), Some(vec![2, 1, 4, 3]));
        assert_eq!(run(Mode::Index, axes(&[1, 0])), Some(vec![4, 3, 2, 1]));
        assert_eq!(run(Mode::Index, axes(&[-1])), None);
        assert_eq!(
            run(Mode::Mask, Tensor::from_bools(&[2], &[true, false]).unwrap()),
            Some(vec![3, 4, 1, 2])
        );
        assert_eq!(run(Mode::Mask, Tensor::from_bools(&[1], &[true]).unwrap()), None);
    }
}
