//! AdaptiveAvgPool-8.

use snick_tensor::Tensor;

use super::adaptive_windows::{each_window, infer_shape};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly};

op! {
    /// The mean of each of as many windows as input 1 says: data `[N, C, spatial..]` to `[N, C, sizes..]`. Means of
    /// integers are rounded to the nearest, ties to even.
    #[op("AdaptiveAvgPool", since = [8], inputs = Arity::exactly(2), traits = [PURE])]
    pub struct AdaptiveAvgPool;
}

impl InferOp for AdaptiveAvgPool {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let shape = infer_shape(cx)?;
        Ok(Facts::from(Fact::new(cx.element_type(0), shape)))
    }
}

impl EvalOp for AdaptiveAvgPool {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, sizes] = exactly(inputs)?;
        let is_integer = data.element_type().is_integer();
        let mut means = Vec::new();
        let dims = each_window(data, sizes, |elements| {
            let (count, sum) = elements.fold((0usize, 0.0), |(n, sum), (_, x)| (n + 1, sum + x));
            let mean = sum / count as f64;
            means.push(if is_integer { mean.round_ties_even() } else { mean });
        })?;
        Ok(vec![Tensor::from_vec(&dims, means)?.cast(data.element_type())?])
    }
}
