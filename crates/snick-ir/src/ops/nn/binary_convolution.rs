//! BinaryConvolution-1.
//!
//! Unlike u1 tensors, files store the bits of the filters starting at the least significant bit of each byte,
//! and the OpenVINO runtime reads them in this order.

use snick_tensor::kernels::{self, PadMode};
use snick_tensor::{ElementType, Tensor};

use super::convolve::infer_shape;
use super::window::DilatedSliding;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpCost, OpError, exactly};

op! {
    /// Convolution of signs. Elements of the data count as 1 if they are above zero, else as -1; bits of the
    /// filters count as 1 if they are set, else as -1. Each output is thus the number of equal pairs minus
    /// the number of different pairs. Inputs: data `[N, C, H, W]` and binary filters `[O, C, H', W']`.
    /// Output: `[N, O, rows, columns]`.
    #[op(
        "BinaryConvolution", since = [1], inputs = Arity::exactly(2),
        category = Convolution, traits = [PURE], weights = [1]
    )]
    pub struct BinaryConvolution {
        /// The strides, dilations and padding of the filters.
        pub sliding: DilatedSliding = DilatedSliding::default(),
        /// How the sum is computed.
        pub mode: BinaryMode = BinaryMode::XnorPopcount,
        /// The value of padding: 0 contributes nothing, 1 or more counts as 1, and any other value counts as
        /// -1.
        pub pad_value: f64 = 0.0,
    }
}

/// How a binary convolution computes its sum.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum BinaryMode {
    /// By counting equal bits.
    XnorPopcount,
}

attr_words!(BinaryMode { XnorPopcount = "xnor-popcount" });

impl InferOp for BinaryConvolution {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = cx.element_type(0);
        if element_type == ElementType::Boolean {
            return Err(OpError::element_type("data", element_type, "a number"));
        }
        for i in 0..2 {
            cx.expect_rank(i, "4", |rank| rank == 4)?;
        }
        let shape = infer_shape(cx, &self.sliding, false)?;
        Ok(Facts::from(Fact::new(element_type, shape)))
    }

    fn cost(&self, inputs: &[&Fact], output: &Fact) -> Option<OpCost> {
        OpCost::multiply_adds(output, inputs[1].shape.dims()?.get(1..)?)
    }
}

impl EvalOp for BinaryConvolution {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, filters] = exactly(inputs)?;
        let (&[_, _, ref spatial @ ..], &[_, _, ref kernel @ ..]) = (data.dims(), filters.dims()) else {
            return Err(OpError::rank("data or filters", data.rank().min(filters.rank()), "4"));
        };
        let (mut window, _) = self.sliding.windows().concrete(spatial, kernel)?;
        let mut pads =
            [&window.pads_begin, &window.pads_end].map(|pads| [0, 0].iter().chain(pads).copied().collect());
        let [begin, end]: &mut [Vec<isize>; 2] = &mut pads;
        window.pads_begin.fill(0);
        window.pads_end.fill(0);
        let around = Tensor::scalar(match self.pad_value {
            0.0 => 0.0,
            1.0.. => 1.0,
            _ => -1f32,
        });
        let data_signs = kernels::pad(&signs(data)?, begin, end, PadMode::Constant, Some(&around))?;
        let sums = kernels::convolution(&data_signs, &filter_signs(filters)?, &window)?;
        Ok(vec![sums.cast(data.element_type())?])
    }
}

fn sign(positive: bool) -> f32 {
    if positive { 1.0 } else { -1.0 }
}

fn signs(tensor: &Tensor) -> Result<Tensor, OpError> {
    let signs = tensor.to_f32_vec()?.into_iter().map(|value| sign(value > 0.0)).collect();
    Ok(Tensor::from_vec(tensor.dims(), signs)?)
}

fn filter_signs(filters: &Tensor) -> Result<Tensor, OpError> {
    if filters.element_type() != ElementType::U1 {
        return signs(filters);
    }
    // Do not use `to_bytes` here: it drops the unused bits of the last byte, where files may store elements.
    let whole = filters.storage().bytes();
    let as_read = filters.is_contiguous() && whole.len() == filters.len().div_ceil(8);
    let bytes = if as_read { whole.into() } else { filters.to_bytes() };
    let bit = |i: usize| sign(bytes.get(i / 8).is_some_and(|byte| byte >> (i % 8) & 1 == 1));
    Ok(Tensor::from_vec(filters.dims(), (0..filters.len()).map(bit).collect())?)
}

#[cfg(test)]
mod tests {

    use snick_tensor::Storage;

    use super::super::window::Sliding;
    use super::*;
    use snick_tensor::SmallVector;

    #[test]
    fn outputs_are_equal_pairs_less_different_ones() {
        let data = Tensor::from_vec(&[1, 1, 2, 2], vec![0.5f32, -3.0, 0.0, 2.0]).unwrap();
        let filters = Tensor::new(ElementType::U1, &[1, 1, 2, 2], Storage::heap(vec![0b1101])).unwrap();
        let run = |pad: i64, pad_value| {
            let pads = SmallVector::from([pad, 0]);
            let sliding = Sliding { pads_begin: pads, ..Sliding::default() };
            let sliding = DilatedSliding { sliding, ..DilatedSliding::default() };
            let op = BinaryConvolution { sliding, pad_value, ..BinaryConvolution::default() };
            op.eval(&[data.clone(), filters.clone()]).unwrap()[0].to_f32_vec().unwrap()
        };
        assert_eq!(run(0, 0.0), [2.0]);
        assert_eq!(run(1, 0.0), [0.0, 2.0]);
        assert_eq!(run(1, 1.0), [0.0, 2.0]);
        assert_eq!(run(1, -1.0), [0.0, 2.0]);
    }
}
