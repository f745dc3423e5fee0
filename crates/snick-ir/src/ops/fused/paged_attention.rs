//! OpenVINO's PagedAttentionExtension.

use snick_shape::{Shape, SymExpr};
use snick_tensor::ElementType;

use crate::ops::control::opaque::declared_facts;
use crate::{Arity, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Attention over a paged cache, for several sequences packed into one list of tokens. Its first inputs
    /// are queries `[T, Q * D]`, keys `[T, K * D]`, values `[T, K * V]`, key pages and value pages. The first
    /// output is `[T, Q * V]`; the other outputs are as declared in the file. Shape inference only; cannot be
    /// run.
    #[op(
        "PagedAttentionExtension", since = [1], inputs = Arity::at_least(5),
        category = Product, traits = [], name = internal_extension()
    )]
    pub struct PagedAttention;
}

impl InferOp for PagedAttention {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        for i in 0..3 {
            cx.expect_rank(i, "2", |rank| rank == 2)?;
        }
        let mut facts: Vec<Fact> = declared_facts(cx).into_iter().collect();
        let declared = facts.first().map_or(ElementType::Dynamic, |fact| fact.element_type);
        let element_type = super::rms::output_type(declared, cx.element_type(0));
        if let (Some([tokens, queries]), Some(first)) = (cx.shape(0).dims(), facts.first_mut()) {
            let known = features(cx, queries);
            let own = match (known, first.shape.dims()) {
                (Some(dim), _) => dim,
                (None, Some([_, declared])) => declared.clone(),
                (None, _) => cx.unknown(snick_shape::Interval::DIM),
            };
            *first = Fact::new(element_type, Shape::ranked([tokens.clone(), own]));
        }
        Ok(facts.into_iter().collect())
    }
}

/// The width of the output: the width of the queries times the ratio of value size to key size per head. Keys
/// and values have the same number of heads, so the ratio of their total widths is the same.
fn features(cx: &mut Infer, queries: &SymExpr) -> Option<SymExpr> {
    let (Some([_, keys]), Some([_, values])) = (cx.shape(1).dims(), cx.shape(2).dims()) else { return None };
    if keys == values {
        return Some(queries.clone());
    }
    let (q, k, v) = (queries.as_const()?, keys.as_const()?, values.as_const()?);
    let product = q.checked_mul(v)?;
    (k > 0 && product % k == 0).then(|| SymExpr::from(product / k))
}

only_inferred!(PagedAttention);
