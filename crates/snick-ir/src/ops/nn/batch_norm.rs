//! BatchNormInference-1 and BatchNormInference-5.

use snick_shape::{Shape, SymExpr};
use snick_tensor::{ElementType, SmallVector, Tensor};

use super::compute_tensor::ComputeTensor;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, RawNode, Since};

op! {
    /// Batch normalisation with given statistics: `(data - mean) / sqrt(variance + epsilon) * gamma + beta`.
    /// Inputs: data `[N, C, ..]`, then gamma, beta, mean and variance, each `[C]`; in version 1, gamma and
    /// beta precede the data.
    #[op(
        "BatchNormInference", since = [1, 5], inputs = Arity::exactly(5),
        category = Normalisation, traits = [PURE],
        check = Self::check_epsilon
    )]
    pub struct BatchNormInference {
        /// The version, which determines the order of the inputs.
        pub since: Since = Since(5),
        /// Avoids division by zero; not negative.
        pub epsilon: f64 = 0.0,
    }
}

impl InferOp for BatchNormInference {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = cx.common_type(0..5);
        if element_type != ElementType::Dynamic && !element_type.is_float() {
            return Err(OpError::element_type("the inputs", element_type, "a floating-point type"));
        }
        let [data, ..] = self.order();
        cx.expect_rank(data, "2 or more", |rank| rank >= 2)?;
        let mut channels: Option<SymExpr> = cx.shape(data).dims().and_then(|dims| dims.get(1).cloned());
        for i in (0..5).filter(|&i| i != data) {
            cx.expect_rank(i, "1", |rank| rank == 1)?;
            let own = cx.shape(i).dims().and_then(|dims| dims.first());
            channels = match (channels, own) {
                (Some(all), Some(own)) => Some(cx.merge(&all, own).ok_or_else(|| {
                    OpError::conflict(
                        "numbers of channels differ: {} and {}",
                        cx.interval(&all),
                        cx.interval(own),
                    )
                })?),
                (all, own) => all.or(own.cloned()),
            };
        }
        let Some(dims) = cx.shape(data).dims() else {
            return Ok(Facts::from(Fact::new(element_type, Shape::unranked())));
        };
        let mut dims: SmallVector<SymExpr, 4> = dims.into();
        if let (Some(slot), Some(channels)) = (dims.get_mut(1), channels) {
            *slot = channels;
        }
        Ok(Facts::from(Fact::new(element_type, Shape::ranked(dims))))
    }
}

impl EvalOp for BatchNormInference {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, gamma, beta, mean, variance] = self.order().map(|i| &inputs[i]);
        let channels = data.dims().get(1).copied().unwrap_or(0);
        let column = |tensor: &Tensor| {
            if tensor.dims() != [channels] {
                return Err(OpError::mismatch(
                    "the shape of a parameter",
                    format!("{:?}", tensor.dims()),
                    channels,
                ));
            }
            ComputeTensor::per_channel(tensor, data.rank())
        };
        let deviation = column(variance)?.plus_number(self.epsilon)?.root()?;
        let factor = column(gamma)?.over(&deviation)?;
        let summand = column(beta)?.minus(&column(mean)?.times(&factor)?)?;
        let result = ComputeTensor::new(data)?.scaled(&factor, &summand)?;
        Ok(vec![result.rounded(data.element_type())?])
    }
}

impl BatchNormInference {
    fn check_epsilon(&self, raw: &RawNode) -> Result<(), OpError> {
        match self.epsilon < 0.0 {
            true => Err(raw.attrs.bad("epsilon", "0 or more")),
            false => Ok(()),
        }
    }

    /// The input indices of data, gamma, beta, mean and variance.
    pub fn order(&self) -> [usize; 5] {
        if self.since.at_least(5) { [0, 1, 2, 3, 4] } else { [2, 0, 1, 3, 4] }
    }
}
