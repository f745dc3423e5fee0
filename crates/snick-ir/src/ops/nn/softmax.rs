//! SoftMax-1 and SoftMax-8.

use snick_tensor::{Tensor, TensorError, kernels};

use crate::{Arity, AxisMap, EvalOp, Fact, Facts, Infer, InferOp, OpError, RawNode, Since, normalize_axis};

op! {
    /// `e^x / sum of e^x` along an axis.
    #[op(
        "SoftMax", since = [1, 8], inputs = Arity::exactly(1),
        category = Activation, traits = [PURE, FLOAT_FORMULA],
        check = Self::check_axis
    )]
    pub struct Softmax {
        /// The version; version 1 does not accept negative axes.
        pub since: Since = Since(8),
        /// The axis in version 1, not negative.
        #[until(8)]
        #[attr("axis")]
        pub first_axis: i64 = 0,
        /// The axis; negative axes count from the end.
        #[since(8)]
        pub axis: i64 = 1,
    }
}

impl InferOp for Softmax {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        infer_along(cx, self.axis())
    }

    fn axis_map(&self, inputs: &[&Fact], _: &Fact) -> Option<AxisMap> {
        Some(AxisMap::rows_but(inputs[0], &[self.axis()])?.rounding(true))
    }
}

impl EvalOp for Softmax {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        eval_along(&inputs[0], self.axis(), kernels::softmax)
    }
}

impl Softmax {
    /// The axis, for any version.
    pub fn axis(&self) -> i64 {
        if self.since.at_least(8) { self.axis } else { self.first_axis }
    }

    fn check_axis(&self, raw: &RawNode) -> Result<(), OpError> {
        match self.since.at_least(8) || self.first_axis >= 0 {
            true => Ok(()),
            false => Err(raw.attrs.bad("axis", "0 or more")),
        }
    }
}

/// Infers the output of an op that normalises along an axis.
pub(super) fn infer_along(cx: &mut Infer, axis: i64) -> Result<Facts, OpError> {
    if let Some(rank) = cx.shape(0).rank() {
        normalize_axis(axis, rank.max(1))?;
    }
    Ok(Facts::from(Fact::new(cx.element_type(0), cx.shape(0).clone())))
}

/// Applies a kernel along an axis; a scalar is treated as a vector of one element.
pub(super) fn eval_along(
    data: &Tensor,
    axis: i64,
    kernel: fn(&Tensor, usize) -> Result<Tensor, TensorError>,
) -> Result<Vec<Tensor>, OpError> {
    let axis = normalize_axis(axis, data.rank().max(1))?;
    let rows = if data.rank() == 0 { data.unsqueeze(0)? } else { data.clone() };
    Ok(vec![kernel(&rows, axis)?.reshape(data.dims())?])
}
