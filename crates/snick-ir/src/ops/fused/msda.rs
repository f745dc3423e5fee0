//! MSDA, from OpenVINO's plug-ins.

use snick_shape::Shape;

use crate::ops::detection::checks::{common_dim, expect_ranks};
use crate::{Arity, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Multi-scale deformable attention. Inputs: values `[B, K, H, D]`, the sizes `[L, 2]` and start offsets
    /// `[L]` of the feature maps, and the sampling points `[B, Q, H, L, P, 2]` with their weights
    /// `[B, Q, H, L, P]`. Output: `[B, Q, H * D]`. Shape inference only; cannot be run.
    #[op(
        "MSDA", since = [1], inputs = Arity::exactly(5),
        category = Product, traits = [PURE], name = internal()
    )]
    pub struct Msda;
}

impl InferOp for Msda {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        expect_ranks(cx, &[4, 2, 1, 6, 5])?;
        let batch = common_dim(cx, &[(0, 0)])?;
        let queries = common_dim(cx, &[(4, 1)])?;
        let [heads, width] = [common_dim(cx, &[(0, 2)])?, common_dim(cx, &[(0, 3)])?];
        let features = cx.mul(&heads, &width);
        Ok(Facts::from(Fact::new(cx.element_type(0), Shape::ranked([batch, queries, features]))))
    }
}

only_inferred!(Msda);
