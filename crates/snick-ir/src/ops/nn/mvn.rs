//! MVN-1 and MVN-6.

use snick_tensor::kernels::EpsMode;
use snick_tensor::{SmallVector, Tensor, kernels};

use super::window::Numbers;
use crate::{
    Arity, AxisMap, EvalOp, Fact, Facts, Infer, InferOp, OpError, Since, normalize_axes, normalize_axis,
};

op! {
    /// Mean-variance normalisation: subtracts the mean over some axes and optionally divides by the standard
    /// deviation. Input 1 lists the axes. In version 1, attributes determine the axes, and epsilon is always
    /// added to the variance.
    #[op(
        "MVN", since = [1, 6], inputs = Arity::between(1, 2),
        category = Normalisation, traits = [PURE, FLOAT_FORMULA]
    )]
    pub struct Mvn {
        /// The version, which determines where the axes come from.
        pub since: Since = Since(6),
        /// Avoids division by zero.
        pub eps: f64 = 0.0,
        /// Whether to divide by the standard deviation.
        pub normalize_variance: bool = false,
        /// Whether to add epsilon to the variance or to the standard deviation.
        #[since(6)]
        pub eps_mode: EpsMode = EpsMode::InsideSqrt,
        /// If `reduction_axes` is empty: whether the axes are 1 and up, rather than 2 and up.
        #[until(6)]
        pub across_channels: bool = false,
        /// The axes; negative axes count from the end.
        #[until(6)]
        pub reduction_axes: Numbers = Numbers::new(),
    }
}

attr_words!(EpsMode { InsideSqrt = "INSIDE_SQRT", OutsideSqrt = "OUTSIDE_SQRT" });

impl InferOp for Mvn {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let inputs = if self.has_axes_input() { 2 } else { 1 };
        Arity::exactly(inputs).check(cx.len())?;
        if let Some(axes) = cx.optional(1) {
            cx.expect_rank(1, "1", |rank| rank == 1)?;
            cx.expect_integer(1);
            let count = axes.shape.dims().and_then(|dims| dims.first()?.as_const());
            if let (Some(rank), Some(count)) = (cx.shape(0).rank(), count)
                && i64::try_from(rank).is_ok_and(|rank| count > rank)
            {
                return Err(OpError::mismatch("the number of axes", count, format!("{rank} or fewer")));
            }
        }
        Ok(Facts::from(Fact::new(cx.element_type(0), cx.shape(0).clone())))
    }

    fn axis_map(&self, inputs: &[&Fact], _: &Fact) -> Option<AxisMap> {
        if self.has_axes_input() {
            return Some(AxisMap::rows_but(inputs[0], &inputs.get(1)?.ints()?)?.rounding(true));
        }
        let rank = inputs[0].shape.rank()?;
        let axes = self.attribute_axes(rank).ok()?;
        Some(AxisMap::rows(rank, |axis| axes.contains(&axis)).rounding(true))
    }
}

impl EvalOp for Mvn {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let data = &inputs[0];
        let axes = match (self.has_axes_input(), inputs.get(1)) {
            // Axes that are listed twice count once.
            (true, Some(axes)) => {
                let axes = axes.to_i64_vec()?.into_iter().map(|axis| normalize_axis(axis, data.rank()));
                axes.collect::<Result<_, _>>()?
            }
            (true, None) => return Err(OpError::NotConnected { port: 1 }),
            (false, _) => self.attribute_axes(data.rank())?,
        };
        Ok(vec![kernels::mvn(data, &axes, self.normalize_variance, self.eps, self.eps_mode)?])
    }
}

impl Mvn {
    /// Whether the axes are input 1 rather than attributes.
    pub fn has_axes_input(&self) -> bool {
        self.since.at_least(6)
    }

    /// The axes given by the attributes of version 1, for data of this rank.
    ///
    /// # Errors
    /// If an axis is out of range.
    pub fn attribute_axes(&self, rank: usize) -> Result<SmallVector<usize, 4>, OpError> {
        match (self.reduction_axes.is_empty(), self.across_channels) {
            (true, true) => Ok((1..rank).collect()),
            (true, false) => Ok((2..rank).collect()),
            (false, _) => normalize_axes(&self.reduction_axes, rank),
        }
    }
}
