//! PaKVReorder of OpenVINO.

use crate::ops::detection::checks::expect_ranks;
use crate::{Arity, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Moves entries between the pages of keys and values that an attention over pages reads. Inputs: the pages of keys and
    /// of values, of rank 4, which are written to, and vectors that say which entry goes where. Outputs as the pages. Only
    /// inferred.
    #[op("PaKVReorder", since = [1], inputs = Arity::exactly(6), traits = [], name = internal_extension())]
    pub struct PaKvReorder;
}

impl InferOp for PaKvReorder {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        expect_ranks(cx, &[4, 4, 1, 1, 1, 1])?;
        Ok([0, 1].into_iter().map(|i| Fact::new(cx.element_type(i), cx.shape(i).clone())).collect())
    }
}

only_inferred!(PaKvReorder);
