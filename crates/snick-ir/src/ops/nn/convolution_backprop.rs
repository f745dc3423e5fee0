//! ConvolutionBackpropData-1.

use snick_tensor::Tensor;

use super::transposed_convolution::TransposedSliding;
use crate::{Arity, EvalOp, Facts, Infer, InferOp, OpError};

op! {
    /// Transposed convolution: data `[N, C, spatial..]` and filters `[C, O, kernel..]` to
    /// `[N, O, larger spatial..]`. An optional third input holds the spatial sizes of the output.
    #[op("ConvolutionBackpropData", since = [1], inputs = Arity::between(2, 3), traits = [PURE, CONTRACTION])]
    pub struct ConvolutionBackpropData {
        /// How the filters slide.
        pub transposed: TransposedSliding = TransposedSliding::default(),
    }
}

impl InferOp for ConvolutionBackpropData {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        self.transposed.infer(cx, false)
    }
}

impl EvalOp for ConvolutionBackpropData {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        self.transposed.eval(inputs, false)
    }
}
