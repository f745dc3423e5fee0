//! SpaceToDepth-1.

use snick_shape::{Shape, SymExpr};
use snick_tensor::{Dims, SmallVector, Tensor};

use super::blocks::{Blocks, ChannelOrder, divided, part, times};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Moves spatial blocks into channels: `[N, C, D1 * block, .., DK * block]` to
    /// `[N, C * block^K, D1, .., DK]`.
    #[op("SpaceToDepth", since = [1], inputs = Arity::exactly(1), category = Movement, traits = [PURE])]
    pub struct SpaceToDepth {
        /// The blocks.
        pub blocks: Blocks,
    }
}

impl InferOp for SpaceToDepth {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_rank(0, "3 or more", |rank| rank >= 3)?;
        self.blocks.check()?;
        let element_type = cx.element_type(0);
        let Some([batch, channels, space @ ..]) = cx.shape(0).dims() else {
            return Ok(Facts::from(Fact::new(element_type, Shape::unranked())));
        };
        let channels = cx.mul(channels, &self.blocks.volume(space.len())?.into());
        let mut dims: SmallVector<SymExpr, 4> = SmallVector::from([batch.clone(), channels]);
        dims.extend(space.iter().map(|dim| divided(cx, dim, self.blocks.block_size)));
        Ok(Facts::from(Fact::new(element_type, Shape::ranked(dims))))
    }
}

impl EvalOp for SpaceToDepth {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let data = &inputs[0];
        let [batch, channels, ref space @ ..] = *data.dims() else {
            return Err(OpError::rank("data", data.rank(), "3 or more"));
        };
        let k = space.len();
        let [block, volume] = self.blocks.concrete(k)?;
        // [N, C, D1, b1, D2, b2, ..] to [N, b.., C, D..] or [N, C, b.., D..].
        let mut split: Dims = SmallVector::from([batch, channels]);
        let mut dims: Dims = SmallVector::from([batch, times(channels, volume)?]);
        for &dim in space {
            let part = part(dim, block)?;
            split.extend([part, block]);
            dims.push(part);
        }
        let mut order: Dims = SmallVector::from([0]);
        order.extend((0..k).map(|i| 3 + 2 * i));
        let depth_axis = match self.blocks.mode {
            ChannelOrder::BlocksFirst => 1 + k,
            ChannelOrder::DepthFirst => 1,
        };
        order.insert(depth_axis, 1);
        order.extend((0..k).map(|i| 2 + 2 * i));
        Ok(vec![data.reshape(&split)?.permute(&order)?.reshape(&dims)?])
    }
}
