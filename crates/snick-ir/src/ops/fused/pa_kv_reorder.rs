//! OpenVINO's PaKVReorder.

use crate::ops::detection::checks::expect_ranks;
use crate::{Arity, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Reorders entries of the key pages and value pages of paged attention. Inputs: the key pages and the
    /// value pages, both of rank 4 and updated in place, and vectors that map entries to their destinations.
    /// The outputs have the shapes of the pages. Shape inference only; cannot be run.
    #[op(
        "PaKVReorder", since = [1], inputs = Arity::exactly(6),
        category = Movement, traits = [], name = internal_extension()
    )]
    pub struct PaKvReorder;
}

impl InferOp for PaKvReorder {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        expect_ranks(cx, &[4, 4, 1, 1, 1, 1])?;
        Ok([0, 1].into_iter().map(|i| Fact::new(cx.element_type(i), cx.shape(i).clone())).collect())
    }
}

only_inferred!(PaKvReorder);
