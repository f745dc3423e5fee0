//! DepthToSpace-1.

use snick_shape::{Shape, SymExpr};
use snick_tensor::{Dims, SmallVector, Tensor};

use super::blocks::{Blocks, ChannelOrder, divided, part, times};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Moves channels into spatial blocks: `[N, C * block^K, D1, .., DK]` to
    /// `[N, C, D1 * block, .., DK * block]`.
    #[op("DepthToSpace", since = [1], inputs = Arity::exactly(1), category = Movement, traits = [PURE])]
    pub struct DepthToSpace {
        /// The blocks.
        pub blocks: Blocks,
    }
}

impl InferOp for DepthToSpace {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_rank(0, "3 or more", |rank| rank >= 3)?;
        self.blocks.check()?;
        let element_type = cx.element_type(0);
        let Some([batch, channels, space @ ..]) = cx.shape(0).dims() else {
            return Ok(Facts::from(Fact::new(element_type, Shape::unranked())));
        };
        let depth = divided(cx, channels, self.blocks.volume(space.len())?);
        let mut dims: SmallVector<SymExpr, 4> = SmallVector::from([batch.clone(), depth]);
        dims.extend(space.iter().map(|dim| cx.mul(dim, &self.blocks.block_size.into())));
        Ok(Facts::from(Fact::new(element_type, Shape::ranked(dims))))
    }
}

impl EvalOp for DepthToSpace {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let data = &inputs[0];
        let [batch, channels, ref space @ ..] = *data.dims() else {
            return Err(OpError::rank("data", data.rank(), "3 or more"));
        };
        let k = space.len();
        let [block, volume] = self.blocks.concrete(k)?;
        let depth = part(channels, volume)?;
        // [N, b.., C, D..] or [N, C, b.., D..] to [N, C, D1, b1, D2, b2, ..].
        let mut split: Dims = SmallVector::from([batch]);
        split.extend((0..k).map(|_| block));
        let (depth_axis, first_block) = match self.blocks.mode {
            ChannelOrder::BlocksFirst => (1 + k, 1),
            ChannelOrder::DepthFirst => (1, 2),
        };
        split.insert(depth_axis, depth);
        split.extend_from_slice(space);
        let mut order: Dims = SmallVector::from([0, depth_axis]);
        order.extend((0..k).flat_map(|i| [2 + k + i, first_block + i]));
        let mut dims: Dims = SmallVector::from([batch, depth]);
        for &dim in space {
            dims.push(times(dim, block)?);
        }
        Ok(vec![data.reshape(&split)?.permute(&order)?.reshape(&dims)?])
    }
}
