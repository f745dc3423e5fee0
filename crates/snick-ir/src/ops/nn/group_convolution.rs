//! GroupConvolution-1.

use snick_tensor::kernels::{Stage, Window};
use snick_tensor::{Tensor, kernels};

use super::convolve::{infer_shape, operand_type, spatial_sizes};
use super::window::DilatedSliding;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpCost, OpError, exactly};

op! {
    /// Grouped convolution: data `[N, G * C, spatial..]` and filters `[G, O, C, kernel..]` to
    /// `[N, G * O, windows..]`.
    #[op(
        "GroupConvolution", since = [1], inputs = Arity::exactly(2),
        category = Convolution, traits = [PURE, CONTRACTION], weights = [1]
    )]
    pub struct GroupConvolution {
        /// The strides, dilations and padding of the filters.
        pub sliding: DilatedSliding = DilatedSliding::default(),
    }
}

impl InferOp for GroupConvolution {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = operand_type(cx)?;
        let shape = infer_shape(cx, &self.sliding, true)?;
        Ok(Facts::from(Fact::new(element_type, shape)))
    }

    fn cost(&self, inputs: &[&Fact], output: &Fact) -> Option<OpCost> {
        OpCost::multiply_adds(output, inputs[1].shape.dims()?.get(2..)?)
    }
}

impl EvalOp for GroupConvolution {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, filters] = exactly(inputs)?;
        Ok(vec![kernels::group_convolution(data, filters, &self.window(data, filters)?)?])
    }

    fn eval_then(&self, inputs: &[Tensor], stages: &[Stage<&Tensor>]) -> Result<Option<Tensor>, OpError> {
        let [data, filters] = exactly(inputs)?;
        let window = self.window(data, filters)?;
        Ok(kernels::group_convolution_then(data, filters, &window, stages)?)
    }
}

impl GroupConvolution {
    fn window(&self, data: &Tensor, filters: &Tensor) -> Result<Window, OpError> {
        let (spatial, kernel) = spatial_sizes(data, filters, 1)?;
        Ok(self.sliding.windows().concrete(spatial, kernel)?.0)
    }
}
