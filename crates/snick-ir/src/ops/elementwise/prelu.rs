//! PReLU-1.

use snick_shape::SymExpr;
use snick_tensor::kernels::BinaryOp;
use snick_tensor::{Dims, Tensor};

use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// The first input, multiplied by a slope where it is negative. Input 1 is the slope: a vector with a slope a channel
    /// (axis 1), or anything that broadcasts to input 0. The element type and the shape of input 0 stay.
    #[op("PReLU", since = [1], inputs = Arity::exactly(2), traits = [PURE])]
    pub struct PRelu;
}

impl InferOp for PRelu {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let (data, slope) = (cx.shape(0), cx.shape(1));
        if let (Some(data_dims), Some(slope_dims)) = (data.dims(), slope.dims()) {
            let may_equal = |a: &SymExpr, b: &SymExpr| cx.interval(a).meet(cx.interval(b)).is_some();
            let is_of_channels = matches!((slope_dims, data_dims), ([a], [_, b, ..]) if may_equal(a, b));
            let fits = |(a, b)| cx.interval(a).contains(1) || may_equal(a, b);
            let broadcasts = slope_dims.len() <= data_dims.len()
                && slope_dims.iter().rev().zip(data_dims.iter().rev()).all(fits);
            if !is_of_channels && !broadcasts {
                return Err(cx.conflict("the slope {} does not broadcast to {}", slope, data));
            }
        }
        Ok(Facts::from(Fact::new(cx.element_type(0), data.clone())))
    }
}

impl EvalOp for PRelu {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let (data, slope) = (&inputs[0], &inputs[1]);
        let slope = match (slope.dims(), data.dims()) {
            ([count], [_, channels, rest @ ..]) if count == channels => {
                let mut dims = Dims::from_elem(1, rest.len() + 1);
                dims[0] = *count;
                slope.reshape(&dims)?
            }
            _ => slope.clone(),
        };
        let slope = slope.cast(data.element_type())?.broadcast_to(data.dims())?;
        Ok(vec![BinaryOp::PRelu.apply(data, &slope)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slope_a_channel() {
        let data = Tensor::full(&[1, 2, 2], -1f32).unwrap();
        let slope = Tensor::from_vec(&[2], vec![2f32, 3.0]).unwrap();
        let out = PRelu.eval(&[data.clone(), slope]).unwrap();
        assert_eq!(out[0].to_f32_vec().unwrap(), [-2.0, -2.0, -3.0, -3.0]);
        let wrong = Tensor::full(&[3], 1f32).unwrap();
        assert!(PRelu.eval(&[data, wrong]).is_err());
    }
}
