//! BatchNormInference-1 and -5: normalisation by given means and variances, one a channel.
//!
//! The first definition has data as its third input, the later one as its first.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Shape, SymExpr};
use snick_tensor::{ElementType, Tensor};

use super::compute_tensor::ComputeTensor;
use crate::attrs::missing;
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// `(data - mean) / sqrt(variance + epsilon) * gamma + beta`; data is `[N, C, ..]`, the others `[C]`.
#[derive(Clone, PartialEq, Debug)]
pub struct BatchNormInference {
    /// Keeps the divisor from being zero.
    pub epsilon: f64,
    /// Whether data is the first input; otherwise it comes after gamma and beta.
    data_first: bool,
}

impl OpDef for BatchNormInference {
    const NAMES: &'static [OpName] = &[OpName::openvino("BatchNormInference", &[1, 5])];
    const ARITY: Arity = Arity::exactly(5);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let epsilon = raw.attrs.float("epsilon")?.ok_or(missing("epsilon"))?;
        if epsilon < 0.0 {
            return Err(raw.attrs.bad("epsilon", "a number that is not negative"));
        }
        Ok(Self { epsilon, data_first: raw.since >= 5 })
    }

    fn attrs(&self) -> Attrs<'static> {
        Attrs::new().with("epsilon", self.epsilon)
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
            return Ok(smallvec![Fact::new(element_type, Shape::unranked())]);
        };
        let mut dims: SmallVec<[SymExpr; 4]> = dims.into();
        if let (Some(slot), Some(channels)) = (dims.get_mut(1), channels) {
            *slot = channels;
        }
        Ok(smallvec![Fact::new(element_type, Shape::ranked(dims))])
    }
}

impl EvalOp for BatchNormInference {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, gamma, beta, mean, variance] = self.order().map(|i| &inputs[i]);
        let channels = data.dims().get(1).copied().unwrap_or(0);
        let column = |tensor: &Tensor| {
            if tensor.dims() != [channels] {
                return Err(OpError::mismatch(
                    "the shape beside data",
                    format!("{:?}", tensor.dims()),
                    channels,
                ));
            }
            ComputeTensor::per_channel(tensor, data.rank())
        };
        let deviation = column(variance)?.plus_number(self.epsilon)?.root()?;
        let normal = ComputeTensor::new(data)?.minus(&column(mean)?)?.over(&deviation)?;
        let result = normal.times(&column(gamma)?)?.plus(&column(beta)?)?;
        Ok(vec![result.rounded(data.element_type())?])
    }
}

impl BatchNormInference {
    /// Which inputs are the data, gamma, beta, the mean and the variance.
    pub fn order(&self) -> [usize; 5] {
        if self.data_first { [0, 1, 2, 3, 4] } else { [2, 0, 1, 3, 4] }
    }
}
