//! OpenVINO's PagedCausalConv1D.

use snick_shape::Shape;

use crate::ops::detection::checks::{common_dim, expect_ranks};
use crate::{Arity, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Causal convolution over tokens, for several sequences packed into one list of tokens. Inputs: tokens
    /// `[T, H]`, a table of states `[P, H, K]`, which is updated in place, filters `[C, H/G, K]`, a bias, and
    /// vectors that assign tokens and states to sequences. The output has the shape of the tokens. Shape
    /// inference only; cannot be run.
    #[op(
        "PagedCausalConv1D", since = [1], inputs = Arity::exactly(9),
        category = Convolution, traits = [], name = internal_extension()
    )]
    pub struct PagedCausalConv1D;
}

impl InferOp for PagedCausalConv1D {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = cx.common_type([0, 2, 3]);
        expect_ranks(cx, &[2, 3, 3, 1, 1, 1, 1, 1, 1])?;
        (4..9).try_for_each(|port| cx.expect_index(port))?;
        common_dim(cx, &[(1, 2), (2, 2)])?;
        let hidden = common_dim(cx, &[(0, 1), (1, 1)])?;
        let tokens = common_dim(cx, &[(0, 0)])?;
        Ok(Facts::from(Fact::new(element_type, Shape::ranked([tokens, hidden]))))
    }
}

only_inferred!(PagedCausalConv1D);
