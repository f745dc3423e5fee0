//! GroupConvolution-1.

use snick_tensor::{Tensor, kernels};

use super::convolve::{infer_shape, operand_type, spatial_sizes};
use super::window::DilatedSliding;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly};

op! {
    /// A convolution for each group of channels: data `[N, G * C, spatial..]` and filters `[G, O, C, kernel..]` to
    /// `[N, G * O, windows..]`.
    #[op("GroupConvolution", since = [1], inputs = Arity::exactly(2), traits = [PURE, CONTRACTION])]
    pub struct GroupConvolution {
        /// How the filters slide.
        pub sliding: DilatedSliding = DilatedSliding::default(),
    }
}

impl InferOp for GroupConvolution {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = operand_type(cx)?;
        let shape = infer_shape(cx, &self.sliding, true)?;
        Ok(Facts::from(Fact::new(element_type, shape)))
    }
}

impl EvalOp for GroupConvolution {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, filters] = exactly(inputs)?;
        let (spatial, kernel) = spatial_sizes(data, filters, 1)?;
        let (window, _) = self.sliding.windows().concrete(spatial, kernel)?;
        Ok(vec![kernels::group_convolution(data, filters, &window)?])
    }
}
