//! NormalizeL2-1.

use snick_tensor::kernels::{self, EpsMode};
use snick_tensor::{ElementType, SmallVector, Tensor};

use crate::{Arity, AxisMap, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly, normalize_axis};

op! {
    /// Divides input 0 by its L2 norm over the axes listed in input 1. Without axes, every element is divided
    /// by its magnitude.
    #[op(
        "NormalizeL2", since = [1], inputs = Arity::exactly(2),
        category = Normalisation, traits = [PURE, FLOAT_FORMULA]
    )]
    pub struct NormalizeL2 {
        /// Avoids division by zero.
        pub eps: f64 = 0.0,
        /// How to combine `eps` with the sum of squares.
        pub eps_mode: SquaresEps = SquaresEps::Add,
    }
}

/// How to combine an epsilon with a sum of squares.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum SquaresEps {
    /// Add the epsilon to the sum.
    Add,
    /// Use the epsilon as the minimum of the sum.
    Max,
}

attr_words!(SquaresEps { Add = "add", Max = "max" });

impl InferOp for NormalizeL2 {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_rank(1, "0 or 1", |rank| rank <= 1)?;
        cx.expect_integer(1);
        if let (Some(rank), Some(axes)) = (cx.shape(0).rank(), cx.input(1).ints()) {
            positions(&axes, rank)?;
        }
        Ok(Facts::from(Fact::new(cx.element_type(0), cx.shape(0).clone())))
    }

    fn axis_map(&self, inputs: &[&Fact], _: &Fact) -> Option<AxisMap> {
        Some(AxisMap::rows_but(inputs[0], &inputs[1].ints()?)?.rounding(true))
    }
}

impl EvalOp for NormalizeL2 {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, axes] = exactly(inputs)?;
        let axes = positions(&axes.to_i64_vec()?, data.rank())?;
        let mode = match self.eps_mode {
            SquaresEps::Add => EpsMode::InsideSqrt,
            SquaresEps::Max => EpsMode::Max,
        };
        let compute = match data.element_type() {
            real if real.is_float() => real,
            _ => ElementType::F32,
        };
        let normal = kernels::normalize_l2(&data.cast(compute)?, &axes, self.eps, mode)?;
        Ok(vec![normal.cast(data.element_type())?])
    }
}

/// The distinct axes, with negative axes resolved.
pub(super) fn positions(axes: &[i64], rank: usize) -> Result<SmallVector<usize, 4>, OpError> {
    let mut positions: SmallVector<usize, 4> = SmallVector::new();
    for &axis in axes {
        let axis = normalize_axis(axis, rank)?;
        if !positions.contains(&axis) {
            positions.push(axis);
        }
    }
    Ok(positions)
}
