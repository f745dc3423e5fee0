//! Convolution-1.

use snick_tensor::kernels::{Stage, Window};
use snick_tensor::{Tensor, kernels};

use super::convolve::{infer_shape, operand_type, spatial_sizes};
use super::window::DilatedSliding;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpCost, OpError, exactly};

op! {
    /// Convolution over one to three spatial axes, without flipping the filters: data `[N, C, spatial..]` and
    /// filters `[O, C, kernel..]` to `[N, O, windows..]`.
    #[op(
        "Convolution", since = [1], inputs = Arity::exactly(2),
        category = Convolution, traits = [PURE, CONTRACTION], weights = [1]
    )]
    pub struct Convolution {
        /// The strides, dilations and padding of the filters.
        pub sliding: DilatedSliding = DilatedSliding::default(),
    }
}

impl InferOp for Convolution {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = operand_type(cx)?;
        let shape = infer_shape(cx, &self.sliding, false)?;
        Ok(Facts::from(Fact::new(element_type, shape)))
    }

    fn cost(&self, inputs: &[&Fact], output: &Fact) -> Option<OpCost> {
        OpCost::multiply_adds(output, inputs[1].shape.dims()?.get(1..)?)
    }
}

impl EvalOp for Convolution {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, filters] = exactly(inputs)?;
        Ok(vec![kernels::convolution(data, filters, &self.window(data, filters)?)?])
    }

    fn eval_then(&self, inputs: &[Tensor], stages: &[Stage<&Tensor>]) -> Result<Option<Tensor>, OpError> {
        let [data, filters] = exactly(inputs)?;
        let window = self.window(data, filters)?;
        Ok(kernels::group_convolution_then(data, &filters.unsqueeze(0)?, &window, stages)?)
    }
}

impl Convolution {
    fn window(&self, data: &Tensor, filters: &Tensor) -> Result<Window, OpError> {
        let (spatial, kernel) = spatial_sizes(data, filters, 0)?;
        Ok(self.sliding.windows().concrete(spatial, kernel)?.0)
    }
}
