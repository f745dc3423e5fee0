//! OpenVINO's GatedDeltaNet and its paged variant.

use snick_shape::{Shape, SymExpr};

use crate::ops::control::opaque::declared_facts;
use crate::ops::detection::checks::{common_dim, expect_ranks};
use crate::{Arity, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Linear attention with a gated delta rule, with H key heads and W value heads. Inputs: queries and keys
    /// `[B, L, H, K]`, values `[B, L, W, V]`, states `[B, W, K, V]`, and gates and betas `[B, L, W]`.
    /// Outputs: the result `[B, L, W, V]`, and the next states. Older OpenVINO releases order the inputs
    /// differently; for their files, inference uses the declared outputs. Shape inference only; cannot be
    /// run.
    #[op(
        "GatedDeltaNet", since = [1], inputs = Arity::exactly(6),
        category = Product, traits = [PURE], name = internal_extension()
    )]
    pub struct GatedDeltaNet {
        /// Whether to normalise queries and keys by their L2 norm.
        pub fuse_qk_l2norm: bool = false,
        /// Avoids division by zero when normalising queries.
        pub q_l2_norm_eps: f64 = 1e-6,
        /// Avoids division by zero when normalising keys.
        pub k_l2_norm_eps: f64 = 1e-6,
    }
}

op! {
    /// GatedDeltaNet for several sequences, packed into one list of tokens. Inputs: queries and keys
    /// `[T, H, K]`, values `[T, W, V]`, a table of states `[P, W, K, V]` that is updated in place, gates and
    /// betas `[T, W]`, and vectors that assign tokens and states to sequences. The output has the shape of
    /// the values. Shape inference only; cannot be run.
    #[op(
        "PagedGatedDeltaNet", since = [1], inputs = Arity::exactly(11),
        category = Product, traits = [], name = internal_extension()
    )]
    pub struct PagedGatedDeltaNet {
        /// Whether to normalise queries and keys by their L2 norm.
        pub use_qk_l2norm: bool = false,
        /// Avoids division by zero when normalising queries.
        pub q_l2_norm_eps: f64 = 1e-6,
        /// Avoids division by zero when normalising keys.
        pub k_l2_norm_eps: f64 = 1e-6,
    }
}

/// Sizes that several inputs share.
struct Heads {
    /// The number of value heads.
    count: SymExpr,
    /// The size of a key.
    key: SymExpr,
    /// The size of a value.
    value: SymExpr,
}

impl Heads {
    /// Reads the sizes. `axis` is the axis of the heads in all inputs except the states.
    fn new(cx: &mut Infer, axis: usize) -> Result<Self, OpError> {
        let own = common_dim(cx, &[(0, axis), (1, axis)])?;
        let count = common_dim(cx, &[(2, axis), (3, 1), (4, axis), (5, axis)])?;
        if let (Some(own), Some(count)) = (own.as_const(), count.as_const())
            && (own == 0 || count % own != 0)
        {
            return Err(OpError::mismatch("the heads of the values", count, format!("a multiple of {own}")));
        }
        let key = common_dim(cx, &[(0, axis + 1), (1, axis + 1), (3, 2)])?;
        let value = common_dim(cx, &[(2, axis + 1), (3, 3)])?;
        Ok(Self { count, key, value })
    }
}

impl InferOp for GatedDeltaNet {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        if cx.shape(3).rank() != Some(4) {
            return Ok(declared_facts(cx));
        }
        expect_ranks(cx, &[4, 4, 4, 4, 3, 3])?;
        let heads = Heads::new(cx, 2)?;
        let [batch, length, states] =
            [common_dim(cx, &[(2, 0)])?, common_dim(cx, &[(2, 1)])?, common_dim(cx, &[(3, 0)])?];
        let values = Shape::ranked([batch, length, heads.count.clone(), heads.value.clone()]);
        let states = Shape::ranked([states, heads.count, heads.key, heads.value]);
        Ok(Facts::from([Fact::new(cx.element_type(0), values), Fact::new(cx.element_type(3), states)]))
    }
}

impl InferOp for PagedGatedDeltaNet {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = cx.common_type(0..6);
        expect_ranks(cx, &[3, 3, 3, 4, 2, 2, 1, 1, 1, 1, 1])?;
        (6..11).try_for_each(|port| cx.expect_index(port))?;
        let heads = Heads::new(cx, 1)?;
        let tokens = common_dim(cx, &[(2, 0)])?;
        Ok(Facts::from(Fact::new(element_type, Shape::ranked([tokens, heads.count, heads.value]))))
    }
}

only_inferred!(GatedDeltaNet, PagedGatedDeltaNet);
