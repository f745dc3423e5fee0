//! MatMul-1: the product of matrices, in batches.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Shape, SymExpr};
use snick_tensor::{Tensor, kernels};

use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, OpTraits, RawNode};

/// The conflict of shapes.
pub(super) const CANNOT_MULTIPLY: &str = "cannot multiply {} with {}";

/// The product of the last two axes; the axes before them broadcast. A 1-D first input is a row and a 1-D second
/// input a column, whatever the flags say; their axis is not in the output.
#[derive(Clone, PartialEq, Debug)]
pub struct MatMul {
    /// Whether the last two axes of the first input change places.
    pub transpose_a: bool,
    /// Whether the last two axes of the second input change places.
    pub transpose_b: bool,
}

/// The operand as batch dims and a matrix.
struct Operand<'a> {
    batch: &'a [SymExpr],
    /// The axis that stays; `None` for a vector.
    kept: Option<&'a SymExpr>,
    /// The axis that is summed over.
    summed: &'a SymExpr,
}

impl<'a> Operand<'a> {
    /// `summed_last`: a row, where the last axis is summed over.
    fn new(dims: &'a [SymExpr], summed_last: bool) -> Option<Self> {
        match dims {
            [] => None,
            [summed] => Some(Self { batch: &[], kept: None, summed }),
            [batch @ .., kept, summed] if summed_last => Some(Self { batch, kept: Some(kept), summed }),
            [batch @ .., summed, kept] => Some(Self { batch, kept: Some(kept), summed }),
        }
    }
}

impl OpDef for MatMul {
    const NAMES: &'static [OpName] = &[OpName::openvino("MatMul", &[1])];
    const ARITY: Arity = Arity::exactly(2);
    const TRAITS: OpTraits = OpTraits::PURE.union(OpTraits::CONTRACTION);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        Ok(Self {
            transpose_a: raw.attrs.bool("transpose_a")?.unwrap_or(false),
            transpose_b: raw.attrs.bool("transpose_b")?.unwrap_or(false),
        })
    }

    fn attrs(&self) -> Attrs<'static> {
        Attrs::new().with("transpose_a", self.transpose_a).with("transpose_b", self.transpose_b)
    }
}

impl InferOp for MatMul {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = cx.common_type([0, 1]);
        for i in 0..2 {
            cx.expect_rank(i, "1 or more", |rank| rank >= 1)?;
        }
        let operands = (
            cx.shape(0).dims().and_then(|dims| Operand::new(dims, !self.transpose_a)),
            cx.shape(1).dims().and_then(|dims| Operand::new(dims, self.transpose_b)),
        );
        let (Some(a), Some(b)) = operands else {
            return Ok(smallvec![Fact::new(element_type, Shape::unranked())]);
        };
        if cx.merge(a.summed, b.summed).is_none() {
            cx.report(cx.conflict(CANNOT_MULTIPLY, cx.shape(0), cx.shape(1)));
        }
        let batches = [a.batch, b.batch].map(|dims| Shape::ranked(dims.iter().cloned()));
        let batch = cx.broadcast(&batches[0], &batches[1])?;
        let mut dims: SmallVec<[SymExpr; 4]> = batch.dims().unwrap_or_default().into();
        dims.extend(a.kept.into_iter().chain(b.kept).cloned());
        Ok(smallvec![Fact::new(element_type, Shape::ranked(dims))])
    }
}

impl EvalOp for MatMul {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [a, b] = inputs else { return Ok(Vec::new()) };
        Ok(vec![kernels::matmul(a, b, self.transpose_a, self.transpose_b)?])
    }
}
