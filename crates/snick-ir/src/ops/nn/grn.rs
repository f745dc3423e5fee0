//! GRN-1.

use snick_tensor::Tensor;
use snick_tensor::kernels::ReduceOp;

use super::compute_tensor::ComputeTensor;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly};

op! {
    /// Global response normalisation over channels: `x / sqrt(sum of x^2 over axis 1 + bias)`, for data
    /// `[N, C, ..]`.
    #[op(
        "GRN", since = [1], inputs = Arity::exactly(1),
        category = Normalisation, traits = [PURE, FLOAT_FORMULA]
    )]
    pub struct Grn {
        /// Avoids division by zero.
        pub bias: f64 = 1.0,
    }
}

impl InferOp for Grn {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_rank(0, "2 to 4", |rank| (2..=4).contains(&rank))?;
        Ok(Facts::from(Fact::new(cx.element_type(0), cx.shape(0).clone())))
    }
}

impl EvalOp for Grn {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data] = exactly(inputs)?;
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
    fn channels_are_divided_by_their_length() {
        let x = Tensor::from_vec(&[1, 2], vec![3f32, 4.]).unwrap();
        let out = Grn { bias: 0. }.eval(&[x]).unwrap();
        assert_eq!(out[0].to_f32_vec().unwrap(), [0.6, 0.8]);
    }
}
