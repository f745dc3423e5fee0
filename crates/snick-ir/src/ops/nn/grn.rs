//! GRN-1: each position divided by the length of its channels.

use smallvec::smallvec;
use snick_tensor::Tensor;
use snick_tensor::kernels::ReduceOp;

use super::compute_tensor::ComputeTensor;
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, OpTraits, RawNode};

/// `x / sqrt(sum over axis 1 of x^2 + bias)`
#[derive(Clone, PartialEq, Debug)]
pub struct Grn {
    /// What keeps the divisor from 0.
    pub bias: f64,
}

impl OpDef for Grn {
    const NAMES: &'static [OpName] = &[OpName::openvino("GRN", &[1])];
    const ARITY: Arity = Arity::exactly(1);
    const TRAITS: OpTraits = OpTraits::PURE.union(OpTraits::FLOAT_FORMULA);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        Ok(Self { bias: raw.attrs.float("bias")?.unwrap_or(1.0) })
    }

    fn attrs(&self) -> Attrs<'static> {
        Attrs::new().with("bias", self.bias)
    }
}

impl InferOp for Grn {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_rank(0, "2 to 4", |rank| (2..=4).contains(&rank))?;
        Ok(smallvec![Fact::new(cx.element_type(0), cx.shape(0).clone())])
    }
}

impl EvalOp for Grn {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data] = inputs else { return Ok(Vec::new()) };
        if data.rank() < 2 {
            return Err(OpError::rank("data", data.rank(), "2 to 4"));
        }
        let x = ComputeTensor::new(data)?;
        let sum = ReduceOp::Sum.apply(x.times(&x)?.tensor(), &[1], true)?;
        let length = ComputeTensor::new(&sum)?.plus_number(self.bias)?.root()?;
        Ok(vec![x.over(&length)?.rounded(data.element_type())?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths() {
        let x = Tensor::from_vec(&[1, 2], vec![3f32, 4.]).unwrap();
        let out = Grn { bias: 0. }.eval(&[x]).unwrap();
        assert_eq!(out[0].to_f32_vec().unwrap(), [0.6, 0.8]);
    }
}
