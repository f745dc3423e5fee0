//! PReLU-1.

use snick_shape::{Shape, SymExpr, Symbols};
use snick_tensor::kernels::BinaryOp;
use snick_tensor::{Dims, Tensor};

use super::domain::Domain;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Multiplies negative elements of input 0 by a slope. Input 1 is the slope: either a vector with one
    /// slope per channel (axis 1), or a tensor that broadcasts to input 0. The output has the type and shape
    /// of input 0.
    #[op("PReLU", since = [1], inputs = Arity::exactly(2), category = Activation, traits = [PURE])]
    pub struct PRelu;
}

impl InferOp for PRelu {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        for (port, what) in [(0, "the data"), (1, "the slope")] {
            Domain::Number.check(what, cx.element_type(port))?;
        }
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

impl PRelu {
    /// Whether the slopes apply to channels (axis 1), rather than broadcasting along the last axes.
    ///
    /// # Errors
    /// If the answer depends on sizes known only at run time.
    pub fn is_by_channel(symbols: &Symbols, data: &Shape, slope: &Shape) -> Result<bool, OpError> {
        let (Some([.., last]), Some([slopes])) = (data.dims(), slope.dims()) else { return Ok(false) };
        let Some([_, channels, _, ..]) = data.dims() else { return Ok(false) };
        let may_equal = |dim: &SymExpr| symbols.interval(dim).meet(symbols.interval(slopes)).is_some();
        match slopes.as_const() {
            Some(1) => Ok(false),
            _ if !may_equal(channels) => Ok(false),
            count if slopes == channels || (count.is_some() && !may_equal(last)) => Ok(true),
            _ => Err(OpError::unsupported(
                "a slope of the channels or of the last axis, which depends on sizes known only in a run",
            )),
        }
    }

    /// Reshapes a vector of slopes, one per channel, so that it broadcasts to data of this rank.
    ///
    /// # Errors
    /// As [`Tensor::reshape`].
    pub fn align(slopes: &Tensor, rank: usize) -> Result<Tensor, OpError> {
        let mut dims = Dims::from_elem(1, rank.saturating_sub(1).max(1));
        dims[0] = slopes.len();
        Ok(slopes.reshape(&dims)?)
    }
}

impl EvalOp for PRelu {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let (data, slope) = (&inputs[0], &inputs[1]);
        let slope = match (slope.dims(), data.dims()) {
            ([count], [_, channels, ..]) if count == channels => Self::align(slope, data.rank())?,
            _ => slope.clone(),
        };
        let slope = slope.cast(data.element_type())?.broadcast_to(data.dims())?;
        Ok(vec![BinaryOp::PRelu.apply(data, &slope)?])
    }
}

#[cfg(test)]
mod tests {
    use snick_shape::{Origin, ShapeSpec};

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

    #[test]
    fn sizes_say_which_axis_a_slope_belongs_to() {
        let mut symbols = Symbols::default();
        let mut shape = |text: &str| {
            let spec: ShapeSpec = text.parse().unwrap();
            spec.instantiate(&mut symbols, Origin::default()).unwrap()
        };
        let slopes = [shape("3"), shape("1"), shape("3,1,1")];
        let data = ["?,3,?", "?,3,3", "2,2..3,4", "2,4,3", "2,2..3,3", "?,?,?", "3", "2,3"].map(&mut shape);
        let found = |slope: &Shape| {
            let found = data.iter().map(|data| PRelu::is_by_channel(&symbols, data, slope).ok());
            found.collect::<Vec<_>>()
        };
        let [yes, no] = [Some(true), Some(false)];
        assert_eq!(found(&slopes[0]), [yes, yes, yes, no, None, None, no, no]);
        assert_eq!(found(&slopes[1]), [no; 8]);
        assert_eq!(found(&slopes[2]), [no; 8]);
    }
}
