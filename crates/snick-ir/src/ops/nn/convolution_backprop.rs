//! ConvolutionBackpropData-1.

use snick_tensor::Tensor;

use super::transposed_convolution::TransposedSliding;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpCost, OpError};

op! {
    /// Transposed convolution: data `[N, C, spatial..]` and filters `[C, O, kernel..]` to
    /// `[N, O, larger spatial..]`. An optional third input holds the spatial sizes of the output.
    #[op(
        "ConvolutionBackpropData", since = [1], inputs = Arity::between(2, 3),
        category = Convolution, traits = [PURE, CONTRACTION],
        weights = [1]
    )]
    pub struct ConvolutionBackpropData {
        /// The strides, dilations and padding of the filters, and the output padding.
        pub transposed: TransposedSliding = TransposedSliding::default(),
    }
}

impl InferOp for ConvolutionBackpropData {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        self.transposed.infer(cx, false)
    }

    fn cost(&self, inputs: &[&Fact], _: &Fact) -> Option<OpCost> {
        OpCost::multiply_adds(inputs[0], inputs[1].shape.dims()?.get(1..)?)
    }
}

impl EvalOp for ConvolutionBackpropData {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        self.transposed.eval(inputs, false)
    }
}
