//! MatMul-1.

use smallvec::SmallVec;
use snick_shape::{Shape, SymExpr};
use snick_tensor::kernels::Stage;
use snick_tensor::{Tensor, kernels};

use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly};

/// The conflict of shapes.
pub(in crate::ops) const CANNOT_MULTIPLY: &str = "cannot multiply {} with {}";

op! {
    /// The matrix product over the last two axes; the axes before them broadcast. A 1-D first input is a row and a 1-D
    /// second input a column, whatever the attributes say; the output does not have their axis.
    #[op("MatMul", since = [1], inputs = Arity::exactly(2), traits = [PURE, CONTRACTION])]
    pub struct MatMul {
        /// Whether the last two axes of input 0 are swapped.
        pub transpose_a: bool = false,
        /// Whether the last two axes of input 1 are swapped.
        pub transpose_b: bool = false,
    }
}

/// An operand as batch dims and a matrix.
struct Operand<'a> {
    batch: &'a [SymExpr],
    /// The axis that is in the output; `None` for a vector.
    kept: Option<&'a SymExpr>,
    /// The axis that is summed over.
    summed: &'a SymExpr,
}

impl<'a> Operand<'a> {
    /// `summed_last` says whether the last axis is summed over.
    fn new(dims: &'a [SymExpr], summed_last: bool) -> Option<Self> {
        match dims {
            [] => None,
            [summed] => Some(Self { batch: &[], kept: None, summed }),
            [batch @ .., kept, summed] if summed_last => Some(Self { batch, kept: Some(kept), summed }),
            [batch @ .., summed, kept] => Some(Self { batch, kept: Some(kept), summed }),
        }
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
            return Ok(Facts::from(Fact::new(element_type, Shape::unranked())));
        };
        if cx.merge(a.summed, b.summed).is_none() {
            cx.report(cx.conflict(CANNOT_MULTIPLY, cx.shape(0), cx.shape(1)));
        }
        let batches = [a.batch, b.batch].map(|dims| Shape::ranked(dims.iter().cloned()));
        let batch = cx.broadcast(&batches[0], &batches[1])?;
        let mut dims: SmallVec<[SymExpr; 4]> = batch.dims().unwrap_or_default().into();
        dims.extend(a.kept.into_iter().chain(b.kept).cloned());
        Ok(Facts::from(Fact::new(element_type, Shape::ranked(dims))))
    }
}

impl EvalOp for MatMul {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [a, b] = exactly(inputs)?;
        Ok(vec![kernels::matmul(a, b, self.transpose_a, self.transpose_b)?])
    }

    fn eval_then(&self, inputs: &[Tensor], stages: &[Stage<&Tensor>]) -> Result<Option<Tensor>, OpError> {
        let [a, b] = exactly(inputs)?;
        Ok(kernels::matmul_then(a, b, self.transpose_a, self.transpose_b, stages)?)
    }
}
