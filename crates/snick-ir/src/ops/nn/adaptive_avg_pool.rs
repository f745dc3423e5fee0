//! AdaptiveAvgPool-8.

use snick_tensor::{Dims, Tensor, kernels::ReduceOp};

use super::adaptive_windows::{each_window, infer_shape, output_dims};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly};

op! {
    /// Average pooling to a given output size: data `[N, C, spatial..]` to `[N, C, sizes..]`, with the sizes
    /// in input 1. Means of integers are rounded to the nearest integer, ties to even.
    #[op("AdaptiveAvgPool", since = [8], inputs = Arity::exactly(2), category = Reduction, traits = [PURE])]
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
        let dims = output_dims(data, sizes)?;
        let is_integer = data.element_type().is_integer();
        if !is_integer && dims.iter().skip(2).all(|&size| size == 1) {
            // If all output sizes are 1, each window is a whole channel, and a reduction gives the mean.
            // Integers cannot take this path, because the reduction would truncate their means instead of
            // rounding them.
            let spatial: Dims = (2..data.rank()).collect();
            return Ok(vec![ReduceOp::Mean.apply(data, &spatial, true)?]);
        }
        let mut means = Vec::new();
        each_window(data, &dims, |rows| {
            let (mut count, mut sum) = (0, 0.0);
            for (_, row) in rows {
                count += row.len();
                sum += row.iter().sum::<f64>();
            }
            let mean = sum / count as f64;
            means.push(if is_integer { mean.round_ties_even() } else { mean });
        })?;
        Ok(vec![Tensor::from_vec(&dims, means)?.cast(data.element_type())?])
    }
}

#[cfg(test)]
mod tests {
    use snick_tensor::{ElementType, Tensor};

    use super::AdaptiveAvgPool;
    use crate::EvalOp;

    #[test]
    fn one_window_is_the_whole_channel() {
        let values: Vec<f32> = (0..24).map(|i| (i * i % 23) as f32).collect();
        let means: Vec<f32> = values.chunks(12).map(|channel| channel.iter().sum::<f32>() / 12.0).collect();
        let data = Tensor::from_vec(&[1, 2, 3, 4], values).unwrap();
        let sizes = Tensor::from_vec(&[2], vec![1i64, 1]).unwrap();
        let pooled = |data: &Tensor| AdaptiveAvgPool.eval(&[data.clone(), sizes.clone()]).unwrap().remove(0);
        assert_eq!(pooled(&data), Tensor::from_vec(&[1, 2, 1, 1], means.clone()).unwrap());
        let rounded = means.iter().map(|mean| mean.round_ties_even() as i32).collect();
        let pooled = pooled(&data.cast(ElementType::I32).unwrap());
        assert_eq!(pooled, Tensor::from_vec::<i32>(&[1, 2, 1, 1], rounded).unwrap());
        assert!(means.iter().any(|mean| mean.fract() > 0.5));
    }
}
