//! MatMul-1.

use snick_shape::{Shape, SymExpr};
use snick_tensor::kernels::Stage;
use snick_tensor::{SmallVector, Tensor, kernels};

use crate::{Arity, AxisMap, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly};

/// The error for incompatible shapes.
pub(in crate::ops) const CANNOT_MULTIPLY: &str = "cannot multiply {} with {}";

op! {
    /// The matrix product over the last two axes, with broadcasting of the leading axes. A 1-D input 0 is
    /// treated as a row and a 1-D input 1 as a column, regardless of the attributes; the output omits the
    /// axis of size 1 that this adds.
    #[op(
        "MatMul", since = [1], inputs = Arity::exactly(2),
        category = Product, traits = [PURE, CONTRACTION], weights = [0, 1]
    )]
    pub struct MatMul {
        /// Whether to transpose input 0.
        pub transpose_a: bool = false,
        /// Whether to transpose input 1.
        pub transpose_b: bool = false,
    }
}

/// An operand, split into batch dims and a matrix.
struct Operand<'a> {
    dims: &'a [SymExpr],
    batch: &'a [SymExpr],
    /// The axis of the matrix that remains in the output; `None` for a vector.
    kept: Option<usize>,
    /// The contracted axis.
    summed: usize,
}

impl<'a> Operand<'a> {
    /// Describes an operand. `summed_last` says whether the last axis of a matrix is the contracted one.
    fn new(dims: &'a [SymExpr], summed_last: bool) -> Option<Self> {
        let last = dims.len().checked_sub(1)?;
        let (kept, summed) = match last.checked_sub(1) {
            None => (None, last),
            before if summed_last => (before, last),
            Some(before) => (Some(last), before),
        };
        Some(Self { dims, batch: &dims[..last.saturating_sub(1)], kept, summed })
    }
}

impl MatMul {
    /// Both operands, if their ranks are known.
    fn operands<'a>(&self, a: &'a Shape, b: &'a Shape) -> Option<[Operand<'a>; 2]> {
        Some([Operand::new(a.dims()?, !self.transpose_a)?, Operand::new(b.dims()?, self.transpose_b)?])
    }
}

impl InferOp for MatMul {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = cx.common_type([0, 1]);
        for i in 0..2 {
            cx.expect_rank(i, "1 or more", |rank| rank >= 1)?;
        }
        let Some([a, b]) = self.operands(cx.shape(0), cx.shape(1)) else {
            return Ok(Facts::from(Fact::new(element_type, Shape::unranked())));
        };
        if cx.merge(&a.dims[a.summed], &b.dims[b.summed]).is_none() {
            cx.report(cx.conflict(CANNOT_MULTIPLY, cx.shape(0), cx.shape(1)));
        }
        let batches = [a.batch, b.batch].map(|dims| Shape::ranked(dims.iter().cloned()));
        let batch = cx.broadcast(&batches[0], &batches[1])?;
        let mut dims: SmallVector<SymExpr, 4> = batch.dims().unwrap_or_default().into();
        dims.extend([&a, &b].iter().filter_map(|side| Some(side.dims[side.kept?].clone())));
        Ok(Facts::from(Fact::new(element_type, Shape::ranked(dims))))
    }

    fn axis_map(&self, inputs: &[&Fact], output: &Fact) -> Option<AxisMap> {
        let [a, b] = self.operands(&inputs[0].shape, &inputs[1].shape)?;
        let batches = output.shape.dims()?.get(..a.batch.len().max(b.batch.len()))?;
        let map = AxisMap::broadcast(&[a.batch, b.batch], batches);
        // If fewer rows are computed, the kernel may sum in another order, which changes the rounding.
        Some(map.product([a.kept, b.kept], [(a.summed, b.summed)]).rounding(true))
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
