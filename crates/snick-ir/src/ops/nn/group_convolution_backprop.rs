//! GroupConvolutionBackpropData-1.

use snick_tensor::Tensor;

use super::transposed_convolution::TransposedSliding;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpCost, OpError};

op! {
    /// Grouped transposed convolution: data `[N, G * C, spatial..]` and filters `[G, C, O, kernel..]` to
    /// `[N, G * O, larger spatial..]`. An optional third input holds the spatial sizes of the output.
    #[op(
        "GroupConvolutionBackpropData", since = [1], inputs = Arity::between(2, 3),
        category = Convolution, traits = [PURE, CONTRACTION],
        weights = [1]
    )]
    pub struct GroupConvolutionBackpropData {
        /// The strides, dilations and padding of the filters, and the output padding.
        pub transposed: TransposedSliding = TransposedSliding::default(),
    }
}

impl InferOp for GroupConvolutionBackpropData {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        self.transposed.infer(cx, true)
    }

    fn cost(&self, inputs: &[&Fact], _: &Fact) -> Option<OpCost> {
        OpCost::multiply_adds(inputs[0], inputs[1].shape.dims()?.get(2..)?)
    }
}

impl EvalOp for GroupConvolutionBackpropData {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        self.transposed.eval(inputs, true)
    }
}
