//! OpenVINO's GroupQueryAttention.

use snick_shape::{Interval, Shape, SymExpr};

use crate::ops::control::opaque::declared_facts;
use crate::ops::detection::checks::{common_dim, expect_ranks};
use crate::{Arity, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Grouped-query attention with a cache, as in ONNX Runtime. Inputs: queries `[B, N, L, D]`, keys and
    /// values `[B, K, L, D]`, past keys and values `[B, K, P, D]`, lengths, and further inputs that depend on
    /// the attributes. Outputs: the result `[B, L, N * D]`, and the past keys and values followed by the new
    /// ones, `[B, K, P + L, D]`. If P and L are static, the cache may also be a buffer of fixed length, so
    /// inference takes its length from the declared outputs. Shape inference only; cannot be run.
    #[op(
        "GroupQueryAttention", since = [1], inputs = Arity::between(7, 16),
        category = Product, traits = [PURE], name = internal_extension()
    )]
    pub struct GroupQueryAttention {
        /// Number of query heads.
        pub num_heads: i64,
        /// Number of key and value heads.
        pub kv_num_heads: i64,
        /// Multiplier of the scores; 0 for `1 / sqrt(head size)`.
        pub scale: f64 = 0.0,
        /// Whether to apply rotary embedding to queries and keys.
        pub do_rotary: bool = false,
        /// Whether rotary embedding pairs neighbouring features.
        pub rotary_interleaved: bool = false,
        /// Bits per element of a quantized cache; 0 if not quantized.
        pub kv_cache_bit_width: i64 = 0,
        /// Quantization of the cached keys.
        pub k_quant_type: String = "NONE".into(),
        /// Quantization of the cached values.
        pub v_quant_type: String = "NONE".into(),
        /// The number of tokens that a token attends to; -1 for all preceding tokens.
        pub local_window_size: i64 = -1,
        /// Whether the cache is a buffer of fixed length.
        pub sliding_window_cache: bool = false,
        /// Whether to add a score of 0 to each softmax.
        pub smooth_softmax: bool = false,
        /// Whether attention is causal; older files omit it and are causal.
        pub causal: Option<bool>,
    }
}

impl InferOp for GroupQueryAttention {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        for (name, heads) in [("num_heads", self.num_heads), ("kv_num_heads", self.kv_num_heads)] {
            if heads < 1 {
                return Err(OpError::out_of_range(name, heads, "1 or more"));
            }
        }
        expect_ranks(cx, &[4, 4, 4, 4, 4])?;
        let [batch, length, width] = [0, 2, 3].map(|axis| common_dim(cx, &[(0, axis)]));
        let (batch, length) = (batch?, length?);
        let features = cx.mul(&width?, &self.num_heads.into());
        let own = Shape::ranked([batch.clone(), length.clone(), features]);
        let mut facts = vec![Fact::new(cx.element_type(0), own)];
        for (port, past) in [(1, 3), (2, 4)] {
            let width = common_dim(cx, &[(past, 3)])?;
            let total = self.total(cx, port, past, &length)?;
            let dims = [batch.clone(), self.kv_num_heads.into(), total, width];
            facts.push(Fact::new(cx.element_type(past), Shape::ranked(dims)));
        }
        Ok(facts.into_iter().collect())
    }
}

impl GroupQueryAttention {
    /// The length of the cache at output `port` after the step.
    fn total(&self, cx: &mut Infer, port: usize, past: usize, length: &SymExpr) -> Result<SymExpr, OpError> {
        let past = common_dim(cx, &[(past, 2)])?;
        if self.sliding_window_cache {
            return Ok(past);
        }
        if past.as_const().is_none() || length.as_const().is_none() {
            return Ok(cx.add(&past, length));
        }
        let declared = declared_facts(cx).into_iter().nth(port);
        let declared = declared.and_then(|fact| fact.shape.dims()?.get(2).cloned());
        Ok(declared.unwrap_or_else(|| cx.unknown(Interval::DIM)))
    }
}

only_inferred!(GroupQueryAttention);
